package vertex

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bound is a parameter that is a number between two others. Vertex AI names the end that it no longer takes.
type bound struct {
	name        string
	least, most float64
	beyond      string
}

// checkConfig: the texts of Vertex AI for temperature, maxOutputTokens and candidateCount are widely reported, and
// the others follow them; those of the Gemini API are unverified but for temperature and maxOutputTokens.
func (c *call) checkConfig() *refusal {
	config := c.fields.message("generationConfig")
	longest := strconv.Itoa(c.longest() + 1)
	for _, b := range []bound{
		{"temperature", 0, 2, "2.0001"},
		{"topP", 0, 1, "1.0001"},
		{"topK", 1, 64, "65"},
		{"candidateCount", 1, 8, "9"},
		{"maxOutputTokens", 1, float64(c.longest()), longest},
		{"presencePenalty", -2, 2, "2.0001"},
		{"frequencyPenalty", -2, 2, "2.0001"},
		{"logprobs", 0, 20, "21"},
	} {
		n, ok := config.number(b.name)
		if !ok || n >= b.least && n <= b.most {
			continue
		}
		no := unable("it has a %s value of %s but the supported range is from %v (inclusive) to %s (exclusive). Update the "+
			"value and try again.", b.name, strings.Trim(config.raw(b.name), `"`), b.least, b.beyond)
		if b.name == "maxOutputTokens" {
			return no
		}
		field := snake(b.name)
		return c.either(no, fault("generation_config."+field,
			fmt.Sprintf("%s must be in the range [%.1f, %.1f].", field, b.least, b.most)))
	}
	if n := len(config.list("stopSequences")); n > 5 { // the limit is documented, the texts are unverified
		return c.either(unable("it has %d stopSequences but the maximum is 5. Update the value and try again.", n),
			fault("generation_config.stop_sequences", "at most 5 stop sequences may be set."))
	}
	return nil
}

// longest is how many tokens the model writes at most.
func (c *call) longest() int {
	if c.generation() < 2.5 {
		return 8192
	}
	return 65536
}

// checkFormat: the text of the Gemini API for a media type is reported, and so is that for functions beside JSON; the
// others are unverified.
func (c *call) checkFormat() *refusal {
	config := c.fields.message("generationConfig")
	media := config.text("responseMimeType")
	known := []string{"", "text/plain", "application/json", "text/x.enum"}
	schemas := 0
	for _, name := range []string{"responseSchema", "responseJsonSchema"} {
		if config.has(name) {
			schemas++
		}
	}
	switch {
	case !slices.Contains(known, media):
		return c.either(unable("it has a responseMimeType parameter with value %s, which is not supported. Update the "+
			"responseMimeType and try again.", media), fault("generation_config.response_mime_type",
			"allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`."))
	case schemas == 2:
		return c.either(unable("only one of response_schema and response_json_schema can be set."),
			fault("generation_config.response_json_schema", "response_schema must not be set beside it."))
	case schemas == 1 && media != "application/json" && media != "text/x.enum":
		return c.either(unable("a response schema is set but responseMimeType is not application/json or text/x.enum. Update "+
			"the responseMimeType and try again."), fault("generation_config.response_schema",
			"only allowed when response_mime_type is application/json or text/x.enum."))
	case media == "application/json" && len(c.declarations()) > 0 && !c.signs():
		return invalid("Function calling with a response mime type: 'application/json' is unsupported")
	}
	s := schema{call: c, path: "generation_config.response_schema", what: "response schema"}
	return s.check(config.message("responseSchema"))
}

// checkThinking: the texts are widely reported, but those for a level that a model does not know.
func (c *call) checkThinking() *refusal {
	thinking := c.fields.message("generationConfig").message("thinkingConfig")
	if thinking == nil {
		return nil
	}
	budget, hasBudget := thinking.number("thinkingBudget")
	level := strings.ToUpper(thinking.text("thinkingLevel"))
	pro := strings.Contains(c.model, "-pro")
	switch {
	case hasBudget && level != "":
		return invalid("You can only set only one of thinking budget and thinking level.")
	case c.generation() < 2.5:
		return c.either(unable("thinking is not supported by this model."), invalid("Thinking is not enabled for models/%s", c.model))
	case level != "" && !c.signs():
		return c.either(unable("thinking_level is not supported by this model."), invalid("Thinking level is not supported for this model."))
	case level != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, level):
		return badRequest([]problem{{"generation_config.thinking_config.thinking_level", fmt.Sprintf("Invalid value at "+
			"'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.cloud.aiplatform.v1beta1."+
			"GenerationConfig.ThinkingConfig.ThinkingLevel), %s", thinking.raw("thinkingLevel"))}})
	case hasBudget && budget == 0 && pro:
		return c.either(unable("Thinking can't be disabled for this model. Remove 'thinking_config.thinking_budget' from "+
			"your request and try again.."), invalid("Budget 0 is invalid. This model only works in thinking mode."))
	case hasBudget && budget == 0 && thinking.truth("includeThoughts"):
		return unable("Thinking_config.include_thoughts is only enabled when thinking is enabled..")
	case hasBudget && (budget < -1 || budget > 32768):
		return invalid("The thinking budget %v is invalid. Please choose a value between 128 and 32768.", budget)
	}
	return nil
}
