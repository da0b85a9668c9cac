package bedrock

import (
	"encoding/json"
	"slices"
	"strings"
)

// assessment is what a guardrail says of one text.
type assessment struct {
	Topic struct {
		Topics []finding
	} `json:"topicPolicy"`
	Content struct {
		Filters []finding
	} `json:"contentPolicy"`
	Word struct {
		CustomWords      []finding
		ManagedWordLists []finding
	} `json:"wordPolicy"`
	Sensitive struct {
		PIIEntities []finding `json:"piiEntities"`
		Regexes     []finding
	} `json:"sensitiveInformationPolicy"`
	Grounding struct {
		Filters []finding
	} `json:"contextualGroundingPolicy"`
}

// finding is one of its reasons. What was found (match) is left out: it quotes the text.
type finding struct {
	Type, Name, Action, Confidence string
}

// maxTrace bounds the traces that are read. They quote what they found.
const maxTrace = 1 << 20

// filteredBy names what a guardrail found, from the trace of an answer: "VIOLENCE (high)", "topic finance".
func filteredBy(trace json.RawMessage) []string {
	var t struct {
		Guardrail struct {
			Input  map[string]assessment   `json:"inputAssessment"`
			Output map[string][]assessment `json:"outputAssessments"`
		}
	}
	if len(trace) == 0 || len(trace) > maxTrace || tolerate(json.Unmarshal(trace, &t)) != nil {
		return nil
	}
	var found []string
	for _, a := range t.Guardrail.Input {
		found = append(found, a.names()...)
	}
	for _, list := range t.Guardrail.Output {
		for _, a := range list {
			found = append(found, a.names()...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (a *assessment) names() []string {
	var found []string
	add := func(list []finding, name func(finding) string) {
		for _, f := range list {
			if f.Action != "" && f.Action != "NONE" {
				found = append(found, name(f))
			}
		}
	}
	byType := func(f finding) string {
		if c := strings.ToLower(f.Confidence); c != "" && c != "none" {
			return f.Type + " (" + c + ")"
		}
		return f.Type
	}
	add(a.Topic.Topics, func(f finding) string { return "topic " + f.Name })
	add(a.Content.Filters, byType)
	add(a.Word.CustomWords, func(finding) string { return "word" })
	add(a.Word.ManagedWordLists, byType)
	add(a.Sensitive.PIIEntities, byType)
	add(a.Sensitive.Regexes, func(f finding) string { return "pattern " + f.Name })
	add(a.Grounding.Filters, byType)
	return found
}

// routedTo is the model that a prompt router chose, "" without one.
func routedTo(trace json.RawMessage) string {
	if len(trace) == 0 {
		return ""
	}
	var t struct {
		Router struct {
			Model string `json:"invokedModelId"`
		} `json:"promptRouter"`
	}
	_ = json.Unmarshal(trace, &t) // what can be read is read
	return t.Router.Model
}
