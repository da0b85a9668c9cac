package vertex

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// The places that the service sends its users to.
const (
	learnGemini     = "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini"
	learnFunctions  = "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling"
	learnSignatures = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures"
)

// refusal is an error response.
type refusal struct {
	code    int    // HTTP status, and the code in the body
	status  string // word in the body; "": a page in HTML
	message string
	details []any
	header  http.Header // beyond the usual
}

// detail is one of google.rpc's error details.
type detail map[string]any

// refuse makes a refusal by the word of its status.
func refuse(status, format string, args ...any) *refusal {
	return &refusal{code: httpOf(status), status: status, message: fmt.Sprintf(format, args...)}
}

// invalid is a refusal of the request.
func invalid(format string, args ...any) *refusal { return refuse("INVALID_ARGUMENT", format, args...) }

// with adds a detail.
func (r *refusal) with(kind string, d detail) *refusal {
	all := detail{"@type": "type.googleapis.com/google.rpc." + kind}
	for name, value := range d {
		all[name] = value
	}
	r.details = append(r.details, all)
	return r
}

// reason adds the reason that programs read.
func (r *refusal) reason(reason, domain string, metadata map[string]string) *refusal {
	d := detail{"reason": reason, "domain": domain}
	if metadata != nil {
		d["metadata"] = metadata
	}
	return r.with("ErrorInfo", d)
}

// badRequest is the refusal of what cannot be read; recorded reports have this form.
func badRequest(problems []problem) *refusal {
	var texts []string
	var violations []any
	for _, p := range problems {
		texts = append(texts, p.text)
		v := detail{"description": p.text}
		if p.field != "" {
			v["field"] = p.field
		}
		violations = append(violations, v)
	}
	return invalid("%s", strings.Join(texts, "\n")).with("BadRequest", detail{"fieldViolations": violations})
}

// notJSON: the form is reported, with the text around the place in two lines.
func notJSON(body []byte) *refusal {
	at, problem := int64(len(body)), "Unexpected end of string."
	err, ok := json.Unmarshal(body, new(any)).(*json.SyntaxError) //nolint:errorlint // encoding/json wraps nothing
	if ok && err.Offset < at || ok && !strings.Contains(err.Error(), "end of JSON") {
		at, problem = max(err.Offset-1, 0), "Unexpected token."
	}
	from, to := max(at-20, 0), min(at+20, int64(len(body)))
	line := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, string(body[from:to]))
	return invalid("Invalid JSON payload received. %s\n%s\n%s^", problem, line, strings.Repeat(" ", int(at-from)))
}

// badFault is ours, not the service's: the client asked for a fault that does not exist.
func badFault(err error) *refusal {
	return invalid("%s", err.Error()).reason("BAD_FAULT", "punctual", map[string]string{"header": cloud.FaultHeader})
}

// body is the error in JSON.
func (r *refusal) body() []byte {
	type wire struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []any  `json:"details,omitempty"`
	}
	return pretty(map[string]any{"error": wire{r.code, r.message, r.status, r.details}})
}

// reply is the response: over REST a stream without alt=sse has its error in an array.
func (r *refusal) reply(c *call) cloud.Reply {
	if c.grpc() {
		c.status = r.code
		return r.rpcReply(c)
	}
	h := c.header(jsonType)
	for name, values := range r.header {
		h[name] = values
	}
	if r.status == "" {
		h.Set("Content-Type", "text/html; charset=UTF-8")
		return cloud.Reply{Status: r.code, Header: h, Body: []byte(r.message)}
	}
	body := append(r.body(), '\n')
	if c.stream && !c.sse {
		body = append(append([]byte("["), body...), ']')
	}
	return cloud.Reply{Status: r.code, Header: h, Body: body}
}

// notFoundPage is Google's page for a path that nobody serves.
func notFoundPage(path string) *refusal {
	return &refusal{code: http.StatusNotFound, message: "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n" +
		"  <meta name=viewport content=\"initial-scale=1, minimum-scale=1, width=device-width\">\n" +
		"  <title>Error 404 (Not Found)!!1</title>\n  <a href=//www.google.com/><span id=logo aria-label=Google></span></a>\n" +
		"  <p><b>404.</b> <ins>That’s an error.</ins>\n  <p>The requested URL <code>" + escape(path) +
		"</code> was not found on this server.  <ins>That’s all we know.</ins>\n"}
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// rpcStatus is one of google.rpc's codes.
type rpcStatus struct {
	word string
	http int
	grpc codes.Code
}

// statuses are all of them; where two share an HTTP status, the likelier one is first.
func statuses() []rpcStatus {
	return []rpcStatus{
		{"INVALID_ARGUMENT", 400, codes.InvalidArgument},
		{"FAILED_PRECONDITION", 400, codes.FailedPrecondition},
		{"OUT_OF_RANGE", 400, codes.OutOfRange},
		{"UNAUTHENTICATED", 401, codes.Unauthenticated},
		{"PERMISSION_DENIED", 403, codes.PermissionDenied},
		{"NOT_FOUND", 404, codes.NotFound},
		{"ABORTED", 409, codes.Aborted},
		{"ALREADY_EXISTS", 409, codes.AlreadyExists},
		{"RESOURCE_EXHAUSTED", 429, codes.ResourceExhausted},
		{"CANCELLED", 499, codes.Canceled},
		{"INTERNAL", 500, codes.Internal},
		{"UNKNOWN", 500, codes.Unknown},
		{"DATA_LOSS", 500, codes.DataLoss},
		{"UNIMPLEMENTED", 501, codes.Unimplemented},
		{"UNAVAILABLE", 503, codes.Unavailable},
		{"UNAVAILABLE", 502, codes.Unavailable},
		{"UNAVAILABLE", 529, codes.Unavailable},
		{"DEADLINE_EXCEEDED", 504, codes.DeadlineExceeded},
		{"DEADLINE_EXCEEDED", 408, codes.DeadlineExceeded},
	}
}

// httpOf is the HTTP status of a word.
func httpOf(word string) int {
	for _, s := range statuses() {
		if s.word == word {
			return s.http
		}
	}
	return http.StatusInternalServerError
}

// wordOf is the word for an HTTP status.
func wordOf(code int) string {
	for _, s := range statuses() {
		if s.http == code {
			return s.word
		}
	}
	if code < http.StatusInternalServerError {
		return "INVALID_ARGUMENT"
	}
	return "INTERNAL"
}
