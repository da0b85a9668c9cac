package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// recording is the part of a recorded exchange that is replayed: its response. The body is text, or base64
// where it is no text.
type recording struct {
	Response *struct {
		Status     int               `json:"status"`
		Headers    map[string]string `json:"headers"`
		Body       *string           `json:"body"`
		BodyBase64 *string           `json:"body_base64"`
	} `json:"response"`
}

const maxRecording = 64 << 20

// readRecording makes the exact reply of a recorded exchange.
func readRecording(file string) (*cloud.Reply, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.New(systemWords(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecording+1))
	switch {
	case err != nil:
		return nil, errors.New(systemWords(err))
	case len(data) > maxRecording:
		return nil, fmt.Errorf("is larger than %d MB", maxRecording>>20)
	}
	var r recording
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("is no recording: it is not valid JSON of that form\nnext: %s", recordingForm)
	}
	if r.Response == nil || r.Response.Status < 100 || r.Response.Status > 599 {
		return nil, fmt.Errorf("is no recording: it has no response with a status\nnext: %s", recordingForm)
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	reply := &cloud.Reply{Status: r.Response.Status, Header: http.Header{}, Body: body}
	for name, value := range r.Response.Headers {
		reply.Header.Set(name, value)
	}
	return reply, nil
}

const recordingForm = `{"response": {"status": 200, "headers": {…}, "body": "…"}}`

func (r *recording) body() ([]byte, error) {
	switch {
	case r.Response.Body != nil && r.Response.BodyBase64 != nil:
		return nil, errors.New("has both a body and a body_base64\nnext: leave one of the two out")
	case r.Response.BodyBase64 != nil:
		body, err := base64.StdEncoding.DecodeString(*r.Response.BodyBase64)
		if err != nil {
			return nil, errors.New("has a body_base64 that is no base64")
		}
		return body, nil
	case r.Response.Body != nil:
		return []byte(*r.Response.Body), nil
	default:
		return nil, nil
	}
}
