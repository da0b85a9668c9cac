package fallback

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Target is one way to reach a model. Name and Generator are required.
type Target struct {
	Name      string // unique in its chain; what Route, plans and the trail call it
	Generator llm.Generator
	// Model is who answers, for the trail and for Route.Prefer; where it is not set the chain learns it from
	// the target's first answer.
	Model llm.ModelRef
	// Pool: targets of one pool are one position, that of the first of them, and lie there in an order that
	// is drawn by Weight for each call; calls of one Session draw the same. "": alone.
	Pool       string
	Weight     int              // in its Pool; 0 is 1
	QuotaGroup string           // targets that share a quota are left alone together when one is throttled; "": alone
	Tags       []string         // for Route.Tags
	Limits     llm.Limits       // shorten the plan's for this target; Total and Tries are ignored
	Can        llm.Capabilities // what it cannot carry is passed over before anything is sent
	// Prompt: the Generator returns soon after its context ends, as llmtest/conformance proves. Otherwise the
	// chain runs it [llm.Detached], so that the promise holds for code nobody has tested.
	Prompt bool
	// Fingerprint is of the target's settings. A chain that takes over from another keeps breaker, cool-down,
	// retry tokens and generator of the targets whose name and fingerprint are the same.
	Fingerprint string
	// Close is called once, by Chain.Close, or when a chain has taken over without this target and the last
	// call on it has ended, and that call does not wait for it; nil: nothing to close.
	Close func() error
}

// Options configures a Chain. The zero value, like nil, means the documented defaults.
type Options struct {
	Plans    policy.Plans
	Breakers *breaker.Set // nil: Prev's, or else a set of its own with the documented defaults
	// Emergency switches retries and hedges off, while fallback stays. SetEmergency overrules it.
	Emergency bool
	// RetryTokens is the bucket of each target, shared by all calls: 0 is 100, negative means no limit.
	RetryTokens int
	// Prev is the chain that this one takes over from. Breakers, cool-downs, retry tokens and generators of
	// the targets that stay (the same Name and Fingerprint) move to this chain, and the Generator and Close
	// given for them here are not used: they may be nil. Calls under way end on Prev; new ones on Prev run on
	// this chain. Prev must not have been closed or replaced.
	Prev *Chain
}

func check(targets []Target, o *Options) error {
	if len(targets) == 0 {
		return llm.Invalid("targets", "is empty", "give at least one target")
	}
	if o.Prev != nil && o.Prev.running.Load() < 0 {
		return llm.Invalid("prev", "is closed, or another chain has taken over from it", "give the chain in use, or none")
	}
	var names []string
	for i := range targets {
		t := &targets[i]
		if err := checkTarget(fmt.Sprintf("targets[%d]", i), t, names, o.Prev); err != nil {
			return err
		}
		names = append(names, t.Name)
	}
	if err := checkPlan("plans.default", &o.Plans.Default, names); err != nil {
		return err
	}
	for op, plan := range o.Plans.Operations {
		if err := checkPlan(fmt.Sprintf("plans.operations[%q]", string(op)), &plan, names); err != nil {
			return err
		}
	}
	return nil
}

func checkTarget(path string, t *Target, names []string, prev *Chain) error {
	switch {
	case t.Name == "":
		return llm.Invalid(path+".name", "is empty", "give the target a name")
	case slices.Contains(names, t.Name):
		return llm.Invalid(path+".name", fmt.Sprintf("%q is used twice", t.Name), "give each target a name of its own")
	case t.Generator == nil && prev.stateOf(t) == nil:
		return llm.Invalid(path+".generator", "is nil", "set it to a provider, such as one of azure.New")
	case t.Weight < 0:
		return llm.Invalid(path+".weight", "is negative", "give a positive weight, or 0 for 1")
	case t.Weight > math.MaxInt32: // their sum does not overflow
		return llm.Invalid(path+".weight", "is above 2147483647", "only the ratio within a pool counts: give smaller ones")
	}
	return checkLimits(path+".limits", t.Limits)
}

func checkLimits(path string, l llm.Limits) error {
	if min(l.Attempt, l.Connect, l.FirstContent, l.Idle, l.Total) < 0 || l.Tries < 0 {
		return llm.Invalid(path, "has a negative value", "give a positive value, or 0 for the default")
	}
	return nil
}

func checkPlan(path string, p *policy.Plan, names []string) error {
	for i, name := range p.Targets {
		switch field := fmt.Sprintf("%s.targets[%d]", path, i); {
		case !slices.Contains(names, name):
			return unknownTarget(field, name, names)
		case slices.Contains(p.Targets[:i], name):
			return llm.Invalid(field, "names a target twice", "name each target once")
		}
	}
	switch {
	case p.MaxRetries < policy.NoRetries:
		return llm.Invalid(path+".max_retries", "is below -1", "give a number of retries, 0 for the default of 3, or policy.NoRetries")
	case p.Backoff.Base < 0, p.Backoff.Max < 0:
		return llm.Invalid(path+".backoff", "has a negative value", "give a positive value, or 0 for the default")
	case !slices.Contains([]policy.Jitter{
		policy.JitterProportional, policy.JitterFull, policy.JitterDecorrelated, policy.JitterNone,
	}, p.Backoff.Jitter):
		return llm.Invalid(path+".backoff.jitter", "is no jitter", `give "full", "decorrelated", "none", or nothing for ±25 %`)
	case !slices.Contains([]policy.Watch{policy.WatchAuto, policy.WatchOn, policy.WatchOff}, p.Watch):
		return llm.Invalid(path+".watch", "is no way to watch", `give "on", "off", or nothing to decide for each attempt`)
	case !(p.Hedge.Share >= 0 && p.Hedge.Share <= 1): // NaN, too
		return llm.Invalid(path+".hedge.share", "is not between 0 and 1", "0.05 hedges one call in twenty")
	}
	for i, k := range p.FallbackOn {
		if k == "" || k == llm.ErrCanceled || k == llm.ErrDeadlineExceeded {
			return llm.Invalid(fmt.Sprintf("%s.fallback_on[%d]", path, i), "is no failure of a target",
				"name kinds such as llm.ErrContentFiltered")
		}
	}
	return checkLimits(path+".limits", p.Limits)
}

func unknownTarget(path, name string, names []string) error {
	return llm.Invalid(path, fmt.Sprintf("no target is named %q", name), fmt.Sprintf("there are: %q", names))
}

// lacking returns the first thing of req that a target with these capabilities cannot carry, "" if it can
// carry all of it. Cache points and parallel tool calls are not looked at: they are hints, and without them
// the answer is the same.
func lacking(can *llm.Capabilities, req *llm.Request, streamed bool) string {
	switch {
	case can.MaxOutput > 0 && req.MaxTokens > can.MaxOutput:
		return "max_tokens"
	case can.ContextWindow > 0 && leastTokens(req) > can.ContextWindow:
		return "messages"
	case len(can.Lacks) == 0:
		return ""
	}
	lacks := func(what string, needed bool) bool { return needed && slices.Contains(can.Lacks, what) }
	switch {
	case lacks("stream", streamed):
		return "stream"
	case lacks("tools", len(req.Tools) > 0):
		return "tools"
	case lacks("tool_choice", req.ToolChoice.Mode != llm.ToolAuto):
		return "tool_choice"
	case lacks("json_schema", req.Output != nil && len(req.Output.JSON) > 0):
		return "json_schema"
	case lacks("thinking", req.Thinking != (llm.Thinking{}) && req.Thinking.Effort != "none"):
		return "thinking"
	case lacks("seed", req.Seed != nil):
		return "seed"
	case lacks("stop", len(req.Stop) > 0):
		return "stop"
	}
	return lackingMedia(can, req)
}

func lackingMedia(can *llm.Capabilities, req *llm.Request) string {
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			if m, ok := p.(llm.Media); ok && slices.Contains(can.Lacks, mediaClass(m.MediaType)) {
				return mediaClass(m.MediaType)
			}
		}
	}
	return ""
}

// mediaClass is the word of Capabilities.Lacks for a media type.
func mediaClass(mediaType string) string {
	class, _, _ := strings.Cut(mediaType, "/")
	switch class {
	case "image", "audio", "video":
		return class
	default:
		return "document"
	}
}

// leastTokens is a low estimate of what the texts of a request come to: prose has four bytes a token, and no
// tokenizer reaches eight over a whole text. A guess must not refuse what would have fitted.
func leastTokens(req *llm.Request) int {
	size := len(req.System)
	for i := range req.Messages {
		for _, p := range req.Messages[i].Parts {
			switch p := p.(type) {
			case llm.Text:
				size += len(p.Text)
			case llm.ToolCall:
				size += len(p.Arguments)
			case llm.ToolResult:
				for _, inner := range p.Parts {
					if t, ok := inner.(llm.Text); ok {
						size += len(t.Text)
					}
				}
			default: // what media and signatures come to depends on the model
			}
		}
	}
	return size / 8
}
