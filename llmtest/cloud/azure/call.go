package azure

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// surface is the family of paths by which a request came; each has its own credentials and errors.
type surface int

const (
	nowhere     surface = iota
	deployments         // /openai/deployments/NAME/chat/completions?api-version=…
	azureAI             // /models/chat/completions?api-version=…
	azureV1             // /openai/v1/chat/completions
	openAI              // /v1/chat/completions and /chat/completions
)

// call is one request as far as it can be read, and what its answer needs to know.
type call struct {
	x       *cloud.Exchange
	surface surface
	asked   string // deployment or model as the client named it
	model   string // behind it, without a date
	version string // of the API
	fields  object // of the body; nil if it is not a JSON object
	stream  bool
	usage   bool // wanted at the end of a stream
	id      int64
	created int64
}

func (s *Server) newCall(x *cloud.Exchange) *call {
	c := &call{x: x, id: s.account.IDs.Add(1), created: time.Now().Unix()}
	c.surface, c.asked = route(x.R.URL.Path)
	c.version = x.R.URL.Query().Get("api-version")
	if json.Unmarshal(x.Body, &c.fields) != nil {
		c.fields = nil
	}
	if c.surface != deployments {
		c.asked, _ = c.fields.text("model")
	}
	c.model = c.asked
	if s.opts.Deployments != nil {
		c.model = s.opts.Deployments[c.asked]
	}
	_ = json.Unmarshal(c.fields["stream"], &c.stream)
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	_ = json.Unmarshal(c.fields["stream_options"], &options)
	c.usage = c.stream && options.IncludeUsage
	return c
}

// route finds the surface of a path and the deployment it names.
func route(path string) (at surface, deployment string) {
	switch path {
	case "/models/chat/completions":
		return azureAI, ""
	case "/openai/v1/chat/completions":
		return azureV1, ""
	case "/v1/chat/completions", "/chat/completions":
		return openAI, ""
	}
	name, ok := strings.CutPrefix(path, "/openai/deployments/")
	if name, ok2 := strings.CutSuffix(name, "/chat/completions"); ok && ok2 && name != "" && !strings.Contains(name, "/") {
		return deployments, name
	}
	return nowhere, ""
}

// azure reports whether the answer is Azure's rather than OpenAI's own.
func (c *call) azure() bool { return c.surface != openAI }

// requestID is an id for this request in the form of a UUID, told apart by kind.
func (c *call) requestID(kind int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, c.id)
}
