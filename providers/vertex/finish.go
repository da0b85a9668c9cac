package vertex

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
)

// The types of the opaque parts that this package makes.
const (
	// PartType is a part that this package does not know, such as executableCode, toolCall or what is newer than it;
	// its data is the part as it was received. It goes back to the generation of models that made it.
	PartType = "gemini_part"
	// GroundingType is what the answer is grounded on; its data is the groundingMetadata.
	GroundingType = "gemini_grounding"
	// CitationsType is whom the answer cites; its data is the citationMetadata.
	CitationsType = "gemini_citations"
	// URLContextType is which pages the model read; its data is the urlContextMetadata.
	URLContextType = "gemini_url_context"
)

// filters are the finish reasons of a filter.
var filters = []string{
	"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK",
	"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
}

// failures are the finish reasons that say that the model wrote no answer one can use.
var failures = []string{
	"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE",
}

// The finish reasons by number, as a gateway may send them. The two services number them differently.
var (
	vertexFinish = []string{
		"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"MALFORMED_FUNCTION_CALL", "MODEL_ARMOR",
	}
	geminiFinish = []string{
		"", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT",
		"SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY",
	}
)

// finishName is the name of a finish reason that may be a number.
func (a *answer) finishName() string {
	table := vertexFinish
	if a.gemini {
		table = geminiFinish
	}
	for number, name := range table {
		if a.finish == strconv.Itoa(number) {
			return name
		}
	}
	return a.finish
}

// response is the whole answer, or the error that its finish stands for.
func (a *answer) response() (*llm.Response, error) {
	finish := a.finishName()
	switch {
	case a.blocked != "":
		return a.fail(a.filtered(a.blocked))
	case slices.Contains(filters, finish):
		return a.fail(a.filtered(finish))
	case slices.Contains(failures, finish):
		return a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: finish, Message: a.message})
	}
	a.putExtras()
	r := a.acc.Response()
	if len(r.Message.Parts) == 0 && finish != "MAX_TOKENS" {
		e := &llm.Error{Kind: llm.ErrBadOutput, Code: "empty_answer", Message: a.message}
		if finish != "STOP" && codeWord(finish) != "" {
			e.Code = finish // OTHER, LANGUAGE, TOO_MANY_TOOL_CALLS: it says why
		}
		return a.fail(e)
	}
	a.describe(r)
	switch {
	case finish == "MAX_TOKENS":
		r.Finish = llm.FinishLength
	case finish != "STOP" && finish != "":
		r.Finish = llm.FinishOther
	case a.calls > 0:
		r.Finish = llm.FinishToolCall
	default:
		r.Finish = llm.FinishStop
	}
	return r, nil
}

func (a *answer) putExtras() {
	for i, kind := range []string{GroundingType, CitationsType, URLContextType} {
		if raw := a.extras[i]; raw != nil {
			a.acc.Put(a.parts, llm.Opaque{Type: kind, Data: raw})
			a.parts++
		}
	}
}

// maxRatings is how many verdicts are looked at. The service has a handful of filters.
const maxRatings = 64

// filtered is the error of a prompt or answer that a filter stopped.
func (a *answer) filtered(reason string) *llm.Error {
	e := &llm.Error{Kind: llm.ErrContentFiltered, Code: codeWord(reason), Message: a.message}
	ratings := a.ratings.Items[:min(len(a.ratings.Items), maxRatings)]
	for _, r := range ratings {
		if r.Blocked || !slices.ContainsFunc(ratings, isBlocked) && severe(r) {
			e.Filtered = append(e.Filtered, category(r))
		}
	}
	if len(e.Filtered) == 0 {
		e.Filtered = []string{strings.ToLower(e.Code)}
	}
	return e
}

func isBlocked(r gemini.SafetyRating) bool { return r.Blocked }

// severe is for verdicts without the word blocked, as on prompts.
func severe(r gemini.SafetyRating) bool {
	return r.Probability == "HIGH" || r.Probability == "MEDIUM"
}

// category is for example "hate_speech (high)".
func category(r gemini.SafetyRating) string {
	name := strings.ToLower(strings.TrimPrefix(codeWord(string(r.Category)), "HARM_CATEGORY_"))
	if name == "" {
		name = "other" // it is logged, so it is a word or nothing
	}
	if p := strings.ToLower(codeWord(string(r.Probability))); p != "" {
		name += " (" + p + ")"
	}
	return name
}

// codeWord keeps a code only if it is a word: what looks like a sentence could be free text, and a code is logged.
func codeWord(s string) string {
	if len(s) > 64 || !isWord(s, ".") {
		return ""
	}
	return s
}

// maxMessage is how much of the service's words an error keeps.
const maxMessage = 512

func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n]) // the rest may be long
}

// describe fills in everything but the message's parts and the finish.
func (a *answer) describe(r *llm.Response) {
	r.ID, r.ModelVersion, r.Model, r.Message.From = a.id, a.version, a.model, a.model
	r.RawFinish, r.Usage, r.Warnings = a.finish, a.usage, a.warnings
	a.credential.CleanResponse(r)
}

// fail completes e with what is known of the exchange, and with what had arrived.
func (a *answer) fail(e *llm.Error) (*llm.Response, error) {
	a.reply.Describe(e)
	e.Partial = a.partial()
	return e.Partial, e
}

// partial is what had arrived when the answer failed: nil if that was nothing at all.
func (a *answer) partial() *llm.Response {
	r := a.acc.Partial()
	if r == nil {
		if !a.usage.Reported && a.finish == "" && a.blocked == "" {
			return nil
		}
		r = &llm.Response{Message: llm.Message{Role: llm.RoleAssistant}}
	}
	a.describe(r)
	return r
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, notSent bool) *llm.Error {
	return &llm.Error{Kind: llm.KindOf(ctx.Err()), NotSent: notSent, Err: context.Cause(ctx)}
}

// compact removes the blanks of a JSON value that was decoded before.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
