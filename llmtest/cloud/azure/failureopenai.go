package azure

import (
	"cmp"
	"net/http"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// openAIFailure is what OpenAI itself says for an error. 401 and 404 are recorded, the 429s, 500 and 503 widely
// reported; that a chat is refused with the code of image requests, and the body of the 408, are unverified.
func (c *call) openAIFailure(e *llm.Error) *refusal {
	again := " You can retry your request, or contact us through our help center at help.openai.com if the error " +
		"persists. (Please include the request ID " + c.requestID(2) + " in your message.)"
	switch cloud.KindOf(e) {
	case llm.ErrInvalid:
		return invalid("", "", "Invalid request.")
	case llm.ErrUnsupported:
		return unsupported("temperature", "")
	case llm.ErrAuth:
		return wrongOpenAIKey()
	case llm.ErrNotFound:
		return unknownModel(c.asked)
	case llm.ErrContextTooLong:
		return tooLong(window(c.model), window(c.model)+1)
	case llm.ErrContentFiltered:
		return invalid("", "content_policy_violation", "Your request was rejected as a result of our safety system. Your "+
			"prompt may contain text that is not allowed by our safety system.")
	case llm.ErrRateLimited:
		wait := ""
		if e.RetryAfter > 0 {
			wait = " Please try again in " + e.RetryAfter.String() + "."
		}
		return refuse(http.StatusTooManyRequests, "tokens", "", "rate_limit_exceeded", "Rate limit reached for "+
			cmp.Or(c.asked, "gpt-4o")+" in organization org-simulated on tokens per min (TPM): Limit 30000, Used 30000, Requested 500."+wait+
			" Visit https://platform.openai.com/account/rate-limits to learn more.")
	case llm.ErrQuotaExceeded:
		return outOfQuota()
	case llm.ErrTimeout:
		return refuse(http.StatusRequestTimeout, "server_error", "", "timeout", "Request timed out.")
	case llm.ErrUnavailable:
		return refuse(http.StatusServiceUnavailable, "server_error", "", "",
			"That model is currently overloaded with other requests."+again)
	default:
		return refuse(http.StatusInternalServerError, "server_error", "", "",
			"The server had an error while processing your request. Sorry about that!"+again)
	}
}

func wrongOpenAIKey() *refusal {
	return refuse(http.StatusUnauthorized, "invalid_request_error", "", "invalid_api_key",
		"Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys.")
}

func unknownModel(name string) *refusal {
	return refuse(http.StatusNotFound, "invalid_request_error", "", "model_not_found",
		"The model `"+name+"` does not exist or you do not have access to it.")
}

// outOfQuota is the same for Azure.
func outOfQuota() *refusal {
	return refuse(http.StatusTooManyRequests, "insufficient_quota", "", "insufficient_quota", "You exceeded your "+
		"current quota, please check your plan and billing details. For more information on this error, read the "+
		"docs: https://platform.openai.com/docs/guides/error-codes/api-errors.")
}
