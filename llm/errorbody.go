package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errorBody is what the known forms of error body have in common.
type errorBody struct {
	code, typ, message string
	words              []string // all that names the cause: codes, types, reasons, at every level
	status             int      // a status inside the body
	filtered           []string
	retryDelay         time.Duration
	daily              bool // the allowance that is used up is one of a day
}

// maxErrorNesting bounds errors inside errors: gateways put what they got into their own.
const maxErrorNesting = 4

func parseErrorBody(body []byte) (b errorBody) {
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff")))
	if !b.parse(body, maxErrorNesting) || b.message == "" {
		b.message = clean(string(body[:min(len(body), 8*maxMessage)]), 8*maxMessage) // HTML, or JSON of no known form
	}
	return b
}

// parse reads body, and reports whether it is one of the forms it knows.
func (b *errorBody) parse(body []byte, depth int) bool {
	if bytes.HasPrefix(body, []byte("[")) {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return false
		}
		body = list[0]
	}
	fields, ok := object(body)
	if !ok {
		return false
	}
	b.read(fields)
	if depth == 0 {
		return true
	}
	if text := scalar(fields["error"]); text != "" { // {"error":"text"}
		b.message = first(b.message, text)
		b.addWords(codeWord(text))
	} else if _, ok := object(fields["error"]); ok {
		inner := errorBody{}
		inner.parse(fields["error"], depth-1)
		b.adopt(&inner)
	}
	// Some quote the whole body of another's error as their message.
	if inner := (errorBody{}); strings.HasPrefix(b.message, "{") && inner.parse([]byte(b.message), depth-1) {
		b.adopt(&inner)
	}
	return true
}

// adopt takes over what an inner error says: it is nearer to the cause.
func (b *errorBody) adopt(inner *errorBody) {
	b.code, b.typ = first(inner.code, b.code), first(inner.typ, b.typ)
	b.message = first(inner.message, b.message)
	b.words = append(b.words, inner.words...)
	if inner.status != 0 {
		b.status = inner.status
	}
	b.filtered = append(b.filtered, inner.filtered...)
	b.retryDelay = max(b.retryDelay, inner.retryDelay)
	b.daily = b.daily || inner.daily
}

// read takes what one object says, without an error inside it.
func (b *errorBody) read(fields map[string]json.RawMessage) {
	b.code = first(scalar(fields["code"]), exceptionName(scalar(fields["__type"])))
	b.typ = first(scalar(fields["type"]), scalar(fields["status"]))
	b.message = first(scalar(fields["message"]), scalar(fields["Message"]), scalar(fields["detail"]))
	b.addWords(causeWord(b.code, scalar(fields["param"])), b.typ, scalar(fields["status"]))
	// AWS's originalStatusCode is the model's own status behind a 424.
	for _, name := range []string{"originalStatusCode", "OriginalStatusCode", "status", "statusCode", "code", "type"} {
		if n, err := strconv.Atoi(scalar(fields[name])); err == nil && n >= 300 && n < 600 {
			b.status = n
			break
		}
	}
	for _, name := range []string{"innererror", "inner_error"} {
		if inner, ok := object(fields[name]); ok {
			b.addWords(scalar(inner["code"]))
			b.filtered = append(b.filtered, filteredCategories(inner)...)
		}
	}
	b.filtered = append(b.filtered, filteredCategories(fields)...)
	b.readDetails(fields["details"])
	b.readDetails(fields["detail"])
}

func (b *errorBody) addWords(words ...string) {
	for _, w := range words {
		if w != "" {
			b.words = append(b.words, w)
		}
	}
}

// readDetails reads google.rpc details: RetryInfo, ErrorInfo and QuotaFailure. Some frameworks have there what was
// wrong with which field.
func (b *errorBody) readDetails(raw json.RawMessage) {
	var details []json.RawMessage
	if json.Unmarshal(raw, &details) != nil {
		return
	}
	for _, d := range details {
		fields, ok := object(d)
		if !ok {
			continue
		}
		if delay, err := time.ParseDuration(scalar(fields["retryDelay"])); err == nil && delay > 0 && delay <= maxWait {
			b.retryDelay = delay
		}
		b.addWords(scalar(fields["reason"]))
		var place []json.RawMessage // "body", then the path
		if scalar(fields["type"]) == "extra_forbidden" && json.Unmarshal(fields["loc"], &place) == nil && len(place) == 2 {
			b.addWords(unknownSetting)
		}
		metadata, _ := object(fields["metadata"])
		b.daily = b.daily || isDaily(metadata)
		var violations []map[string]json.RawMessage
		if json.Unmarshal(fields["violations"], &violations) == nil {
			b.daily = b.daily || slices.ContainsFunc(violations, isDaily)
		}
	}
}

// isDaily tells a quota of a day from one of a minute: only the first is used up for long.
func isDaily(quota map[string]json.RawMessage) bool {
	for _, name := range []string{"quotaId", "quota_id", "quota_limit", "quota_unit", "quotaMetric", "quota_metric"} {
		if has(strings.ToLower(scalar(quota[name])), "perday", "per_day", "/d/") {
			return true
		}
	}
	return false
}

// filteredCategories names the categories of an Azure content_filter_result(s) that were filtered.
func filteredCategories(fields map[string]json.RawMessage) []string {
	var names []string
	for _, key := range []string{"content_filter_result", "content_filter_results"} {
		categories, _ := object(fields[key])
		for _, name := range slices.Sorted(maps.Keys(categories)) {
			var c struct {
				Filtered bool
				Severity string
			}
			if json.Unmarshal(categories[name], &c) != nil || !c.Filtered {
				continue
			}
			word := first(codeWord(name), "other") // it is logged, so it is a word or nothing
			if severity := codeWord(c.Severity); severity != "" {
				word += " (" + severity + ")"
			}
			names = append(names, word)
		}
	}
	return names
}

// codeOr is the code to show: a word before a number, which only repeats the status.
func (b *errorBody) codeOr(exception string) string {
	number := ""
	for _, s := range []string{b.code, exception, b.typ} {
		s = codeWord(s)
		if _, err := strconv.Atoi(s); err != nil && s != "" {
			return s
		}
		number = first(number, s)
	}
	return number
}

func has(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// scalar reads a JSON string or number as text, "" for anything else.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// exceptionName is AWS's name of an error without namespace and link:
// "com.amazonaws…#ThrottlingException:http://…" is "ThrottlingException".
func exceptionName(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if i := strings.LastIndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimSpace(s)
}

// codeWord keeps a code only if it is a word: what looks like a sentence could be free text, and a code is
// logged.
func codeWord(s string) string {
	if len(s) > 64 {
		return ""
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		default:
			return ""
		}
	}
	return s
}
