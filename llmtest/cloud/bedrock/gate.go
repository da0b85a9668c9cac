package bedrock

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// check refuses what the service refuses, in its order: path, credential, model, body.
func (s *Server) check(c *call) *refusal {
	if no := s.checkPath(c); no != nil || s.opts.Early {
		return no
	}
	for _, test := range []func(*call) *refusal{s.checkCredential, s.checkBody, s.checkModel} {
		if no := test(c); no != nil {
			return no
		}
	}
	if s.opts.Lenient {
		return nil
	}
	return c.checkFields()
}

// checkPath: an id whose slashes are not encoded is reported to be answered like this, with a 200 and before
// any credential is looked at. For other paths and methods that is unverified.
func (s *Server) checkPath(c *call) *refusal {
	if c.served && c.x.R.Method == http.MethodPost {
		return nil
	}
	return &refusal{
		status: http.StatusOK,
		body:   []byte(`{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}`),
	}
}

// checkCredential: the body for a bad token is reported, with its capital M; its exception is unverified.
func (s *Server) checkCredential(c *call) *refusal {
	authorization := c.x.R.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	switch {
	case bearer && slices.Contains(s.opts.Expired, token):
		return except("ExpiredTokenException", "")
	case bearer:
		if s.accepts(token, s.opts.Token) {
			return nil
		}
		no := except("AccessDeniedException", "")
		no.body = []byte(`{"Message":"Authentication failed: Please make sure your API Key is valid."}`)
		return no
	case authorization == "":
		return except("MissingAuthenticationTokenException", "")
	default:
		return s.checkSignature(c)
	}
}

// accepts reports whether a credential is the one wanted; without any that is set, all but the empty one are.
func (s *Server) accepts(got, want string) bool {
	if s.opts.AccessKey == "" && s.opts.Token == "" {
		return got != ""
	}
	return want != "" && got == want
}

// checkBody: that a body which is too large is said to be too long is reported; the texts for one that is no
// JSON, or has values of other types, are those of AWS's other services.
func (s *Server) checkBody(c *call) *refusal {
	if errors.Is(c.x.BodyErr, cloud.ErrBodyTooLarge) {
		return kindFailure(llm.ErrContextTooLong)
	}
	if c.badly == nil {
		return nil
	}
	typ, ok := errors.AsType[*json.UnmarshalTypeError](c.badly)
	switch {
	case !ok:
		return except("SerializationException", "")
	case s.opts.Lenient:
		return nil
	default:
		return wrongType(typ)
	}
}

func wrongType(typ *json.UnmarshalTypeError) *refusal {
	value := strings.ToUpper(strings.Fields(typ.Value)[0]) // "number 1.5"
	wanted := typ.Type.String()
	switch {
	case value == "OBJECT" || value == "ARRAY":
		return except("SerializationException", "Start of structure or map found where not expected.")
	case strings.Contains(wanted, "int"):
		return except("SerializationException", value+"_VALUE can not be converted to an Integer")
	case strings.Contains(wanted, "float"):
		return except("SerializationException", value+"_VALUE can not be converted to a Float")
	case wanted == "string":
		return except("SerializationException", value+"_VALUE can not be converted to a String")
	default:
		return except("SerializationException", "")
	}
}

// checkModel: the text for an unknown id is recorded, that for a model without on-demand throughput is reported
// (its apostrophe is typographic).
func (s *Server) checkModel(c *call) *refusal {
	if s.opts.Models != nil {
		if _, ok := s.opts.Models[c.asked]; ok {
			return nil
		}
		return invalid("The provided model identifier is invalid.")
	}
	switch {
	case !wellFormed(c.asked):
		return invalid("The provided model identifier is invalid.")
	case profilesOnly(c.asked):
		return invalid("Invocation of model ID %s with on-demand throughput isn’t supported. Retry your request with "+
			"the ID or ARN of an inference profile that contains this model.", c.asked)
	default:
		return nil
	}
}
