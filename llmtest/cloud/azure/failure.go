package azure

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// failure is the service's own response for an error of a script. Status, Code and Message of the error replace
// what its Kind stands for.
func (c *call) failure(e *llm.Error) *refusal {
	r := c.azureFailure(e)
	if !c.azure() {
		r = c.openAIFailure(e)
	}
	if e.Code != "" || e.Message != "" {
		r.body = replaceWords(r.body, e.Code, e.Message)
	}
	if e.Status != 0 {
		r.status = e.Status
	}
	r.header = http.Header{}
	if e.RetryAfter > 0 {
		r.header.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		r.header.Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
	}
	if e.NoRetry {
		r.header.Set("X-Should-Retry", "false")
	}
	if e.RequestID != "" {
		r.header.Set("X-Request-Id", e.RequestID)
		if c.azure() {
			r.header.Set("Apim-Request-Id", e.RequestID)
		}
	}
	return r
}

// azureFailure is what Azure says for an error. 401, 404 and the innererror of a filtered prompt are recorded,
// the 429s, the 408, the 500 and the window reported, the text of the 503 is unverified.
func (c *call) azureFailure(e *llm.Error) *refusal {
	switch cloud.KindOf(e) {
	case llm.ErrInvalid:
		return invalid("", "", "Invalid request.")
	case llm.ErrUnsupported:
		return unsupported("temperature", "")
	case llm.ErrAuth:
		return gateway(http.StatusUnauthorized, "401", "Access denied due to invalid subscription key or wrong API "+
			"endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API "+
			"endpoint for your resource.")
	case llm.ErrNotFound:
		return gateway(http.StatusNotFound, "DeploymentNotFound", "The API deployment for this resource does not "+
			"exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.")
	case llm.ErrContextTooLong:
		return tooLong(window(c.model), window(c.model)+1)
	case llm.ErrContentFiltered:
		return filtered(e.Filtered)
	case llm.ErrRateLimited:
		return c.throttled(e)
	case llm.ErrQuotaExceeded:
		return outOfQuota()
	case llm.ErrTimeout:
		return gateway(http.StatusRequestTimeout, "Timeout", "The operation was timeout.")
	case llm.ErrUnavailable:
		return gateway(http.StatusServiceUnavailable, "ServiceUnavailable",
			"The service is temporarily unable to process your request. Please try again later.")
	default:
		return refuse(http.StatusInternalServerError, "server_error", "", "", "The server had an error while processing "+
			"your request. Sorry about that! You can retry your request, or contact us through an Azure support request "+
			"at: https://go.microsoft.com/fwlink/?linkid=2213926 if you keep seeing this error. (Please include the "+
			"request ID "+c.requestID(2)+" in your email.)")
	}
}

func (c *call) throttled(e *llm.Error) *refusal {
	version := c.version
	if version == "" {
		version = "v1"
	}
	wait := ""
	if e.RetryAfter > 0 {
		wait = fmt.Sprintf(" Please retry after %d seconds.", int(math.Ceil(e.RetryAfter.Seconds())))
	}
	return gateway(http.StatusTooManyRequests, "429", "Requests to the ChatCompletions_Create Operation under Azure "+
		"OpenAI API version "+version+" have exceeded token rate limit of your current OpenAI S0 pricing tier."+wait+
		" Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.")
}

// severity is the verdict on one category of content.
type severity struct {
	Filtered bool   `json:"filtered"`
	Severity string `json:"severity,omitempty"`
}

// verdicts are the verdicts on all categories, with those named in what, such as "violence (medium)", filtered.
func verdicts(what []string) map[string]severity {
	all := map[string]severity{}
	for _, category := range []string{"hate", "self_harm", "sexual", "violence"} {
		all[category] = severity{Severity: "safe"}
	}
	for _, w := range what {
		category, level, ok := strings.Cut(strings.TrimSuffix(w, ")"), " (")
		if !ok {
			level = "medium"
		}
		all[category] = severity{Filtered: true, Severity: level}
	}
	return all
}

// filtered is the refusal of a prompt that the content filter stopped.
func filtered(what []string) *refusal {
	if len(what) == 0 {
		what = []string{"violence (medium)"}
	}
	p := problem{
		Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. " +
			"Please modify your prompt and retry. To learn more about our content filtering policies please read our " +
			"documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
		Param: orNull("prompt"), Code: orNull("content_filter"), Status: http.StatusBadRequest,
		Inner: marshal(map[string]any{"code": "ResponsibleAIPolicyViolation", "content_filter_result": verdicts(what)}),
	}
	return p.refusal(http.StatusBadRequest)
}

// replaceWords puts a code and a message into an error body, where they are not empty.
func replaceWords(body []byte, code, message string) []byte {
	outer := decode(body)
	inner, ok := outer.object("error")
	if !ok {
		inner = object{}
	}
	if code != "" {
		inner["code"] = marshal(code)
	}
	if message != "" {
		inner["message"] = marshal(message)
	}
	return marshal(map[string]any{"error": inner})
}
