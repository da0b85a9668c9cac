package bedrock

import (
	"encoding/json"
	"strconv"
	"strings"
)

// conversation is the body of both operations as far as it is checked. Members that the service does not know are
// ignored, as its own JSON protocol has it for structures; in a union, where one must be known, that leaves
// nothing. A null is no value.
type conversation struct {
	Messages          []message
	System            []systemBlock
	InferenceConfig   *inferenceConfig
	ToolConfig        *toolConfig
	GuardrailConfig   *guardrailConfig
	OutputConfig      *outputConfig
	PerformanceConfig json.RawMessage // sent back as it is
	ServiceTier       json.RawMessage
	RequestMetadata   map[string]string

	AdditionalModelRequestFields      json.RawMessage
	AdditionalModelResponseFieldPaths []string
}

type message struct {
	Role    *string
	Content []block
}

// block is a union: one member is set.
type block struct {
	Text             *string
	Image            *image
	Document         *document
	Video            *media
	Audio            *media
	ToolUse          *toolUse
	ToolResult       *toolResult
	GuardContent     *guardContent
	CachePoint       *cachePoint
	ReasoningContent *reasoningContent
	CitationsContent json.RawMessage
	SearchResult     json.RawMessage
}

type systemBlock struct {
	Text         *string
	GuardContent *guardContent
	CachePoint   *cachePoint
}

type (
	media struct {
		Format *string
		Source *source
	}
	image    = media
	document struct {
		Format    *string
		Name      *string
		Source    *source
		Citations *struct{ Enabled bool }
	}
	// source is a union: Text and Content are a document's alone.
	source struct {
		Bytes      *string
		S3Location json.RawMessage
		Text       *string
		Content    json.RawMessage
	}
	cachePoint struct {
		Type *string
		TTL  *string
	}
	guardContent struct {
		Text  json.RawMessage
		Image *image
	}
	reasoningContent struct {
		ReasoningText *struct {
			Text      *string
			Signature *string
		}
		RedactedContent *string
	}
	toolUse struct {
		Input     json.RawMessage
		Name      *string
		ToolUseID *string
	}
	toolResult struct {
		ToolUseID *string
		Content   []resultBlock
		Status    *string
	}
	resultBlock struct {
		Text         *string
		JSON         json.RawMessage
		Image        *image
		Document     *document
		Video        *media
		SearchResult json.RawMessage
	}
)

type inferenceConfig struct {
	MaxTokens     *int64
	Temperature   *float64
	TopP          *float64
	StopSequences []string
}

type (
	toolConfig struct {
		Tools      []tool
		ToolChoice *toolChoice
	}
	tool struct {
		ToolSpec   *toolSpec
		SystemTool json.RawMessage
		CachePoint *cachePoint
	}
	toolSpec struct {
		Name        *string
		Description *string
		InputSchema *struct{ JSON json.RawMessage }
		Strict      *bool
	}
	toolChoice struct {
		Auto, Any *struct{}
		Tool      *struct{ Name *string }
	}
)

type guardrailConfig struct {
	GuardrailIdentifier  *string
	GuardrailVersion     *string
	Trace                *string
	StreamProcessingMode *string
}

type outputConfig struct {
	Effort     *string
	TextFormat *struct {
		Type      *string
		Structure *struct{ JSONSchema *struct{ Schema *string } }
	}
}

// caches reports whether the request has a cache point.
func (r *conversation) caches() bool { return len(r.cachePoints()) > 0 }

// cachePoints are all of the request.
func (r *conversation) cachePoints() []*cachePoint {
	var all []*cachePoint
	add := func(p *cachePoint) {
		if p != nil {
			all = append(all, p)
		}
	}
	if r.ToolConfig != nil {
		for _, t := range r.ToolConfig.Tools {
			add(t.CachePoint)
		}
	}
	for _, b := range r.System {
		add(b.CachePoint)
	}
	for _, m := range r.Messages {
		for i := range m.Content {
			add(m.Content[i].CachePoint)
		}
	}
	return all
}

// place is where a value is, in both ways in which the service says it: messages.0.content.1 by its own checks,
// messages.1.member.content.2.member by those of its model of the request.
type place struct{ dotted, members string }

func at(name string) place { return place{name, name} }

func (p place) field(name string) place { return place{p.dotted + "." + name, p.members + "." + name} }

func (p place) item(i int) place {
	return place{p.dotted + "." + strconv.Itoa(i), p.members + "." + strconv.Itoa(i+1) + ".member"}
}

// broken is the refusal of a value that is not as the service's model of a request has it. The service tells of
// all such values at once, here it is the first. It does not quote what a message says.
func (p place) broken(value, must string) *refusal {
	what := "Value '" + value + "' at"
	if value == null {
		what = "Value null at"
	}
	if strings.HasPrefix(p.dotted, "messages") {
		what = "Value at"
	}
	return invalid("1 validation error detected: %s '%s' failed to satisfy constraint: Member must %s", what, p.members, must)
}

const null = "\x00null"

func (p place) missing() *refusal { return p.broken(null, "not be null") }

// need refuses what is not there.
func (p place) need(there bool) *refusal {
	if there {
		return nil
	}
	return p.missing()
}

// oneOf refuses a word that is not in a list; one that is not there is no word.
func (p place) oneOf(got *string, known ...string) *refusal {
	if got == nil {
		return nil
	}
	for _, word := range known {
		if *got == word {
			return nil
		}
	}
	return p.broken(*got, "satisfy enum value set: ["+strings.Join(known, ", ")+"]")
}

// length refuses a text that is shorter or longer.
func (p place) length(s string, least, most int) *refusal {
	n := len([]rune(s))
	switch {
	case n < least:
		return p.broken(s, "have length greater than or equal to "+strconv.Itoa(least))
	case n > most:
		return p.broken(s, "have length less than or equal to "+strconv.Itoa(most))
	default:
		return nil
	}
}

// first is the first refusal of several checks.
func first(tests ...func() *refusal) *refusal {
	for _, test := range tests {
		if no := test(); no != nil {
			return no
		}
	}
	return nil
}

// given reports whether a raw value is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// isObject reports whether a raw value is a JSON object.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// blank reports whether a text has nothing to read in it.
func blank(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
