package llm

import "strings"

// A refusal of a setting by one model, one deployment or one version of an API is no fault of the request: another
// target may take it. Codes tell it where a vendor has one, well-known phrases elsewhere. What another target would
// refuse as well (a bad schema, a missing field, roles in the wrong order) must never be among them.

// settingCodes name a setting that is refused.
var settingCodes = []string{
	"unsupported_parameter", "unsupported_value", "operationnotsupported", "model_not_supported",
}

// Words of ours, for codes that a parameter makes plain.
const (
	unknownSetting = "unsupported_parameter" // the code that others have for it
	refusedSetting = "unsupported_value"
	oddSetting     = "odd_setting" // the message has to say more
)

// settingWord is the word that a code adds to the cause if it is about a setting of its own, and not about something
// inside the conversation or the tools; else the code.
func settingWord(code, param string) string {
	switch code = strings.ToLower(code); {
	case !isSetting(param):
		return code
	case code == "unknown_parameter":
		return unknownSetting
	case code == "invalid_value":
		return oddSetting
	case has(code, "_above_max_value", "_below_min_value"), code == "array_above_max_length":
		return refusedSetting // a range of this model's, or of this service's
	default:
		return code
	}
}

// isSetting reports whether a parameter is one of the top of a request, such as temperature or reasoning.effort. Of
// what a caller writes (messages, tools) only the whole is one: how many a service takes.
func isSetting(param string) bool {
	head, rest, nested := strings.Cut(strings.ReplaceAll(param, "[", "."), ".")
	switch head {
	case "":
		return false
	case "messages", "input", "tools", "functions", "prompt", "contents":
		return !nested
	default:
		return !strings.Contains(rest, "schema")
	}
}

// wording is a way to say something: one of the first words and, if there are any, one of the others.
type wording struct{ words, and []string }

func says(list []wording, message string) bool {
	for i := range list {
		if w := &list[i]; has(message, w.words...) && (len(w.and) == 0 || has(message, w.and...)) {
			return true
		}
	}
	return false
}

// unableModel are sentences about what a model, a deployment or a place cannot do.
var unableModel = []wording{
	{[]string{
		"this model", "the model", "the specified model", "the requested model", "the selected model", "certain models", "for models/",
		"unsupported model",
	}, []string{
		"not support", "n't support", "unsupported", "not available", "not allowed", "not enabled", "not compatible", "not work",
		"cannot both be", "deprecated for", "can't be disabled", "only works", "only support", "supports at most", "is allowed for",
	}},
	{[]string{"enabled only for api versions", "are not available on", "location is not supported", "input is not supported"}, nil},
	{[]string{"does not support"}, []string{"tools", "thinking", "image", "vision"}},
	{[]string{"tool choice requires"}, nil},
	{[]string{"multiple tools are supported only", "at most one tool is supported"}, nil},
	{[]string{"tool use with function calling", "function calling with"}, []string{"unsupported", "not supported"}},
}

// refusedValue are sentences about one setting. They say the same of a field inside a message or a schema, and are
// not heard then.
var refusedValue = []wording{
	{[]string{"unrecognized request argument", "unknown parameter", "#: extraneous key", "extra inputs are not permitted"}, nil},
	{[]string{"unknown name"}, []string{"cannot find field"}},
	{[]string{
		"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "maxtokens", "max_new_tokens", "maximum tokens",
	}, []string{
		"too large", "at most", "less than or equal", "exceed", "maximum allowed", "supported range", "in the range",
	}},
	{[]string{"max_output_tokens must be", "supported range is", "must be in the range", ": range: "}, nil},
	{[]string{"above maximum value", "below minimum value", "input should be less than", "input should be greater than"}, nil},
	{[]string{"'inferenceconfig."}, []string{"failed to satisfy constraint"}},
	{[]string{"#/"}, []string{"is not less or equal", "is not greater or equal", "expected maximum item count"}},
	{[]string{"budget"}, []string{"is invalid", "out of range"}},
	{[]string{"may only be set to", "may not be enabled when", "cannot both be specified"}, nil},
	{[]string{"stop sequences may be set"}, nil},
	{[]string{"unsupported mime type", "mimetype parameter with value"}, nil},
}

// insideContent reports whether a message has a path into what the caller wrote: "messages.2.content", "#/tools/0",
// "tools[0]".
func insideContent(message string) bool {
	for _, list := range []string{"messages", "contents", "tools", "input"} {
		for _, rest := range strings.SplitAfter(message, list)[1:] {
			index := strings.TrimLeft(rest, "'\"./[,")
			if len(index) < len(rest) && index != "" && index[0] >= '0' && index[0] <= '9' {
				return true
			}
		}
	}
	return false
}

// refusesSetting reports whether a refusal is about a setting that another target may take. Words and message are in
// lower case.
func refusesSetting(words, message string) bool {
	if has(words, settingCodes...) || strings.Contains(words, oddSetting) && strings.Contains(message, "supported values are") {
		return true
	}
	message = strings.ReplaceAll(message, "the model returned the following errors", "")
	message = strings.ReplaceAll(message, "’", "'")
	switch {
	case strings.Contains(message, "invalid schema"):
		return false
	case says(unableModel, message):
		return true
	case strings.Contains(message, "schema"), insideContent(message):
		return false
	default:
		return says(refusedValue, message)
	}
}
