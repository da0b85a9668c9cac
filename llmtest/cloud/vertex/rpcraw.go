package vertex

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// RPC is a reply of exact bytes as gRPC sends it, for scripts that have their answers in JSON: its Body, and each of its
// Chunks, is a response, a list of them, or an error's body, which becomes the status. What is not JSON stays as it
// is, and so does a whole reply that is an error and not JSON, as some proxy in between would send it.
func RPC(r Reply) Reply {
	failed := r.Status >= http.StatusBadRequest
	if failed && !json.Valid(r.Body) {
		return r
	}
	w := rpcWire{&call{}}
	h := w.header()
	for name, values := range r.Header {
		if !strings.HasPrefix(strings.ToLower(name), "content-") {
			h[name] = values
		}
	}
	if failed { // unless the body says more
		w.fail(h, &refusal{status: wordOf(r.Status), message: http.StatusText(r.Status)})
	}
	r.Body = w.convert(h, r.Body)
	chunks := make([]Chunk, len(r.Chunks))
	for i, c := range r.Chunks {
		chunks[i] = Chunk{At: c.At, Data: w.convert(h, c.Data)}
	}
	r.Header, r.Chunks = h, chunks
	if r.Status != cloud.NoStatus {
		r.Status = http.StatusOK
	}
	return r
}

// convert makes frames of responses in JSON; an error goes into the header.
func (w rpcWire) convert(h http.Header, data []byte) (frames []byte) {
	if !json.Valid(data) {
		return data
	}
	for _, one := range elements(data) {
		var body struct {
			Error *struct {
				Code    int
				Message string
				Status  string
				Details []any
			}
		}
		switch err := json.Unmarshal(one, &body); {
		case err != nil: // another type
		case body.Error == nil:
			if message, err := frame(one, false); err == nil {
				frames = append(frames, message...)
			}
		case body.Error.Status == "":
			body.Error.Status = wordOf(body.Error.Code)
			fallthrough
		default:
			e := body.Error
			frames = append(frames, w.fail(h, &refusal{code: e.Code, status: e.Status, message: e.Message, details: e.Details})...)
		}
	}
	return frames
}
