package vertex

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// surface is the family of paths by which a request came; each has its own credentials and errors.
type surface int

const (
	nowhere  surface = iota
	project          // /v1/projects/P/locations/L/publishers/google/models/M:…, or …/endpoints/E:…
	express          // /v1/publishers/google/models/M:…
	gemini           // /v1beta/models/M:…
	rpc              // gRPC
	rpcOther         // gRPC, of another service or method
)

// call is one request as far as it can be read, and what its answer needs to know.
type call struct {
	x        *cloud.Exchange
	surface  surface
	resource string // full name of the model or endpoint
	project  string
	location string
	asked    string   // model or endpoint as the client named it
	model    string   // behind it
	fields   message  // of the body; nil if it cannot be read
	bad      *refusal // why the body cannot be read
	odd      *refusal // why it is not what the service reads
	stream   bool
	sse      bool // of a stream over REST
	ints     bool // enums are wanted as numbers
	unzips   bool // the client reads compressed messages; gRPC only
	zip      bool // and is to get them
	status   int  // of what was sent over gRPC in place of an answer, for the log
	id       int64
	created  time.Time
}

func (s *Server) newCall(x *cloud.Exchange) *call {
	c := &call{x: x, id: s.account.IDs.Add(1), created: time.Now()}
	if isRPC(x.R) {
		c.openRPC()
	} else {
		c.open()
	}
	c.model = c.asked
	if s.opts.Models != nil {
		c.model = s.opts.Models[c.asked]
	}
	return c
}

// open reads a request over REST.
func (c *call) open() {
	var method string
	c.surface, c.resource, method = route(c.x.R.URL.Path)
	c.name()
	c.stream = method == "streamGenerateContent"
	for param := range strings.SplitSeq(c.x.R.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(param, "=")
		if text, err := url.PathUnescape(name); err != nil || text != "alt" && text != "$alt" {
			continue
		}
		value, _ = url.PathUnescape(value)
		media, more, _ := strings.Cut(value, ";")
		c.sse = c.stream && media == "sse"
		c.ints = c.ints || more == "enum-encoding=int"
	}
	if c.surface != nowhere {
		c.read(c.x.Body)
	}
}

// name takes the resource apart.
func (c *call) name() {
	words := strings.Split(c.resource, "/")
	c.asked = words[len(words)-1]
	if words[0] == "projects" && len(words) > 3 {
		c.project, c.location = words[1], words[3]
	}
}

// route finds the surface of a path, what it names and the method it calls.
func route(path string) (at surface, resource, method string) {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 || version != "v1" && version != "v1beta" && version != "v1beta1" {
		return nowhere, "", ""
	}
	resource, method = rest[:colon], rest[colon+1:]
	if method != "generateContent" && method != "streamGenerateContent" {
		return nowhere, "", ""
	}
	at = locate(resource)
	if (version == "v1beta") != (at == gemini) && version != "v1" {
		return nowhere, "", ""
	}
	return at, resource, method
}

// locate is the surface that has resources of this name.
func locate(resource string) surface {
	words := strings.Split(resource, "/")
	for _, w := range words {
		if w == "" {
			return nowhere
		}
	}
	pattern := func(form string) bool {
		want := strings.Split(form, "/")
		for i, w := range want {
			if len(words) != len(want) || w != "*" && w != words[i] {
				return false
			}
		}
		return true
	}
	switch {
	case pattern("projects/*/locations/*/publishers/google/models/*"), pattern("projects/*/locations/*/endpoints/*"):
		return project
	case pattern("publishers/google/models/*"):
		return express
	case pattern("models/*"), pattern("tunedModels/*"):
		return gemini
	default:
		return nowhere
	}
}

// grpc reports whether the answer goes over gRPC.
func (c *call) grpc() bool { return c.surface == rpc || c.surface == rpcOther }

// vertex reports whether the answer is that of Vertex AI rather than of the Gemini API.
func (c *call) vertex() bool { return c.surface != gemini }

// tuned reports whether the model is behind an endpoint of its own.
func (c *call) tuned() bool { return strings.Contains(c.resource, "/endpoints/") }

// responseID is an id in the service's style.
func (c *call) responseID() string { return fmt.Sprintf("sim%013x-4n", c.id) }

// timestamp is when the call came, as the service writes it.
func (c *call) timestamp() string { return c.created.UTC().Format("2006-01-02T15:04:05.000000Z") }

// generation is the number in the name of a Gemini model. A name without one counts as 2.5.
func (c *call) generation() float64 {
	word, _, _ := strings.Cut(strings.TrimPrefix(c.model, "gemini-"), "-")
	if n, err := strconv.ParseFloat(word, 64); err == nil && strings.HasPrefix(c.model, "gemini-") {
		return n
	}
	return 2.5
}

// signs reports whether the model signs its function calls and wants the signatures back.
func (c *call) signs() bool { return c.generation() >= 3 }

// namesCalls reports whether function calls get their ids from the service. That Vertex does so from 3.5 on is
// reported, that the Gemini API does from 3 on is recorded.
func (c *call) namesCalls() bool {
	return c.generation() >= 3.5 || c.signs() && !c.vertex()
}

// header is what the service sends with every answer over REST.
func (c *call) header(contentType string) http.Header {
	return http.Header{
		"Content-Type": {contentType}, "Server": {"scaffolding on HTTPServer2"}, "Vary": {"Origin", "X-Origin", "Referer"},
		"X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"SAMEORIGIN"}, "X-Xss-Protection": {"0"},
	}
}
