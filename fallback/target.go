package fallback

import (
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// Target is one way to reach a model. Name and Generator are required.
type Target struct {
	Name      string // unique in its chain; what Route, plans and the trail call it
	Generator llm.Generator
	Model     llm.ModelRef
	Tags      []string         // for Route.Tags
	Limits    llm.Limits       // shorten the plan's for this target; Total and Tries are ignored
	Can       llm.Capabilities // what it cannot carry is passed over before anything is sent
	// Prompt: the Generator returns soon after its context ends, as llmtest/conformance proves. Otherwise the
	// chain runs it [llm.Detached], so that the promise holds for code nobody has tested.
	Prompt bool
	Close  func() error // called once, by Chain.Close; nil: nothing to close
}

// Options configures a Chain. The zero value, like nil, means the documented defaults.
type Options struct {
	Plans policy.Plans
}

func checkTargets(targets []Target, plans policy.Plans) error {
	if len(targets) == 0 {
		return llm.Invalid("targets", "is empty", "give at least one target")
	}
	var names []string
	for i := range targets {
		t := &targets[i]
		path := fmt.Sprintf("targets[%d]", i)
		switch {
		case t.Name == "":
			return llm.Invalid(path+".name", "is empty", "give the target a name")
		case slices.Contains(names, t.Name):
			return llm.Invalid(path+".name", fmt.Sprintf("%q is used twice", t.Name), "give each target a name of its own")
		case t.Generator == nil:
			return llm.Invalid(path+".generator", "is nil", "set it to a provider, such as one of azure.New")
		}
		names = append(names, t.Name)
	}
	if err := checkPlan("plans.default", plans.Default, names); err != nil {
		return err
	}
	for op, plan := range plans.Operations {
		if err := checkPlan(fmt.Sprintf("plans.operations[%q]", string(op)), plan, names); err != nil {
			return err
		}
	}
	return nil
}

func checkPlan(path string, p policy.Plan, names []string) error {
	for i, name := range p.Targets {
		switch field := fmt.Sprintf("%s.targets[%d]", path, i); {
		case !slices.Contains(names, name):
			return unknownTarget(field, name, names)
		case slices.Contains(p.Targets[:i], name):
			return llm.Invalid(field, "names a target twice", "name each target once")
		}
	}
	l := p.Limits
	if min(l.Attempt, l.Connect, l.FirstContent, l.Idle, l.Total) < 0 || l.Tries < 0 {
		return llm.Invalid(path+".limits", "has a negative value", "give a positive value, or 0 for the default")
	}
	return nil
}

func unknownTarget(path, name string, names []string) error {
	return llm.Invalid(path, fmt.Sprintf("no target is named %q", name), fmt.Sprintf("there are: %q", names))
}

// lacking returns the first thing of req that a target with these capabilities cannot carry, "" if it can
// carry all of it. Cache points and parallel tool calls are not looked at: they are hints, and without them
// the answer is the same.
func lacking(can *llm.Capabilities, req *llm.Request, streamed bool) string {
	if len(can.Lacks) == 0 {
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
