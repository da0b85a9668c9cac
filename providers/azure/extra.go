package azure

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// extraKey is where a request keeps the fields of this package.
const extraKey = "azure"

// Extra holds request fields that only the services of this package know; every [Provider] of it reads them.
// Zero fields are not sent. In a request's JSON it is the object extra.azure, whose members go into the body of
// the call as they are and replace what stands there.
type Extra struct {
	DataSources      json.RawMessage `json:"data_sources,omitempty"`     // Azure OpenAI on your data: a list
	PromptCacheKey   string          `json:"prompt_cache_key,omitempty"` // calls of one key share a cached prefix
	Modalities       []string        `json:"modalities,omitempty"`       // "text", "audio"
	Audio            json.RawMessage `json:"audio,omitempty"`            // voice and format of spoken answers: an object
	ServiceTier      string          `json:"service_tier,omitempty"`     // "auto", "default", "flex", "priority"
	Verbosity        string          `json:"verbosity,omitempty"`        // "low", "medium", "high"
	User             string          `json:"user,omitempty"`
	SafetyIdentifier string          `json:"safety_identifier,omitempty"`
	LogProbs         bool            `json:"logprobs,omitempty"`
	TopLogProbs      int             `json:"top_logprobs,omitempty"`
	PresencePenalty  *float64        `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64        `json:"frequency_penalty,omitempty"`
	LogitBias        map[string]int  `json:"logit_bias,omitempty"`
	Prediction       json.RawMessage `json:"prediction,omitempty"` // what most of the answer will be: an object
	// Store keeps the answer with the provider. Request.Metadata is sent only with it.
	Store bool `json:"store,omitempty"`
	// Fields are further members of the body, such as top_k of vLLM or tools of other types. They go before the
	// fields above; a null keeps a member from being sent. messages, model and stream cannot be set.
	Fields map[string]json.RawMessage `json:"-"`
}

// Set writes e into req and replaces what an earlier Set wrote.
func (e Extra) Set(req *llm.Request) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return llm.Invalid("extra.azure", "holds a value that is no JSON", "check the raw fields")
	}
	if len(e.Fields) > 0 {
		var m members
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		maps.Copy(m, e.Fields)
		if raw, err = json.Marshal(m); err != nil {
			return llm.Invalid("extra.azure", "holds a value that is no JSON", "check Fields")
		}
	}
	if _, err := readExtra(raw); err != nil {
		return err
	}
	// The map may be shared with other requests.
	req.Extra = maps.Clone(req.Extra)
	if req.Extra == nil {
		req.Extra = make(map[string]json.RawMessage, 1)
	}
	req.Extra[extraKey] = raw
	return nil
}

// members are members of a request's body.
type members map[string]json.RawMessage

// reserved names the members that nobody but the request itself sets.
func reserved(name string) bool {
	return slices.Contains([]string{"messages", "model", "stream"}, name)
}

func readExtra(raw json.RawMessage) (members, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, llm.Invalid("extra.azure", "is no JSON object", "write it with azure.Extra.Set")
	}
	for name := range m {
		if reserved(name) {
			return nil, llm.Invalid("extra.azure."+name, "cannot be replaced", "use the fields of the request")
		}
	}
	return m, nil
}

// stores reports whether the answer will be kept, so that metadata is accepted.
func (m members) stores() bool { return string(m["store"]) == "true" }

// merge puts m into an encoded body: over what is there, or only where nothing is. A null removes the member.
func (m members) merge(into members, replace bool) {
	for name, value := range m {
		switch _, there := into[name]; {
		case string(value) == "null":
			delete(into, name)
		case replace || !there:
			into[name] = value
		}
	}
}
