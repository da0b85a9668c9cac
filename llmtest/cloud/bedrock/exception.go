package bedrock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// refusal is an error response: an exception of the service.
type refusal struct {
	exception string
	status    int
	message   string
	body      []byte      // nil: {"message": …}
	header    http.Header // beyond the usual
}

// exception is one of the service's, with the text that most often comes with it.
type exception struct {
	name    string
	status  int
	message string
}

// exceptions: those for expired tokens and for access are recorded, and so are the names of the header; the
// texts for signatures, throttling, time-outs, internal errors and models at their end are reported; those for
// quotas, for models that fail and for an incomplete signature are unverified.
var exceptions = []exception{
	{"ValidationException", 400, "Malformed input request, please reformat your input and try again."},
	{"SerializationException", 400, "Unexpected field type"},
	{"ServiceQuotaExceededException", 400, "Your request exceeds the service quota for your account."},
	{"AccessDeniedException", 403, "You don't have access to the model with the specified model ID."},
	{"ExpiredTokenException", 403, "The security token included in the request is expired"},
	{"UnrecognizedClientException", 403, "The security token included in the request is invalid."},
	{
		"InvalidSignatureException", 403, "The request signature we calculated does not match the signature you " +
			"provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
	},
	{"IncompleteSignatureException", 403, "The request signature does not conform to AWS standards."},
	{"MissingAuthenticationTokenException", 403, "Missing Authentication Token"},
	{
		"ResourceNotFoundException", 404, "This model version has reached the end of its life. Please refer to the " +
			"AWS documentation for more details.",
	},
	{"ModelTimeoutException", 408, "Model has timed out in processing the request. Try your request again."},
	{"ModelErrorException", 424, "The system encountered an unexpected error during processing. Try your request again."},
	{"ThrottlingException", 429, "Too many requests, please wait before trying again."},
	{"ModelNotReadyException", 429, "Model is not ready for inference. Wait and try your request again."},
	{"InternalServerException", 500, "The system encountered an unexpected error during processing. Try your request again."},
	{"ServiceUnavailableException", 503, "Bedrock is unable to process your request."},
}

// except is the refusal by an exception; "" is its usual text. An exception that nobody knows is a 400.
func except(name, message string) *refusal {
	r := &refusal{exception: name, status: http.StatusBadRequest, message: message}
	for _, e := range exceptions {
		if e.name == name {
			r.status = e.status
			if message == "" {
				r.message = e.message
			}
		}
	}
	return r
}

// invalid is the refusal of a field.
func invalid(format string, args ...any) *refusal {
	return except("ValidationException", fmt.Sprintf(format, args...))
}

// byModel is a refusal in the words of the model rather than of the service.
func byModel(format string, args ...any) *refusal {
	return invalid("The model returned the following errors: "+format, args...)
}

// badFault is ours, not the service's: the client asked for a fault that does not exist.
func badFault(err error) *refusal { return except("BadFault", cloud.FaultHeader+": "+err.Error()) }

// space is the name space in which the service's front or the service itself names its exceptions.
func space(exception string) string {
	switch exception {
	case "ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException",
		"IncompleteSignatureException", "MissingAuthenticationTokenException", "SerializationException":
		return ":http://internal.amazon.com/coral/com.amazon.coral.service/"
	default:
		return ":http://internal.amazon.com/coral/com.amazon.bedrock/"
	}
}

func (r *refusal) reply(c *call) cloud.Reply {
	h := c.header(jsonType)
	if r.exception != "" {
		h.Set("X-Amzn-Errortype", r.exception+space(r.exception))
	}
	for name, values := range r.header {
		h[name] = values
	}
	body := r.body
	if body == nil {
		members := map[string]any{"message": r.message}
		if r.exception == "ModelErrorException" { // documented: the model's own status
			members["originalStatusCode"] = http.StatusInternalServerError
		}
		body = marshal(members)
	}
	return cloud.Reply{Status: r.status, Header: h, Body: body}
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
