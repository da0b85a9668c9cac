package bedrock

import (
	"regexp"
	"strconv"
	"strings"
)

// providerName is the name in llm.ModelRef and in Request.Extra.
const providerName = "bedrock"

// family is a group of models that understand the same settings and each other's signatures.
type family string

const (
	claude   family = "anthropic"
	nova     family = "amazon.nova"
	nova2    family = "amazon.nova-2" // of Nova, those that think
	gptOSS   family = "openai"
	qwen     family = "qwen"
	moonshot family = "moonshot"
	deepseek family = "deepseek"
	llama    family = "meta"
	mistral  family = "mistral"
	cohere   family = "cohere"
	ai21     family = "ai21"
	writer   family = "writer"
	titan    family = "amazon"
)

// geographies are what ids of inference profiles begin with.
var geographies = []string{"us.", "us-gov.", "eu.", "apac.", "jp.", "au.", "ca.", "sa.", "me.", "af.", "global."}

// baseModel is a model's id without ARN and geography: "anthropic.claude-…".
func baseModel(model string) string {
	if strings.HasPrefix(model, "arn:") {
		model = model[strings.LastIndexByte(model, '/')+1:]
	}
	for _, g := range geographies {
		if rest, ok := strings.CutPrefix(model, g); ok {
			return rest
		}
	}
	return model
}

// familyOf finds the family in a model's id; "" if the id does not tell.
func familyOf(model, configured string) family {
	base := baseModel(model)
	maker, rest, ok := strings.Cut(base, ".")
	if configured != "" {
		maker, ok = configured, true
	}
	switch {
	case !ok:
		return ""
	case maker == "amazon" && (strings.HasPrefix(rest, "nova-2") || rest == ""):
		return nova2
	case maker == "amazon" && strings.HasPrefix(rest, "nova"):
		return nova
	case strings.HasPrefix(maker, "moonshot"):
		return moonshot
	}
	return family(maker)
}

// sameFamily reports whether what one model wrote may be shown to the other with its proofs.
func (p *Provider) sameFamily(model string) bool {
	if model == p.model.Model {
		return true
	}
	other := familyOf(model, "")
	return other != "" && other == p.family
}

// caches reports whether the model takes cache points in messages and in the system prompt.
func (p *Provider) caches() bool {
	version := claudeOf(p.model.Model)
	return p.family == nova || p.family == nova2 || p.family == claude && (version == 0 || version >= claudeCaches)
}

// keepsSchemas reports whether the model takes a JSON Schema for its output, as far as its id tells.
func (p *Provider) keepsSchemas() bool {
	switch p.family {
	case claude:
		version := claudeOf(p.model.Model)
		return version == 0 || version >= claudeSchemas
	case nova, titan, llama, cohere, ai21:
		return false
	default:
		return true
	}
}

// parts reports whether the family wants the results of tools in a turn of their own.
func (f family) parts() bool { return f == llama || f == mistral || f == writer }

// tellsErrors reports whether the family takes the status of a tool's result.
func (f family) tellsErrors() bool { return f == claude || f == nova || f == nova2 || f == "" }

var claudeVersion = regexp.MustCompile(`claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?:[-:.@]|$)`)

// claudeOf is the version of a Claude as 45 for 4.5; 0 if the id does not tell.
func claudeOf(model string) int {
	m := claudeVersion.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return 10*major + min(minor, 9)
}
