// Package hint has what the adapters share of a gateway's own deadline header: the keys of a configuration, and what
// they hold a header to.
package hint

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/llm"
)

// Settings are the keys of a target's hint in a configuration:
//
//	hint: {header: X-Gateway-Timeout-Seconds, unit: s, configured: 895}
type Settings struct {
	Header     string `yaml:"header" json:"header" doc:"The name of the header. Required."`
	Unit       string `yaml:"unit" json:"unit" doc:"The unit of the header and of configured: s or ms." default:"ms"`                // "s" or "ms"; empty is ms, as deadline.Header has it
	Configured int64  `yaml:"configured" json:"configured" doc:"The most that is sent, in units; 0 is no limit." default:"no limit"` // the most that is sent, in units; 0 is no limit
}

// Open makes the header of the settings; nil of nil.
func (s *Settings) Open() (*deadline.Header, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no header is asked for
	}
	h := &deadline.Header{Name: s.Header}
	switch s.Unit {
	case "s":
		h.Unit = time.Second
	case "ms", "":
		h.Unit = time.Millisecond
	default:
		return nil, llm.Invalid("hint.unit", "is unknown", "use s or ms")
	}
	switch {
	case s.Header == "":
		return nil, llm.Invalid("hint.header", "is empty", "give the name of the gateway's header, or leave hint out")
	case s.Configured < 0:
		return nil, llm.Invalid("hint.configured", "is below zero", "give a number of units, or leave it out for no limit")
	case s.Configured > int64(longest/h.Unit):
		return nil, llm.Invalid("hint.configured", "is longer than a day", "check the unit")
	}
	h.Max = time.Duration(s.Configured) * h.Unit
	return h, nil
}

// longest is more than anybody waits.
const longest = 24 * time.Hour

// Check returns a copy of a header that can be sent beside what an adapter sends itself; nil of nil.
func Check(h *deadline.Header) (*deadline.Header, error) {
	if h == nil {
		return nil, nil //nolint:nilnil // no header is asked for
	}
	own := *h
	if own.Name == "" {
		own.Name = deadline.DefaultName
	}
	switch {
	case !isToken(own.Name):
		return nil, llm.Invalid("hint", "names a header with characters that no header has", "use letters, digits and -")
	case taken(own.Name):
		return nil, llm.Invalid("hint", "names a header that the request needs for something else", "give the name of the gateway's own header")
	case own.Unit < 0 || own.Hop < 0 || own.Max < 0:
		return nil, llm.Invalid("hint", "has a length below zero", "leave it out for the default")
	case own.Unit > longest || own.Hop > longest:
		return nil, llm.Invalid("hint", "has a Unit or a Hop longer than a day, so that nothing is ever sent", "check both")
	case own.Max > 0 && own.Max < cmp.Or(own.Unit, time.Millisecond):
		return nil, llm.Invalid("hint", "has a Max below its Unit, so that nothing is ever sent", "raise Max or take a smaller Unit")
	}
	return &own, nil
}

// isToken reports whether name may be that of a header.
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// taken reports whether an SDK, net/http or a service has a use of its own for a header.
func taken(name string) bool {
	switch name = strings.ToLower(name); name {
	case "authorization", "cookie", "host", "connection", "te", "trailer", "transfer-encoding", "upgrade",
		"keep-alive", "expect", "user-agent", "api-key", "x-api-key", "extra-parameters", "baggage", "traceparent", "tracestate":
		return true
	}
	for _, prefix := range []string{"accept", "content-", "proxy-", "openai-", "x-amz", "amz-", "x-goog-", "grpc-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Hook returns the hook of a transport that does what next does and then sets the header: next itself without one.
func Hook(h *deadline.Header, next func(context.Context, http.Header) error) func(context.Context, http.Header) error {
	if h == nil {
		return next
	}
	return func(ctx context.Context, header http.Header) error {
		if next != nil {
			if err := next(ctx, header); err != nil {
				return err
			}
		}
		h.Set(ctx, header)
		return nil
	}
}
