package bedrock

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bare is an id of the service: a region's or the world's prefix, a provider, a name. arn is one of the kinds
// of resource that can answer.
var (
	bare = regexp.MustCompile(`^((us|us-gov|eu|apac|jp|au|ca|sa|me|af|global)\.)?` +
		`(ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|` +
		`qwen|stability|twelvelabs|writer|zai)\.[a-z][a-zA-Z0-9.-]*(:[0-9a-z]+){0,2}$`)
	arn = regexp.MustCompile(`^arn:aws(-[a-z-]+)?:(bedrock|sagemaker):[a-z0-9-]{1,20}:([0-9]{12})?:` +
		`(foundation-model|inference-profile|application-inference-profile|provisioned-model|imported-model|` +
		`custom-model-deployment|default-prompt-router|prompt-router|prompt|endpoint)/([a-zA-Z0-9._:/-]+)$`)
	prefix = regexp.MustCompile(`^(us|us-gov|eu|apac|jp|au|ca|sa|me|af|global)\.`)
)

// wellFormed reports whether the service could have something of that id.
func wellFormed(id string) bool { return bare.MatchString(id) || arn.MatchString(id) }

// modelOf is the model that an id names, without region; "" if only its owner knows.
func modelOf(id string) string {
	if m := arn.FindStringSubmatch(id); m != nil {
		id = m[5]
	}
	if !bare.MatchString(id) {
		return ""
	}
	return prefix.ReplaceAllString(id, "")
}

// profilesOnly reports whether a bare id is of a model that is had through an inference profile alone. The models
// are those that reports name.
func profilesOnly(id string) bool {
	for _, p := range []string{
		"anthropic.claude-3-5-sonnet-20241022", "anthropic.claude-3-7", "anthropic.claude-sonnet", "anthropic.claude-opus",
		"anthropic.claude-haiku", "amazon.nova-2", "amazon.nova-premier", "deepseek.r1", "meta.llama3-1-405b",
		"meta.llama3-2", "meta.llama3-3", "meta.llama4", "mistral.pixtral",
	} {
		if strings.HasPrefix(id, p) {
			return true
		}
	}
	return false
}

// is reports whether the model's id begins with one of the words; never for one that only its owner knows.
func (c *call) is(beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(p string) bool { return c.model != "" && strings.HasPrefix(c.model, p) })
}

// claude is the generation of a Claude model, 35 for 3.5; 0 for any other model.
func (c *call) claude() int {
	name, ok := strings.CutPrefix(c.model, "anthropic.claude-")
	if !ok {
		return 0
	}
	generation := 0
	for word := range strings.SplitSeq(name, "-") {
		n, err := strconv.Atoi(word)
		if err != nil || n > 9 {
			if generation > 0 {
				break // a date
			}
			continue
		}
		generation = generation*10 + n
	}
	if generation > 0 && generation < 10 {
		generation *= 10
	}
	return generation
}

// longest is how many tokens the model writes at most, 0 if that is not known here.
func (c *call) longest() int {
	for _, m := range []struct {
		model string
		most  int
	}{
		{"anthropic.claude-3-haiku", 4096},
		{"anthropic.claude-3-sonnet", 4096},
		{"anthropic.claude-3-opus", 4096},
		{"anthropic.claude-3-5", 8192},
		{"anthropic.claude-3-7", 131072},
		{"anthropic.claude-sonnet-4", 64000},
		{"anthropic.claude-haiku-4", 64000},
		{"anthropic.claude-opus-4-5", 64000},
		{"anthropic.claude-opus-4-6", 128000},
		{"anthropic.claude-opus-4-2", 32000},
		{"anthropic.claude-opus-4-1", 32000},
		{"amazon.nova-2", 65536},
		{"amazon.nova", 10000},
		{"amazon.titan-text-lite", 4096},
		{"amazon.titan-text", 8192},
		{"meta.llama3", 8192},
	} {
		if c.is(m.model) {
			return m.most
		}
	}
	return 0
}

// window is how many tokens the model reads at most, 0 if that is not known here.
func (c *call) window() int {
	switch {
	case c.claude() > 0:
		return 200000
	case c.is("amazon.nova-micro"):
		return 128000
	case c.is("amazon.nova-2", "amazon.nova-premier"):
		return 1000000
	case c.is("amazon.nova"):
		return 300000
	case c.is("meta.llama3"), c.is("deepseek.r1"):
		return 128000
	default:
		return 0
	}
}
