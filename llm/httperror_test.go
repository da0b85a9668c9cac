package llm_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

type header = map[string][]string

func exception(name string) header { return header{"X-Amzn-Errortype": {name}} }

// The bodies are written by hand after what the vendors send; every HTTP row of notes/resilience.md 2.4 is here.
var httpErrors = []struct {
	name   string
	status int
	header header
	body   string
	kind   llm.Kind
	code   string
}{
	// AWS Bedrock
	{"bedrock throttling", 429, exception("ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/"), `{"message":"Too many tokens, please wait before trying again."}`, llm.ErrRateLimited, "ThrottlingException"},
	{"bedrock throttling with 400", 400, exception("ThrottlingException"), `{"message":"Too many requests"}`, llm.ErrRateLimited, "ThrottlingException"},
	{"bedrock too many requests", 429, nil, `{"__type":"com.amazonaws.bedrock#TooManyRequestsException:http://x/","message":"slow"}`, llm.ErrRateLimited, "TooManyRequestsException"},
	{"bedrock cold model", 429, exception("ModelNotReadyException"), `{"message":"The model is not ready."}`, llm.ErrUnavailable, "ModelNotReadyException"},
	{"bedrock model timeout", 408, exception("ModelTimeoutException"), `{"message":"timed out"}`, llm.ErrTimeout, "ModelTimeoutException"},
	{"bedrock model error of 500", 424, exception("ModelErrorException"), `{"message":"x","originalStatusCode":500,"resourceName":"m"}`, llm.ErrUnavailable, "ModelErrorException"},
	{"bedrock model error of 400", 424, exception("ModelErrorException"), `{"message":"x","originalStatusCode":400}`, llm.ErrInvalid, "ModelErrorException"},
	{"bedrock model error of no status", 424, exception("ModelErrorException"), `{"message":"x"}`, llm.ErrUnavailable, "ModelErrorException"},
	{"bedrock stream error", 424, exception("ModelStreamErrorException"), `{"message":"x"}`, llm.ErrUnavailable, "ModelStreamErrorException"},
	{"bedrock internal", 500, exception("InternalServerException"), `{"message":"x"}`, llm.ErrUnavailable, "InternalServerException"},
	{"bedrock unavailable", 503, exception("ServiceUnavailableException"), `{"message":"busy"}`, llm.ErrUnavailable, "ServiceUnavailableException"},
	{"bedrock quota", 400, exception("ServiceQuotaExceededException"), `{"message":"x"}`, llm.ErrQuotaExceeded, "ServiceQuotaExceededException"},
	{"bedrock validation", 400, exception("ValidationException"), `{"message":"A conversation must start with a user message."}`, llm.ErrInvalid, "ValidationException"},
	{"bedrock validation without the header", 400, nil, `{"message":"The model returned the following errors: Malformed input request"}`, llm.ErrInvalid, ""},
	{"bedrock context", 400, exception("ValidationException"), `{"message":"Input is too long for requested model."}`, llm.ErrContextTooLong, "ValidationException"},
	{"bedrock context, claude", 400, exception("ValidationException"), `{"message":"The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum"}`, llm.ErrContextTooLong, "ValidationException"},
	{"bedrock context, claude with an answer", 400, exception("ValidationException"), "{\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}", llm.ErrContextTooLong, "ValidationException"},
	{"bedrock context, titan", 400, exception("ValidationException"), `{"message":"400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 8435"}`, llm.ErrContextTooLong, "ValidationException"},
	{"bedrock context, cohere", 400, exception("ValidationException"), `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}`, llm.ErrContextTooLong, "ValidationException"},
	{"bedrock access", 403, exception("AccessDeniedException"), `{"Message":"User is not authorized to perform: bedrock:InvokeModel"}`, llm.ErrAuth, "AccessDeniedException"},
	{"bedrock expired", 403, exception("ExpiredTokenException"), `{"message":"The security token included in the request is expired"}`, llm.ErrAuth, "ExpiredTokenException"},
	{"bedrock unknown client", 403, exception("UnrecognizedClientException"), `{"message":"x"}`, llm.ErrAuth, "UnrecognizedClientException"},
	{"bedrock signature", 403, exception("InvalidSignatureException"), `{"message":"x"}`, llm.ErrAuth, "InvalidSignatureException"},
	{"bedrock not found", 404, exception("ResourceNotFoundException"), `{"message":"Could not resolve the foundation model"}`, llm.ErrNotFound, "ResourceNotFoundException"},
	{"bedrock form", 404, exception("FTUFormNotFilled"), `{"message":"Model use case details have not been submitted"}`, llm.ErrNotFound, "FTUFormNotFilled"},
	{"bedrock conflict", 400, exception("ConflictException"), `{"message":"x"}`, llm.ErrInvalid, "ConflictException"},
	{"bedrock in a stream, throttling", 200, exception("throttlingException"), `{"message":"Too many tokens, please wait"}`, llm.ErrRateLimited, "throttlingException"},
	{"bedrock in a stream, validation", 200, exception("validationException"), `{"message":"x"}`, llm.ErrInvalid, "validationException"},
	{"bedrock in a stream, internal", 200, exception("internalServerException"), `{"message":"x"}`, llm.ErrUnavailable, "internalServerException"},
	{"bedrock in a stream, model error", 200, exception("modelStreamErrorException"), `{"message":"x","originalStatusCode":400}`, llm.ErrInvalid, "modelStreamErrorException"},
	{"bedrock in a stream, timeout", 200, exception("modelTimeoutException"), `{"message":"x"}`, llm.ErrTimeout, "modelTimeoutException"},

	// Azure OpenAI, Azure API Management, OpenAI
	{"azure rate", 429, nil, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation have exceeded call rate limit. Please retry after 6 seconds."}}`, llm.ErrRateLimited, "429"},
	{"azure rate of azure ai", 429, nil, `{"error":{"code":"RateLimitReached","message":"Your requests have exceeded rate limit.","details":"Your requests"}}`, llm.ErrRateLimited, "RateLimitReached"},
	{"azure demand", 429, nil, `{"error":{"code":"NoCapacity","message":"The system is currently experiencing high demand and cannot process your request."}}`, llm.ErrRateLimited, "NoCapacity"},
	{"azure filter", 400, nil, `{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"medium"}}}}}`, llm.ErrContentFiltered, "content_filter"},
	{"azure filter inside a 200", 200, nil, `{"error":{"message":"filtered","type":null,"code":"content_filter","status":400}}`, llm.ErrContentFiltered, "content_filter"},
	{"azure filter by its inner code", 400, nil, `{"error":{"code":"BadRequest","message":"x","inner_error":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.ErrContentFiltered, "BadRequest"},
	{"azure context", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ErrContextTooLong, "context_length_exceeded"},
	{"azure other 400", 400, nil, `{"error":{"code":"invalid_request_error","message":"'content' is a required property - 'messages.1'","type":null}}`, llm.ErrInvalid, "invalid_request_error"},
	{"azure 422", 422, nil, `{"error":{"code":"Invalid input","message":"x"}}`, llm.ErrInvalid, ""},
	{"azure key", 401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, llm.ErrAuth, "401"},
	{"azure firewall", 403, nil, `{"error":{"code":"AccessDenied","message":"Access denied due to Virtual Network/Firewall rules."}}`, llm.ErrAuth, "AccessDenied"},
	{"azure deployment", 404, nil, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llm.ErrNotFound, "DeploymentNotFound"},
	{"azure model of azure ai", 400, nil, `{"error":{"code":"unknown_model","message":"Unknown model: gpt-9"}}`, llm.ErrNotFound, "unknown_model"},
	{"azure path", 404, nil, `{"error":{"code":"404","message": "Resource not found"}}`, llm.ErrNotFound, "404"},
	{"azure 408", 408, nil, `{"error":{"code":"Timeout","message":"The operation was timeout."}}`, llm.ErrTimeout, "Timeout"},
	{"azure 409", 409, nil, `{"error":{"code":"Conflict","message":"x"}}`, llm.ErrUnavailable, "Conflict"},
	{"azure 500", 500, nil, `{"error":{"code":"InternalServerError","message":"x","type":"server_error"}}`, llm.ErrUnavailable, "InternalServerError"},
	{"azure 500 of a strange type", 500, nil, `{"error":{"message":"x","type":"invalid_request_error"}}`, llm.ErrUnavailable, "invalid_request_error"},
	{"azure 502", 502, nil, `<html><body>Bad Gateway</body></html>`, llm.ErrUnavailable, ""},
	{"azure 503", 503, nil, ``, llm.ErrUnavailable, ""},
	{"azure 504", 504, nil, `{"error":{"code":"GatewayTimeout"}}`, llm.ErrTimeout, "GatewayTimeout"},
	{"gateway key", 401, nil, `{ "statusCode": 401, "message": "Access denied due to missing subscription key." }`, llm.ErrAuth, ""},
	{"gateway rate", 429, nil, `{ "statusCode": 429, "message": "Rate limit is exceeded. Try again in 5 seconds." }`, llm.ErrRateLimited, ""},
	{"gateway tokens", 429, nil, `{ "statusCode": 429, "message": "Token limit is exceeded. Try again in 20 seconds." }`, llm.ErrRateLimited, ""},
	{"gateway quota", 403, nil, `{ "statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 12:34:56." }`, llm.ErrQuotaExceeded, ""},
	{"gateway quota of tokens", 403, nil, `{ "statusCode": 403, "message": "Token quota is exceeded. Try again in 11 hours." }`, llm.ErrQuotaExceeded, ""},
	{"openai quota", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.ErrQuotaExceeded, "insufficient_quota"},
	{"openai credit", 429, nil, `{"error":{"message":"x","type":"insufficient_quota","code":"credit_balance_exhausted"}}`, llm.ErrQuotaExceeded, "credit_balance_exhausted"},
	{"openai spend", 429, nil, `{"error":{"message":"x","code":"project_spend_limit_exceeded"}}`, llm.ErrQuotaExceeded, "project_spend_limit_exceeded"},
	{"openai organisation", 429, nil, `{"error":{"message":"x","code":"organization_usage_limit_exceeded"}}`, llm.ErrQuotaExceeded, "organization_usage_limit_exceeded"},
	{"openai billing", 400, nil, `{"error":{"message":"x","code":"billing_hard_limit_reached"}}`, llm.ErrQuotaExceeded, "billing_hard_limit_reached"},
	{"openai rate", 429, nil, `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ErrRateLimited, "rate_limit_exceeded"},
	{"openai key", 401, nil, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.ErrAuth, "invalid_api_key"},
	{"openai model", 404, nil, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, llm.ErrNotFound, "model_not_found"},
	{"openai model of another project", 403, nil, `{"error":{"message":"Project has no access to model","type":"invalid_request_error","code":"model_not_found"}}`, llm.ErrNotFound, "model_not_found"},
	{"openai type alone", 400, nil, `{"error":{"message":"x","type":"invalid_request_error","code":null}}`, llm.ErrInvalid, "invalid_request_error"},
	{"openai too much output", 400, nil, `{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens","type":"invalid_request_error","code":"invalid_value"}}`, llm.ErrUnsupported, "invalid_value"},
	{"openai gpt-5 context", 400, nil, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens.","type":"invalid_request_error"}}`, llm.ErrContextTooLong, "invalid_request_error"},
	{"openai long prompt", 400, nil, `{"error":{"message":"x","type":"invalid_request_error","param":"messages[3].content","code":"string_above_max_length"}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long part", 400, nil, `{"error":{"message":"x","param":"messages[0].content[1].text","code":"string_above_max_length"}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long input", 400, nil, `{"error":{"message":"x","param":"input","code":"string_above_max_length"}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long input text", 400, nil, `{"error":{"message":"x","param":"input[2].content[0].text","code":"string_above_max_length"}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long output of a tool", 400, nil, `{"error":{"message":"x","param":"input[2].output","code":"string_above_max_length"}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long id of a call", 400, nil, `{"error":{"message":"x","param":"messages[2].tool_calls[0].id","code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"openai long id in the input", 400, nil, `{"error":{"message":"x","param":"input[2].call_id","code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"openai long description", 400, nil, `{"error":{"message":"x","param":"tools[0].function.description","code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"openai long metadata", 400, nil, `{"error":{"message":"x","param":"metadata.content","code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"openai long string somewhere", 400, nil, `{"error":{"message":"x","param":null,"code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"openai long prompt inside a gateway's error", 502, nil, `{"error":{"error":{"message":"x","param":"messages[3].content","code":"string_above_max_length"}}}`, llm.ErrContextTooLong, "string_above_max_length"},
	{"openai long id inside a 200", 200, nil, `{"error":{"message":"x","param":"messages[2].tool_calls[0].id","code":"string_above_max_length"}}`, llm.ErrInvalid, "string_above_max_length"},
	{"vllm context", 400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`, llm.ErrContextTooLong, "BadRequestError"},
	{"llama.cpp context", 400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.ErrContextTooLong, "exceed_context_size_error"},
	{"anthropic overload", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrUnavailable, "overloaded_error"},
	{"anthropic size", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"x"}}`, llm.ErrContextTooLong, "request_too_large"},

	// Google Vertex and Gemini
	{"vertex exhausted", 429, nil, `{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}`, llm.ErrRateLimited, "RESOURCE_EXHAUSTED"},
	{"vertex exhausted in an array", 429, nil, `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]`, llm.ErrRateLimited, "RESOURCE_EXHAUSTED"},
	{"vertex per minute in words", 429, nil, `{"error":{"code":429,"message":"Quota exceeded for requests per minute, check your plan and billing","status":"RESOURCE_EXHAUSTED"}}`, llm.ErrRateLimited, "RESOURCE_EXHAUSTED"},
	{"gemini per minute", 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"GenerateContentPaidTierInputTokensPerModelPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48.939935699s"}]}}`, llm.ErrRateLimited, "RESOURCE_EXHAUSTED"},
	{"gemini per day", 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinute"},{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, llm.ErrQuotaExceeded, "RESOURCE_EXHAUSTED"},
	{"vertex per day in ErrorInfo", 429, nil, `{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"RequestsPerDayPerProject","quota_unit":"1/d/{project}"}}]}}`, llm.ErrQuotaExceeded, "RESOURCE_EXHAUSTED"},
	{"vertex per day in words", 429, nil, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Requests' and limit 'Requests per day'","status":"RESOURCE_EXHAUSTED"}}`, llm.ErrQuotaExceeded, "RESOURCE_EXHAUSTED"},
	{"vertex unavailable", 503, nil, `{"error":{"code":503,"message":"The service is currently unavailable.","status":"UNAVAILABLE"}}`, llm.ErrUnavailable, "UNAVAILABLE"},
	{"vertex internal", 500, nil, `{"error":{"code":500,"message":"x","status":"INTERNAL"}}`, llm.ErrUnavailable, "INTERNAL"},
	{"vertex unknown", 500, nil, `{"error":{"code":500,"message":"x","status":"UNKNOWN"}}`, llm.ErrUnavailable, "UNKNOWN"},
	{"vertex deadline", 504, nil, `{"error":{"code":504,"message":"x","status":"DEADLINE_EXCEEDED"}}`, llm.ErrTimeout, "DEADLINE_EXCEEDED"},
	{"vertex cancelled", 499, nil, `{"error":{"code":499,"message":"The operation was cancelled.","status":"CANCELLED"}}`, llm.ErrUnavailable, "CANCELLED"},
	{"vertex cancelled in a 200", 200, nil, `{"error":{"code":499,"message":"The operation was cancelled.","status":"CANCELLED"}}`, llm.ErrUnavailable, "CANCELLED"},
	{"vertex aborted", 409, nil, `{"error":{"code":409,"message":"x","status":"ABORTED"}}`, llm.ErrUnavailable, "ABORTED"},
	{"vertex argument", 400, nil, `{"error":{"code":400,"message":"Please use a valid role: user, model.","status":"INVALID_ARGUMENT","details":[]}}`, llm.ErrInvalid, "INVALID_ARGUMENT"},
	{"vertex precondition", 400, nil, `{"error":{"code":400,"message":"x","status":"FAILED_PRECONDITION"}}`, llm.ErrInvalid, "FAILED_PRECONDITION"},
	{"vertex range", 400, nil, `{"error":{"code":400,"message":"x","status":"OUT_OF_RANGE"}}`, llm.ErrInvalid, "OUT_OF_RANGE"},
	{"vertex context", 400, nil, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.ErrContextTooLong, "INVALID_ARGUMENT"},
	{"vertex unauthenticated", 401, nil, `{"error":{"code":401,"message":"x","status":"UNAUTHENTICATED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CREDENTIALS_MISSING"}]}}`, llm.ErrAuth, "UNAUTHENTICATED"},
	{"vertex permission", 403, nil, `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource","status":"PERMISSION_DENIED"}}`, llm.ErrAuth, "PERMISSION_DENIED"},
	{"vertex without a quota project", 403, nil, `{"error":{"code":403,"message":"The API requires a quota project, which is not set by default.","status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}`, llm.ErrAuth, "PERMISSION_DENIED"},
	{"gemini key", 400, nil, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.ErrAuth, "INVALID_ARGUMENT"},
	{"vertex not found", 404, nil, `{"error":{"code":404,"message":"Publisher Model not found.","status":"NOT_FOUND"}}`, llm.ErrNotFound, "NOT_FOUND"},
	{"gemini error inside an error", 500, nil, `{"error":{"message":"{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"The model is overloaded.\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n","code":500,"status":"Internal Server Error"}}`, llm.ErrUnavailable, "UNAVAILABLE"},
	{"quota inside a gateway's 500", 500, nil, `{"error":{"message":"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"x\"}}","type":"upstream","code":"500"}}`, llm.ErrQuotaExceeded, "insufficient_quota"},

	// Anything else
	{"error inside an error", 502, nil, `{"error":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`, llm.ErrRateLimited, "rate_limit_exceeded"},
	{"string error", 400, nil, `{"error":"model is required"}`, llm.ErrInvalid, ""},
	{"string error of one word", 400, nil, `{"error":"insufficient_quota"}`, llm.ErrQuotaExceeded, ""},
	{"fastapi", 422, nil, `{"detail":"bad"}`, llm.ErrInvalid, ""},
	{"problem details", 429, nil, `{"type":"https://x/quota","title":"Too many","status":429,"detail":"slow"}`, llm.ErrRateLimited, ""},
	{"html", 404, nil, `<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>`, llm.ErrNotFound, ""},
	{"html of a proxy that wants a login", 407, nil, `<html>`, llm.ErrAuth, ""},
	{"empty", 500, nil, ``, llm.ErrUnavailable, ""},
	{"cut", 429, nil, `{"error":{"code":"insufficient_quo`, llm.ErrRateLimited, ""},
	{"null", 400, nil, `null`, llm.ErrInvalid, ""},
	{"empty array", 400, nil, `[]`, llm.ErrInvalid, ""},
	{"array of no object", 400, nil, `["x"]`, llm.ErrInvalid, ""},
	{"array cut", 400, nil, `[{"error":`, llm.ErrInvalid, ""},
	{"byte order mark", 429, nil, "\ufeff" + `{"error":{"code":"insufficient_quota"}}`, llm.ErrQuotaExceeded, "insufficient_quota"},
	{"fields of strange types", 400, nil, `{"error":{"code":{"a":1},"message":["x"],"type":true,"details":{"a":1},"innererror":"x"}}`, llm.ErrInvalid, ""},
	{"200 with a code", 200, nil, `{"error":{"code":"rate_limit_exceeded","message":"x"}}`, llm.ErrRateLimited, "rate_limit_exceeded"},
	{"200 with a number", 200, nil, `{"error":{"code":429,"message":"x"}}`, llm.ErrRateLimited, "429"},
	{"200 with a number as text", 200, nil, `{"error":{"code":"401","message":"x"}}`, llm.ErrAuth, "401"},
	{"200 with a type", 200, nil, `{"error":{"type":"invalid_request_error","message":"x"}}`, llm.ErrInvalid, "invalid_request_error"},
	{"200 of anthropic", 200, nil, `{"type":"error","error":{"type":"authentication_error","message":"x"}}`, llm.ErrAuth, "authentication_error"},
	{"200 of anthropic, not found", 200, nil, `{"type":"error","error":{"type":"not_found_error","message":"x"}}`, llm.ErrNotFound, "not_found_error"},
	{"200 of anthropic, rate", 200, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, llm.ErrRateLimited, "rate_limit_error"},
	{"200 of google", 200, nil, `{"error":{"status":"DEADLINE_EXCEEDED"}}`, llm.ErrTimeout, "DEADLINE_EXCEEDED"},
	{"200 that says no more", 200, nil, `{"error":{"message":"x"}}`, llm.ErrUnavailable, ""},
	{"200 of the wrong size", 200, nil, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`, llm.ErrContextTooLong, ""},
	{"redirect", 302, nil, ``, llm.ErrNotFound, ""},
	{"payment", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, llm.ErrQuotaExceeded, ""},
	{"gone", 410, nil, ``, llm.ErrNotFound, ""},
	{"entity too large", 413, nil, `<html>413</html>`, llm.ErrContextTooLong, ""},
	{"address too long", 414, nil, ``, llm.ErrInvalid, ""},
	{"teapot", 418, nil, ``, llm.ErrUnavailable, ""},
	{"too early", 425, nil, ``, llm.ErrUnavailable, ""},
	{"no status at all", 0, nil, ``, llm.ErrUnavailable, ""},
	{"negative", -1, nil, `{}`, llm.ErrUnavailable, ""},
	{"code is a sentence", 400, nil, `{"error":{"code":"` + canary + ` is what you wrote"}}`, llm.ErrInvalid, ""},
	{"code is long", 400, nil, `{"error":{"code":"` + strings.Repeat("a", 65) + `"}}`, llm.ErrInvalid, ""},
	{"code of other letters", 400, nil, `{"error":{"code":"漢字"}}`, llm.ErrInvalid, ""},
	{"code is a link", 400, nil, `{"error":{"code":"https://x/?q=1"}}`, llm.ErrInvalid, ""},
}

func TestHTTPErrorKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range httpErrors {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := llm.HTTPError(tt.status, tt.header, []byte(tt.body))
			if e.Kind != tt.kind || e.Code != tt.code || e.Status != tt.status || e.NoRetry || e.Err != nil || e.NotSent {
				t.Errorf("got %s %q (%d, %q), want %s %q", e.Kind, e.Code, e.Status, e.Message, tt.kind, tt.code)
			}
			noCanary(t, "the code", e.Code)
			// A lower-case header is the same header.
			if lower := (header{"x-amzn-errortype": tt.header["X-Amzn-Errortype"]}); tt.header != nil {
				if got := llm.HTTPError(tt.status, lower, []byte(tt.body)); got.Kind != tt.kind {
					t.Errorf("lower case: %s", got.Kind)
				}
			}
		})
	}
}

// Without a body the status decides, and every status has a Kind.
func TestHTTPErrorByStatusAlone(t *testing.T) {
	t.Parallel()
	want := map[llm.Kind][]int{
		llm.ErrInvalid:        {400, 405, 406, 411, 412, 414, 415, 416, 417, 422, 426, 428, 431},
		llm.ErrAuth:           {401, 403, 407},
		llm.ErrQuotaExceeded:  {402},
		llm.ErrNotFound:       {300, 301, 302, 303, 307, 308, 399, 404, 410, 421, 451},
		llm.ErrTimeout:        {408, 504},
		llm.ErrContextTooLong: {413},
		llm.ErrRateLimited:    {429},
		llm.ErrUnavailable:    {0, 100, 200, 204, 299, 409, 418, 423, 424, 425, 430, 498, 499, 500, 501, 502, 503, 505, 520, 529, 599, 600, 999},
	}
	for kind, statuses := range want {
		for _, status := range statuses {
			if got := llm.HTTPError(status, nil, nil).Kind; got != kind {
				t.Errorf("%d: %s, want %s", status, got, kind)
			}
		}
	}
}

func TestHTTPErrorMessage(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"openai", `{"error":{"message":"m"}}`, "m"},
		{"aws", `{"message":"m"}`, "m"},
		{"aws, capital", `{"Message":"m"}`, "m"},
		{"string", `{"error":"m"}`, "m"},
		{"string and more", `{"error":"Unauthorized","message":"m"}`, "m"},
		{"detail", `{"detail":"m"}`, "m"},
		{"array", `[{"error":{"message":"m"}},{"error":{"message":"n"}}]`, "m"},
		{"quoted", `{"error":{"message":"{\"error\":{\"message\":\"m\"}}"}}`, "m"},
		{"quoted thrice", `{"message":"{\"message\":\"{\\\"message\\\":\\\"m\\\"}\"}"}`, "m"},
		{"html", "<html>\n<b>no</b>", "<html> <b>no</b>"},
		{"plain", "no healthy upstream", "no healthy upstream"},
		{"cut", `{"error":{"mess`, `{"error":{"mess`},
		{"json of no known form", `{"errors":[{"code":1}]}`, `{"errors":[{"code":1}]}`},
		{"empty", " \n", ""},
	}
	for _, tt := range tests {
		if got := llm.HTTPError(400, nil, []byte(tt.body)).Message; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, rune := range []string{"a", "é", "漢", "🙂"} {
		for shift := range 4 {
			s := strings.Repeat("a", shift) + strings.Repeat(rune, 1000)
			for _, body := range []string{mustJSON(t, map[string]string{"message": s}), s} {
				got := llm.HTTPError(400, nil, []byte(body)).Message
				if len(got) > 512 || len(got) < 509 || !utf8.ValidString(got) {
					t.Errorf("%s shifted by %d: %d bytes, valid %v", rune, shift, len(got), utf8.ValidString(got))
				}
			}
		}
	}
	if got := llm.HTTPError(400, nil, []byte(strings.Repeat("\x80", 2000))).Message; !utf8.ValidString(got) || len(got) > 512 {
		t.Errorf("got %q", got)
	}
	deep := strings.Repeat(`{"error":`, 5000) + `{"message":"m"}` + strings.Repeat("}", 5000)
	if e := llm.HTTPError(500, nil, []byte(deep)); e.Kind != llm.ErrUnavailable {
		t.Errorf("got %v", e)
	}
}

func TestHTTPErrorFiltered(t *testing.T) {
	t.Parallel()
	result := func(key string) string {
		return `"` + key + `":{"violence":{"filtered":true,"severity":"medium"},"hate":{"filtered":false,"severity":"safe"},` +
			`"jailbreak":{"filtered":true,"detected":true},"` + canary + ` !":{"filtered":true,"severity":"` + canary + ` !"},"custom":[1]}`
	}
	want := []string{"other", "jailbreak", "violence (medium)"}
	for name, body := range map[string]string{
		"innererror, one": `{"error":{"code":"content_filter","innererror":{` + result("content_filter_result") + `}}}`,
		"innererror, s":   `{"error":{"code":"content_filter","innererror":{` + result("content_filter_results") + `}}}`,
		"inner_error":     `{"error":{"code":"content_filter","inner_error":{` + result("content_filter_result") + `}}}`,
		"in the error":    `{"error":{"code":"content_filter",` + result("content_filter_results") + `}}`,
	} {
		e := llm.HTTPError(400, nil, []byte(body))
		if !slices.Equal(e.Filtered, want) || e.Kind != llm.ErrContentFiltered {
			t.Errorf("%s: %v %q", name, e, e.Filtered)
		}
		noCanary(t, name, mustJSON(t, e))
	}
}

func TestHTTPErrorHeaders(t *testing.T) {
	t.Parallel()
	info := `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%"}]}}`
	delay := func(d string) string { return strings.Replace(info, "%", d, 1) }
	tests := []struct {
		name    string
		status  int
		header  header
		body    string
		kind    llm.Kind
		noRetry bool
		wait    time.Duration
		id      string
	}{
		{"plain", 503, nil, "", llm.ErrUnavailable, false, 0, ""},
		{"should not retry", 503, header{"X-Should-Retry": {"false"}}, "", llm.ErrUnavailable, true, 0, ""},
		{"should retry", 400, header{"x-should-retry": {" TRUE "}}, "", llm.ErrUnavailable, false, 0, ""},
		{"should retry, but the key is bad", 401, header{"X-Should-Retry": {"true"}}, "", llm.ErrAuth, false, 0, ""},
		{"should retry is no word", 400, header{"X-Should-Retry": {"perhaps"}}, "", llm.ErrInvalid, false, 0, ""},
		{"pushback", 503, header{"grpc-retry-pushback-ms": {"1500"}}, "", llm.ErrUnavailable, false, 1500 * time.Millisecond, ""},
		{"pushback of 0", 503, header{"grpc-retry-pushback-ms": {"0"}}, "", llm.ErrUnavailable, false, 0, ""},
		{"pushback says no", 503, header{"grpc-retry-pushback-ms": {"-1"}}, "", llm.ErrUnavailable, true, 0, ""},
		{"pushback is garbage", 503, header{"grpc-retry-pushback-ms": {"soon"}}, "", llm.ErrUnavailable, true, 0, ""},
		{"pushback twice", 503, header{"grpc-retry-pushback-ms": {"1", "2"}}, "", llm.ErrUnavailable, true, time.Millisecond, ""},
		{"RetryInfo", 429, nil, delay("48.9s"), llm.ErrRateLimited, false, 48900 * time.Millisecond, ""},
		{"RetryInfo of 0", 429, nil, delay("0s"), llm.ErrRateLimited, false, 0, ""},
		{"RetryInfo negative", 429, nil, delay("-3s"), llm.ErrRateLimited, false, 0, ""},
		{"RetryInfo garbage", 429, nil, delay("x"), llm.ErrRateLimited, false, 0, ""},
		{"RetryInfo huge", 429, nil, delay("315576000000s"), llm.ErrRateLimited, false, 0, ""},
		{"Retry-After before RetryInfo", 429, header{"Retry-After": {"2"}}, delay("48s"), llm.ErrRateLimited, false, 2 * time.Second, ""},
		{"RetryInfo before pushback", 429, header{"Grpc-Retry-Pushback-Ms": {"5"}}, delay("48s"), llm.ErrRateLimited, false, 48 * time.Second, ""},
		{"RetryInfo before reset", 429, header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"9s"}}, delay("48s"), llm.ErrRateLimited, false, 48 * time.Second, ""},
		{"recorded grok", 429, header{"retry-after": {"1"}, "retry-after-ms": {"0"}}, "", llm.ErrRateLimited, false, time.Second, ""},
		{"openai's id", 500, header{"X-Request-Id": {"a"}, "Apim-Request-Id": {"b"}}, "", llm.ErrUnavailable, false, 0, "a"},
		{"apim's id", 500, header{"apim-request-id": {"b"}, "X-Ms-Request-Id": {"c"}}, "", llm.ErrUnavailable, false, 0, "b"},
		{"azure's id", 500, header{"x-ms-request-id": {"c"}, "X-Amzn-Requestid": {"d"}}, "", llm.ErrUnavailable, false, 0, "c"},
		{"aws's id", 500, header{"x-amzn-RequestId": {"d"}}, "", llm.ErrUnavailable, false, 0, "d"},
		{"an empty id", 500, header{"X-Request-Id": {""}, "X-Amzn-Requestid": {"d"}}, "", llm.ErrUnavailable, false, 0, "d"},
		{"an id with a line end", 500, header{"X-Request-Id": {"a\nb"}}, "", llm.ErrUnavailable, false, 0, "a b"},
	}
	for _, tt := range tests {
		e := llm.HTTPError(tt.status, tt.header, []byte(tt.body))
		if e.Kind != tt.kind || e.NoRetry != tt.noRetry || e.RetryAfter != tt.wait || e.RequestID != tt.id {
			t.Errorf("%s: %s, no retry %v, after %s, id %q", tt.name, e.Kind, e.NoRetry, e.RetryAfter, e.RequestID)
		}
	}
}

func FuzzHTTPError(f *testing.F) {
	for _, tt := range httpErrors {
		f.Add(tt.status, "X-Amzn-Errortype", "a#b:c", []byte(tt.body))
	}
	word := regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte) {
		e := llm.HTTPError(status, header{name: {value}}, body)
		switch {
		case e == nil || e.Kind == "" || e.Status != status:
			t.Fatalf("got %+v", e)
		case !word.MatchString(e.Code):
			t.Fatalf("the code is free text: %q", e.Code)
		case len(e.Message) > 512 || !utf8.ValidString(e.Message):
			t.Fatalf("the message has %d bytes: %q", len(e.Message), e.Message)
		case e.RetryAfter < 0 || e.RetryAfter > 365*24*time.Hour:
			t.Fatalf("retry after %s", e.RetryAfter)
		case len(e.Error()) > 200 || strings.ContainsAny(e.Error(), "\r\n"):
			t.Fatalf("text %q", e.Error())
		}
		if _, ok := transient[e.Kind]; !ok {
			t.Fatalf("kind %q", e.Kind)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}
