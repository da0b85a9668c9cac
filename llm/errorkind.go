package llm

import "strings"

// kindWords are the words of codes, types, exceptions and reasons that name a cause, whatever the status.
// Words are compared in lower case, as parts; the first row that fits counts.
var kindWords = []kindRow{
	{ErrContentFiltered, []string{"content_filter", "responsibleaipolicyviolation", "content_policy_violation"}},
	{ErrContextTooLong, []string{"context_length_exceeded", "request_too_large", longText, "exceed_context_size"}},
	{ErrInvalid, []string{longField}},
	{ErrQuotaExceeded, []string{
		"insufficient_quota", "credit_balance", "spend_limit", "usage_limit_exceeded",
		"billing", "quota_exceeded", "quotaexceeded",
	}},
	{ErrAuth, []string{
		"api_key_invalid", "invalid_api_key", "expiredtoken", "unrecognizedclient", "accessdenied",
		"incompletesignature", "invalidsignature", "unauthenticated", "permission_denied",
	}},
	{ErrNotFound, []string{"deploymentnotfound", "model_not_found", "modelnotfound", "unknown_model", "resourcenotfound"}},
	{ErrUnavailable, []string{"modelnotready"}}, // a cold model, with a 429
	{ErrRateLimited, []string{"throttling", "ratelimitreached", "rate_limit_exceeded", "toomanyrequests", "resource_exhausted"}},
}

const (
	longText  = "string_above_max_length" // OpenAI's code for any text that is too long
	longField = "field_above_max_length"  // ours, for one that is no prompt
)

// causeWord is the word that a code adds to the cause; param is the parameter that the error is about. A window that
// is too small is a reason to ask another model, an id or a description that is too long is one to correct it.
func causeWord(code, param string) string {
	if strings.EqualFold(code, longText) && !isPrompt(param) {
		return longField
	}
	return settingWord(code, param)
}

// isPrompt reports whether a parameter is what a message says, such as messages[3].content or input[2].output.
func isPrompt(param string) bool {
	switch param {
	case "input", "prompt", "instructions":
		return true
	}
	return (strings.HasPrefix(param, "messages") || strings.HasPrefix(param, "input[")) && has(param, ".content", ".output")
}

// bareWords are asked only when no status tells more: an error inside a 200.
var bareWords = []kindRow{
	{ErrInvalid, []string{"invalid_request", "invalid_argument", unknownSetting, refusedSetting, "failed_precondition", "out_of_range", "validationexception"}},
	{ErrAuth, []string{"authentication_error", "permission_error"}},
	{ErrNotFound, []string{"not_found"}},
	{ErrRateLimited, []string{"rate_limit", "too_many_requests"}},
	{ErrTimeout, []string{"timeout", "deadline_exceeded"}},
}

type kindRow struct {
	kind  Kind
	words []string
}

func findKind(rows []kindRow, words string) Kind {
	for i := range rows {
		if has(words, rows[i].words...) {
			return rows[i].kind
		}
	}
	return ""
}

// tooLongWords are how vendors other than OpenAI say that a prompt exceeds the window.
var tooLongWords = []string{
	"maximum context length", "context window", "context limit", "context size", "prompt is too long",
	"input is too long", "too many input tokens", "input token count", "input tokens exceed",
	"number of input tokens exceeds", "exceeds the maximum number of tokens", "reduce the length of the messages",
}

// kind judges by what the body says first and by the status after that.
func (b *errorBody) kind(http int) Kind {
	words, message := strings.ToLower(strings.Join(b.words, " ")), strings.ToLower(b.message)
	status := b.judgedStatus(http)
	kind := findKind(kindWords, words)
	switch {
	case kind == ErrContentFiltered, kind == ErrContextTooLong:
		return kind
	case tooLong(status, message):
		return ErrContextTooLong
	case b.daily && (status == 429 || kind == ErrRateLimited):
		return ErrQuotaExceeded
	case kind != "" && kind != ErrRateLimited:
		return kind
	case quotaMessage(status, kind, message):
		return ErrQuotaExceeded
	case kind != "":
		return kind
	}
	if status == 0 {
		kind = findKind(bareWords, words)
	}
	kind = Kind(first(string(kind), string(statusKind(status))))
	if kind == ErrInvalid && refusesSetting(words, message) {
		return ErrUnsupported
	}
	return kind
}

// judgedStatus is the status to judge by: the response's, or the body's own if the response claims success
// or is AWS's 424, which only says that the model failed.
func (b *errorBody) judgedStatus(http int) int {
	switch {
	case http == 424 && b.status != 0:
		return b.status
	case http >= 300:
		return http
	default:
		return b.status
	}
}

func tooLong(status int, message string) bool {
	switch status {
	case 413:
		return true
	case 0, 400:
		return has(message, tooLongWords...) || status == 400 && strings.Contains(message, "too many tokens")
	default:
		return false
	}
}

// quotaMessage recognises an allowance that is used up, where only words say it. Google says "exceeded your
// current quota" for the quota of a minute too, so beside a word for throttling that means nothing.
func quotaMessage(status int, kind Kind, message string) bool {
	switch status {
	case 403:
		return strings.Contains(message, "quota")
	case 429:
		return has(message, "per day", "per_day", "per month", "monthly") ||
			kind == "" && strings.Contains(message, "exceeded your current quota")
	default:
		return false
	}
}

func statusKind(status int) Kind {
	switch status {
	case 400, 405, 406, 411, 412, 414, 415, 416, 417, 422, 426, 428, 431:
		return ErrInvalid
	case 401, 403, 407:
		return ErrAuth
	case 402:
		return ErrQuotaExceeded
	case 404, 410, 421, 451:
		return ErrNotFound
	case 408, 504:
		return ErrTimeout
	case 413:
		return ErrContextTooLong
	case 429:
		return ErrRateLimited
	}
	if status >= 300 && status < 400 {
		return ErrNotFound // a redirect is never followed to another host: the address is wrong
	}
	return ErrUnavailable // 409, 424, 425, 499, 5xx, what nobody knows, and an error inside a 200 that says no more
}
