package vertex

import (
	"strconv"
	"strings"
)

// What an effort is in tokens for models that have no levels, and the least of a model that cannot stop thinking.
// https://ai.google.dev/gemini-api/docs/openai and https://ai.google.dev/gemini-api/docs/thinking
var budgets = map[string]int{"none": 0, "low": 1 << 10, "medium": 8 << 10, "high": 24 << 10}

const leastProBudget = 128

// thinking sets how much the model thinks, and asks for summaries of it.
func (e *encoder) thinking() {
	t := e.req.Thinking
	switch {
	case t.MaxTokens > 0:
		e.config.ThinkingConfig = &thinkingConfig{IncludeThoughts: true, ThinkingBudget: new(t.MaxTokens)}
	case t.Effort == "":
	case hasLevels(e.p.model.Model):
		c := &thinkingConfig{IncludeThoughts: t.Effort != "none", ThinkingLevel: strings.ToUpper(t.Effort)}
		if t.Effort == "none" {
			c.ThinkingLevel = "LOW"
			if strings.Contains(e.p.model.Model, "flash") {
				c.ThinkingLevel = "MINIMAL"
			}
			e.warn("changed", "thinking.effort", "this model cannot stop thinking; sent as level "+c.ThinkingLevel)
		}
		e.config.ThinkingConfig = c
	default:
		budget := budgets[t.Effort]
		if t.Effort == "none" && strings.Contains(e.p.model.Model, "pro") {
			budget = leastProBudget
		}
		if budget > 0 {
			e.warn("changed", "thinking.effort", "this model has no levels of thinking; sent as a limit of "+strconv.Itoa(budget)+" tokens")
		}
		e.config.ThinkingConfig = &thinkingConfig{IncludeThoughts: t.Effort != "none", ThinkingBudget: &budget}
	}
}

// hasLevels reports whether a model takes levels of thinking: Gemini 3 and later, and any name that does not say.
func hasLevels(model string) bool {
	major := generation(model)
	return major == 0 || major >= 3
}

// generation is the 3 of gemini-3.1-pro-preview, 0 if a name does not say.
func generation(model string) int {
	_, rest, ok := strings.Cut(model, "gemini-")
	if !ok {
		return 0
	}
	n, digits := 0, 0
	for digits < len(rest) && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9' {
		n = 10*n + int(rest[digits]-'0')
		digits++
	}
	return n
}

// family is what models have in common that read each other's signatures: the generation, or else the name.
func family(model string) string {
	if n := generation(model); n > 0 {
		return "gemini-" + strconv.Itoa(n)
	}
	return model
}
