package bedrock

import (
	"bytes"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// The token limits that stand for an effort, and back. The steps are ours: no maker says how many tokens an effort
// is. Claude wants at least minBudget.
const (
	lowBudget    = 4 << 10
	mediumBudget = 16 << 10
	highBudget   = 32 << 10
	minBudget    = 1 << 10
)

var budgets = map[string]int{"low": lowBudget, "medium": mediumBudget, "high": highBudget}

func effortOf(maxTokens int) string {
	switch {
	case maxTokens <= 2*lowBudget:
		return "low"
	case maxTokens <= mediumBudget+lowBudget:
		return "medium"
	default:
		return "high"
	}
}

// The versions of Claude that brought something.
const (
	claudeCaches   = 35 // cache points
	claudeThinks   = 37 // thinking with budget_tokens
	claudeTakesOne = 41 // temperature or top_p
	claudeSchemas  = 41 // JSON Schema as output
	claudeAdapts   = 46 // adaptive, with an effort
	claudeNoBudget = 47 // adaptive only
)

// thinking asks for thoughts in the way of the model's family.
func (e *encoder) thinking() {
	t := e.req.Thinking
	if t == (llm.Thinking{}) {
		return
	}
	switch e.p.family {
	case claude:
		e.claudeThinking(t)
	case nova2:
		e.novaThinking(t)
	case gptOSS:
		effort := e.effort(t)
		if effort == "none" {
			effort = "low"
			e.warn("changed", "thinking.effort", "the model always thinks; sent as low")
		}
		e.field("reasoning_effort", effort)
	case qwen:
		if effort := e.effort(t); effort != "none" {
			e.field("reasoning_config", effort)
		}
	case moonshot, deepseek:
		e.warn("dropped", "thinking", "the model thinks as it likes")
	default:
		if t.Effort != "none" {
			e.warn("dropped", "thinking", "Bedrock has no such setting for this model; set Options.Family if it has one")
		}
	}
}

func (e *encoder) field(name string, value any) {
	if e.body.ModelFields == nil {
		e.body.ModelFields = make(map[string]any, 1)
	}
	e.body.ModelFields[name] = value
}

// effort is what was asked for as an effort.
func (e *encoder) effort(t llm.Thinking) string {
	if t.MaxTokens == 0 {
		return t.Effort
	}
	effort := effortOf(t.MaxTokens)
	e.warn("changed", "thinking.max_tokens", "the model has no limit of tokens for thinking; sent as effort "+effort)
	return effort
}

func (e *encoder) claudeThinking(t llm.Thinking) {
	version := claudeOf(e.p.model.Model)
	switch {
	case t.Effort == "none": // it is off unless it is asked for
		return
	case version != 0 && version < claudeThinks:
		e.warn("dropped", "thinking", "this model does not think")
		return
	case e.req.ToolChoice.Mode == llm.ToolRequired || e.req.ToolChoice.Mode == llm.ToolNamed:
		e.warn("dropped", "thinking", "Claude does not think before a call that it must make")
		return
	}
	if version >= claudeNoBudget || version >= claudeAdapts && t.MaxTokens == 0 {
		if e.body.OutputConfig == nil {
			e.body.OutputConfig = new(outputConfig)
		}
		e.body.OutputConfig.Effort = e.effort(t)
		e.field("thinking", map[string]any{"type": "adaptive"})
		e.unsettle("Claude takes no temperature and no top_p while it thinks")
		return
	}
	if e.callsWithoutThought() {
		e.warn("dropped", "thinking", "Claude refuses to think in the middle of a turn that began without a thought")
		return
	}
	budget := t.MaxTokens
	if budget == 0 {
		budget = budgets[t.Effort]
	}
	if fit := e.fitBudget(budget); fit == 0 {
		e.warn("dropped", "thinking", "max_tokens leaves no room for it")
		return
	} else if fit != budget {
		budget = fit
		e.warn("changed", "thinking", "limited to "+itoa(budget)+" tokens")
	}
	e.field("thinking", map[string]any{"type": "enabled", "budget_tokens": budget})
	e.unsettle("Claude takes no temperature and no top_p while it thinks")
}

// callsWithoutThought reports whether the last turn of the assistant has calls and does not begin with a thought, as
// one of another model does: "Expected `thinking` or `redacted_thinking`, but found `tool_use`".
func (e *encoder) callsWithoutThought() bool {
	for i := len(e.body.Messages) - 1; i >= 0; i-- {
		if m := &e.body.Messages[i]; m.Role == "assistant" {
			calls := slices.ContainsFunc(m.Content, func(c any) bool { return has(c, "toolUse") })
			return calls && !has(m.Content[0], "reasoningContent")
		}
	}
	return false
}

// has reports whether a block of content has a member. Blocks that were kept as they came are raw.
func has(content any, member string) bool {
	raw, err := marshal(content)
	return err == nil && bytes.HasPrefix(raw, []byte(`{"`+member+`":`))
}

// fitBudget puts a budget between Claude's minimum and what MaxTokens, which counts thoughts too, leaves; 0 if there
// is no room.
func (e *encoder) fitBudget(budget int) int {
	if limit := e.req.MaxTokens; limit > 0 && budget >= limit {
		if limit <= minBudget {
			return 0
		}
		budget = limit / 2
	}
	budget = max(budget, minBudget)
	if limit := e.req.MaxTokens; limit > 0 && budget >= limit {
		return 0
	}
	return budget
}

func (e *encoder) novaThinking(t llm.Thinking) {
	effort := e.effort(t)
	if effort == "none" {
		e.field("reasoningConfig", map[string]any{"type": "disabled"})
		return
	}
	e.field("reasoningConfig", map[string]any{"type": "enabled", "maxReasoningEffort": effort})
	if i := e.body.InferenceConfig; effort == "high" && i != nil {
		if i.MaxTokens != 0 {
			i.MaxTokens = 0
			e.warn("dropped", "max_tokens", "Nova takes no limit while it thinks hard")
		}
		e.unsettle("Nova takes no temperature and no top_p while it thinks hard")
	}
}

// unsettle drops temperature and top_p, which a thinking model refuses.
func (e *encoder) unsettle(why string) {
	i := e.body.InferenceConfig
	if i == nil {
		return
	}
	if i.Temperature != nil && *i.Temperature != 1 {
		i.Temperature = nil
		e.warn("dropped", "temperature", why)
	}
	if i.TopP != nil && *i.TopP < 0.95 {
		i.TopP = nil
		e.warn("dropped", "top_p", why)
	}
	if i.MaxTokens == 0 && i.Temperature == nil && i.TopP == nil && len(i.Stop) == 0 {
		e.body.InferenceConfig = nil
	}
}
