package bedrock

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// checkFields refuses a body that the service refuses: for its form first, then for what it says, then for what
// the model makes of it. The first complaint is the only one.
func (c *call) checkFields() *refusal {
	r := &c.body
	return first(
		// The form. The texts are those of the service's model of a request, the order is unverified.
		r.shapeMessages, r.shapeSystem, r.shapeInference, r.shapeTools, r.shapeGuardrail, c.shapeOthers, r.shapeOutput,
		// What it says.
		c.checkMessages, c.checkSystem, c.checkTools, c.checkDocuments, c.checkGuardrail,
		// The model.
		c.checkSupport, c.checkLimits, c.checkClaude, c.checkWindow,
	)
}

// shapeInference: the ranges are documented, the texts are the service's for any number.
func (r *conversation) shapeInference() *refusal {
	f := r.InferenceConfig
	if f == nil {
		return nil
	}
	p := at("inferenceConfig")
	if f.MaxTokens != nil && *f.MaxTokens < 1 {
		return p.field("maxTokens").broken(strconv.FormatInt(*f.MaxTokens, 10), "have value greater than or equal to 1")
	}
	for _, share := range []struct {
		name string
		got  *float64
	}{{"temperature", f.Temperature}, {"topP", f.TopP}} {
		if no := between(p.field(share.name), share.got, 0, 1); no != nil {
			return no
		}
	}
	stops := p.field("stopSequences")
	if n := len(f.StopSequences); n > 2500 {
		return stops.broken(fmt.Sprint(f.StopSequences), "have length less than or equal to 2500")
	}
	for i, stop := range f.StopSequences {
		if stop == "" {
			return stops.item(i).broken("", "have length greater than or equal to 1")
		}
	}
	return nil
}

func between(p place, got *float64, least, most float64) *refusal {
	if got == nil {
		return nil
	}
	text := strconv.FormatFloat(*got, 'g', -1, 64)
	switch {
	case *got < least:
		return p.broken(text, fmt.Sprintf("have value greater than or equal to %v", least))
	case *got > most:
		return p.broken(text, fmt.Sprintf("have value less than or equal to %v", most))
	default:
		return nil
	}
}

func (r *conversation) shapeSystem() *refusal {
	for i, b := range r.System {
		p := at("system").item(i)
		if no := p.cachePoint(b.CachePoint); no != nil {
			return no
		}
	}
	return nil
}

func (p place) cachePoint(c *cachePoint) *refusal {
	if c == nil {
		return nil
	}
	p = p.field("cachePoint")
	return first(
		func() *refusal { return p.field("type").need(c.Type != nil) },
		func() *refusal { return p.field("type").oneOf(c.Type, "default") },
		func() *refusal { return p.field("ttl").oneOf(c.TTL, "5m", "1h") },
	)
}

// The forms of a guardrail's name and version, as documented.
var (
	guardrailID      = regexp.MustCompile(`^([a-z0-9]+|arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+)$`)
	guardrailVersion = regexp.MustCompile(`^([1-9][0-9]{0,7}|DRAFT)$`)
)

func (r *conversation) shapeGuardrail() *refusal {
	g := r.GuardrailConfig
	if g == nil {
		return nil
	}
	p := at("guardrailConfig")
	return first(
		func() *refusal { return p.field("guardrailIdentifier").need(g.GuardrailIdentifier != nil) },
		func() *refusal { return p.field("guardrailVersion").need(g.GuardrailVersion != nil) },
		func() *refusal {
			if guardrailVersion.MatchString(*g.GuardrailVersion) {
				return nil
			}
			return p.field("guardrailVersion").broken(*g.GuardrailVersion,
				"satisfy regular expression pattern: (|([1-9][0-9]{0,7})|(DRAFT))")
		},
		func() *refusal { return p.field("trace").oneOf(g.Trace, "enabled", "disabled", "enabled_full") },
		func() *refusal { return p.field("streamProcessingMode").oneOf(g.StreamProcessingMode, "sync", "async") },
	)
}

// checkGuardrail: the text is reported.
func (c *call) checkGuardrail() *refusal {
	if g := c.body.GuardrailConfig; g != nil && !guardrailID.MatchString(*g.GuardrailIdentifier) {
		return invalid("The provided guardrail identifier is invalid.")
	}
	return nil
}

// shapeOthers looks at what has little to go wrong.
func (c *call) shapeOthers() *refusal {
	r := &c.body
	var performance struct{ Latency *string }
	var tier struct{ Type *string }
	_, _ = json.Unmarshal(r.PerformanceConfig, &performance), json.Unmarshal(r.ServiceTier, &tier)
	return first(
		func() *refusal {
			return at("performanceConfig").field("latency").oneOf(performance.Latency, "standard", "optimized")
		},
		func() *refusal {
			return at("serviceTier").field("type").oneOf(tier.Type, "priority", "default", "flex", "reserved")
		},
		r.shapeMetadata,
		func() *refusal {
			if given(r.AdditionalModelRequestFields) && !isObject(r.AdditionalModelRequestFields) {
				return invalid("The format of the value at additionalModelRequestFields is invalid. Provide a json object for " +
					"the field and try again.")
			}
			return nil
		},
	)
}

// shapeMetadata: the limits are documented.
func (r *conversation) shapeMetadata() *refusal {
	p := at("requestMetadata")
	if n := len(r.RequestMetadata); n > 16 {
		return p.broken(fmt.Sprint(r.RequestMetadata), "have length less than or equal to 16")
	}
	for _, key := range slices.Sorted(maps.Keys(r.RequestMetadata)) {
		if no := p.length(key, 1, 256); no != nil {
			return no
		}
		if no := p.field(key).length(r.RequestMetadata[key], 0, 256); no != nil {
			return no
		}
	}
	return nil
}

// shapeOutput: that the schema is a text, and of which type, is documented.
func (r *conversation) shapeOutput() *refusal {
	if r.OutputConfig == nil || r.OutputConfig.TextFormat == nil {
		return nil
	}
	f, p := r.OutputConfig.TextFormat, at("outputConfig").field("textFormat")
	return first(
		func() *refusal { return p.field("type").need(f.Type != nil) },
		func() *refusal { return p.field("type").oneOf(f.Type, "json_schema") },
		func() *refusal { return p.field("structure").need(f.Structure != nil) },
		func() *refusal {
			if f.Structure.JSONSchema == nil {
				return mustSet("OutputFormatStructure", p.field("structure"), "jsonSchema")
			}
			return p.field("structure").field("jsonSchema").field("schema").need(f.Structure.JSONSchema.Schema != nil)
		},
	)
}

// outputSchema is the schema of the output, nil if there is none.
func (r *conversation) outputSchema() *string {
	if r.OutputConfig == nil || r.OutputConfig.TextFormat == nil {
		return nil
	}
	return r.OutputConfig.TextFormat.Structure.JSONSchema.Schema
}
