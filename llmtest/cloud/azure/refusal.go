package azure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// refusal is an error response.
type refusal struct {
	status int
	body   []byte
	header http.Header // beyond the usual
	gate   bool        // refused by the gateway, before any model: no limits are told
}

// problem is the body of an error: {"error": {…}}.
type problem struct {
	Message string          `json:"message"`
	Type    *string         `json:"type"`
	Param   *string         `json:"param"`
	Code    *string         `json:"code"`
	Status  int             `json:"status,omitempty"`
	Inner   json.RawMessage `json:"innererror,omitempty"`
}

// refuse makes a refusal in OpenAI's form; empty strings are null.
func refuse(status int, typ, param, code, message string) *refusal {
	return problem{Message: message, Type: orNull(typ), Param: orNull(param), Code: orNull(code)}.refusal(status)
}

// invalid is a refusal of one field.
func invalid(param, code, format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "invalid_request_error", param, code, fmt.Sprintf(format, args...))
}

// gateway is a refusal in the form of Azure's API management.
func gateway(status int, code, message string) *refusal {
	body := marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	return &refusal{status: status, body: body, gate: true}
}

func (p problem) refusal(status int) *refusal {
	return &refusal{status: status, body: marshal(map[string]any{"error": p})}
}

// badFault is ours, not the service's: the client asked for a fault that does not exist.
func badFault(err error) *refusal {
	return invalid(cloud.FaultHeader, "bad_fault", "%s", err.Error())
}

func (r *refusal) reply(c *call) cloud.Reply {
	h := c.header("application/json")
	if r.gate {
		h = http.Header{"Content-Type": {"application/json"}, "Apim-Request-Id": {c.requestID(1)}}
	}
	for name, values := range r.header {
		h[name] = values
	}
	return cloud.Reply{Status: r.status, Header: h, Body: r.body}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// marshal is JSON as the service writes it: without escapes for HTML. It panics on what cannot be JSON.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
