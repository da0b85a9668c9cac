package vertex

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// failure is the service's own response for an error of a script. Status, Code and Message of the error replace
// what its Kind stands for: a Code that is one of google.rpc's becomes the status, any other the reason.
func (c *call) failure(e *llm.Error) *refusal {
	r := c.kindFailure(e)
	if e.Status != 0 && e.Status != r.code {
		r.code, r.status = e.Status, wordOf(e.Status)
	}
	if e.Message != "" {
		r.message = e.Message
	}
	switch known := slices.ContainsFunc(statuses(), func(s rpcStatus) bool { return s.word == e.Code }); {
	case known:
		r.status = e.Code
	case e.Code != "":
		r.details = slices.DeleteFunc(r.details, func(d any) bool {
			info, ok := d.(detail)
			return ok && info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
		})
		r.reason(e.Code, c.service(), nil)
	}
	if e.RetryAfter > 0 {
		r.with("RetryInfo", detail{"retryDelay": seconds(e.RetryAfter)})
	}
	r.header = http.Header{}
	if e.NoRetry {
		r.header.Set("X-Should-Retry", "false")
	}
	if e.RequestID != "" {
		r.with("RequestInfo", detail{"requestId": e.RequestID})
		r.header.Set("X-Request-Id", e.RequestID)
	}
	return r
}

// seconds is a duration as google.protobuf.Duration has it in JSON.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// kindFailure: the texts for quotas and for a permission are recorded, the others widely reported, but for the one of a
// filtered prompt, which belongs to image models, and the one of an invalid argument.
func (c *call) kindFailure(e *llm.Error) *refusal {
	switch cloud.KindOf(e) {
	case llm.ErrInvalid:
		return invalid("Request contains an invalid argument.")
	case llm.ErrUnsupported:
		return invalid("Thinking level is not supported for this model.")
	case llm.ErrAuth:
		if e.Status == http.StatusForbidden {
			return denied(c.resource)
		}
		return refuse("UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token, "+
			"login cookie or other valid authentication credential. See "+
			"https://developers.google.com/identity/sign-in/web/devconsole-project.").
			reason("ACCESS_TOKEN_EXPIRED", "googleapis.com", c.method())
	case llm.ErrNotFound:
		return c.noModel()
	case llm.ErrContextTooLong:
		return c.tooLong(window + 1)
	case llm.ErrContentFiltered:
		return invalid("The prompt could not be submitted. This prompt contains sensitive words that violate Google's "+
			"Responsible AI practices.").reason("CONTENT_FILTER", c.service(), nil)
	case llm.ErrRateLimited:
		return refuse("RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later. Please refer to "+
			"https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.")
	case llm.ErrQuotaExceeded:
		return c.quota()
	case llm.ErrTimeout:
		return refuse("DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")
	case llm.ErrUnavailable:
		if !c.vertex() {
			return refuse("UNAVAILABLE", "The model is overloaded. Please try again later.")
		}
		return refuse("UNAVAILABLE", "The service is currently unavailable.")
	default:
		return refuse("INTERNAL", "Internal error encountered.")
	}
}

// quota is an allowance of a day that is used up.
func (c *call) quota() *refusal {
	const metric = "generate_content_requests"
	return refuse("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.\n"+
		"* Quota exceeded for metric: %s/%s, limit: 250, model: %s", c.service(), metric, c.model).
		with("QuotaFailure", detail{"violations": []any{detail{
			"quotaMetric": c.service() + "/" + metric, "quotaId": "GenerateRequestsPerDayPerProjectPerModel",
			"quotaDimensions": map[string]string{"location": "global", "model": c.model}, "quotaValue": "250",
		}}})
}
