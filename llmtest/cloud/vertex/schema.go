package vertex

import (
	"slices"
	"strconv"
	"strings"
)

// schema checks one schema of the OpenAPI kind; those of JSON Schema pass. Keywords that the service does not know are
// unknown names, which are refused before. The texts of the Gemini API are widely reported. Of those of Vertex AI, the
// ones for a missing type and for any_of are reported, and the others are taken to be the Gemini API's.
type schema struct {
	call     *call
	path     string
	what     string
	function string
	place    []string
}

func (s *schema) check(m message) *refusal {
	if m == nil {
		return nil
	}
	for _, test := range []func(message) *refusal{s.checkUnion, s.checkType, s.checkEnum, s.checkRequired} {
		if no := test(m); no != nil {
			return no
		}
	}
	for _, e := range m.entries("properties") {
		if no := s.below(".properties["+e.key+"]", e.key).check(e.value); no != nil {
			return no
		}
	}
	if m.has("items") {
		if no := s.below(".items", "items").check(m.message("items")); no != nil {
			return no
		}
	}
	for i, one := range m.list("anyOf").messages() {
		n := strconv.Itoa(i)
		if no := s.below(".any_of["+n+"]", "any_of["+n+"]").check(one); no != nil {
			return no
		}
	}
	return nil
}

// below is the check of a schema within this one.
func (s *schema) below(path, place string) *schema {
	in := *s
	in.path += path
	in.place = append(slices.Clone(s.place), place)
	return &in
}

// vertex is a refusal in the words of Vertex AI.
func (s *schema) vertex(problem string) *refusal {
	if s.function == "" {
		return unable("one or more response schemas %s", problem)
	}
	return invalid("Unable to submit request because `%s` functionDeclaration `%s` schema %s Learn more: %s", s.function,
		strings.Join(append([]string{"parameters"}, s.place...), "."), problem, learnFunctions)
}

// checkUnion: Vertex AI takes any_of alone, the model's older generations at least.
func (s *schema) checkUnion(m message) *refusal {
	if !s.call.vertex() || !m.has("anyOf") || len(m) == 1 || s.call.signs() {
		return nil
	}
	return s.vertex("specified other fields alongside any_of. When using any_of, it must be the only field set.")
}

func (s *schema) checkType(m message) *refusal {
	kind := m.text("type")
	switch {
	case kind == "" && !m.has("anyOf") && !m.has("ref") && s.call.vertex():
		return s.vertex("didn't specify the schema type field.")
	case kind == "ARRAY" && !m.has("items"):
		return fault(s.path+".items", "missing field.")
	case kind != "OBJECT" && kind != "" && m.has("required"):
		return fault(s.path+".required", "only allowed for OBJECT type")
	case kind != "OBJECT" && kind != "" && m.has("properties"):
		return fault(s.path+".properties", "only allowed for OBJECT type")
	default:
		return nil
	}
}

func (s *schema) checkEnum(m message) *refusal {
	values := m.list("enum").texts()
	if kind := m.text("type"); len(values) > 0 && kind != "STRING" && kind != "" && !s.call.vertex() {
		return fault(s.path+".enum", "only allowed for STRING type")
	}
	if i := slices.Index(values, ""); i >= 0 {
		return fault(s.path+".enum["+strconv.Itoa(i)+"]", "cannot be empty")
	}
	return nil
}

func (s *schema) checkRequired(m message) *refusal {
	if m.text("type") != "OBJECT" {
		return nil
	}
	for i, name := range m.list("required").texts() {
		if !slices.ContainsFunc(m.entries("properties"), func(e entry) bool { return e.key == name }) {
			return fault(s.path+".required["+strconv.Itoa(i)+"]", "property is not defined")
		}
	}
	return nil
}
