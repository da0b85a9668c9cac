package bedrock

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// Extra holds request fields that only Bedrock knows. Zero fields are not sent. In a request's JSON it is the object
// extra.bedrock: members of Converse's own (serviceTier, toolConfig …) are merged into the body of the call, as
// a JSON merge patch: objects member by member, everything else replaces what stands there, null removes it. Any
// other member is a parameter of the model and goes into additionalModelRequestFields.
type Extra struct {
	ServiceTier string     // "default", "flex", "priority", "reserved"
	Latency     string     // "standard" or "optimized"
	Guardrail   *Guardrail // in place of the one in [Options]
	// Citations asks for citations of every document; they come as [Citations].
	Citations bool
	// ModelFields are parameters of the model, top_k or thinking say: additionalModelRequestFields.
	ModelFields map[string]any
	// ResponseFields are JSON pointers to fields of the model's own answer; they come in a part of type
	// [FieldsType].
	ResponseFields []string
	// PromptVariables fill in a prompt of Prompt management, whose ARN is the model.
	PromptVariables map[string]string
	// Fields are further members of the body, for what this version does not know. messages and modelId cannot be set.
	Fields map[string]json.RawMessage
}

// Set writes e into req and replaces what an earlier Set wrote.
func (e Extra) Set(req *llm.Request) error {
	m := make(map[string]any, 8)
	put := func(name string, value any, is bool) {
		if is {
			m[name] = value
		}
	}
	put("serviceTier", map[string]string{"type": e.ServiceTier}, e.ServiceTier != "")
	put("performanceConfig", map[string]string{"latency": e.Latency}, e.Latency != "")
	put("guardrailConfig", e.Guardrail, e.Guardrail != nil)
	put(citationsKey, true, e.Citations)
	put("additionalModelRequestFields", e.ModelFields, len(e.ModelFields) > 0)
	put("additionalModelResponseFieldPaths", e.ResponseFields, len(e.ResponseFields) > 0)
	variables := make(map[string]any, len(e.PromptVariables))
	for name, value := range e.PromptVariables {
		variables[name] = map[string]string{"text": value}
	}
	put("promptVariables", variables, len(variables) > 0)
	for name, value := range e.Fields {
		m[name] = value
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return llm.Invalid("extra.bedrock", "holds a value that is no JSON", "check ModelFields and Fields")
	}
	if err := e.Guardrail.check("extra.bedrock.guardrailConfig"); err != nil {
		return err
	}
	if _, err := readExtra(raw); err != nil {
		return err
	}
	// The map may be shared with other requests.
	req.Extra = maps.Clone(req.Extra)
	if req.Extra == nil {
		req.Extra = make(map[string]json.RawMessage, 1)
	}
	req.Extra[providerName] = raw
	return nil
}

// citationsKey is the one member of extra.bedrock that is not Converse's.
const citationsKey = "citations"

// converse are the members of the body that a request may patch.
var converse = []string{
	"additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig", "inferenceConfig", "outputConfig",
	"performanceConfig", "promptVariables", "requestMetadata", "serviceTier", "system", "toolConfig",
}

// extra is what a request's Extra comes to.
type extra struct {
	patch     members
	citations bool
}

// members are members of a JSON object.
type members map[string]json.RawMessage

func readExtra(raw json.RawMessage) (extra, error) {
	var x extra
	if len(raw) == 0 {
		return x, nil
	}
	var all members
	if err := json.Unmarshal(raw, &all); err != nil {
		return x, llm.Invalid("extra.bedrock", "is no JSON object", "write it with bedrock.Extra.Set")
	}
	model := members{}
	x.patch = make(members, len(all))
	for name, value := range all {
		switch {
		case name == "messages" || name == "modelId":
			return x, llm.Invalid("extra.bedrock."+name, "cannot be replaced", "use the fields of the request")
		case name == citationsKey:
			if err := json.Unmarshal(value, &x.citations); err != nil {
				return x, llm.Invalid("extra.bedrock."+name, "is not true or false", "write it with bedrock.Extra.Set")
			}
		case slices.Contains(converse, name):
			x.patch[name] = value
		default:
			model[name] = value
		}
	}
	if len(model) > 0 {
		fields, err := json.Marshal(model)
		if err != nil {
			return x, err
		}
		x.patch["additionalModelRequestFields"] = merge(fields, x.patch["additionalModelRequestFields"])
	}
	return x, nil
}

// merge applies a JSON merge patch (RFC 7396) to a value; an empty patch changes nothing. Numbers keep their digits.
func merge(value, patch json.RawMessage) json.RawMessage {
	var changes, object members
	if len(patch) == 0 {
		return value
	}
	if !isObject(patch) || json.Unmarshal(patch, &changes) != nil {
		return patch
	}
	if !isObject(value) || json.Unmarshal(value, &object) != nil {
		object = make(members, len(changes))
	}
	for name, change := range changes {
		if string(change) == "null" {
			delete(object, name)
		} else {
			object[name] = merge(object[name], change)
		}
	}
	merged, err := marshal(object)
	if err != nil { // what was decoded can be encoded
		return patch
	}
	return merged
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
