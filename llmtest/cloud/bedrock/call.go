package bedrock

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// call is one request as far as it can be read, and what its answer needs to know.
type call struct {
	x      *cloud.Exchange
	served bool   // its path is one that the service has
	asked  string // the id of the model as the client named it
	model  string // behind it, without region; "" if nobody can tell
	stream bool
	body   conversation
	badly  error // why the body is no request
	id     int64
}

func (s *Server) newCall(x *cloud.Exchange) *call {
	c := &call{x: x, id: s.account.IDs.Add(1)}
	c.asked, c.stream, c.served = route(x.R.URL.EscapedPath())
	c.model = modelOf(c.asked)
	if model := s.opts.Models[c.asked]; model != "" {
		c.model = modelOf(model)
	}
	if !s.opts.Early {
		c.badly = json.Unmarshal(x.Body, &c.body)
	}
	return c
}

// route reads /model/ID/converse and /model/ID/converse-stream. The id is one segment, decoded once.
func route(path string) (id string, stream, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 || parts[0] != "" || parts[1] != "model" || parts[2] == "" {
		return "", false, false
	}
	id, err := url.PathUnescape(parts[2])
	if err != nil {
		return "", false, false
	}
	return id, parts[3] == "converse-stream", parts[3] == "converse" || parts[3] == "converse-stream"
}

// requestID is an id for this request in the form of a UUID.
func (c *call) requestID() string { return fmt.Sprintf("00000001-0000-4000-8000-%012x", c.id) }
