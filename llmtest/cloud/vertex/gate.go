package vertex

import (
	"errors"
	"net/http"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// check refuses what the service refuses, in its order: path, credential, body, project, model, fields.
func (s *Server) check(c *call) *refusal {
	for _, test := range []func(*call) *refusal{s.checkPath, s.checkCredential, s.checkBody, s.checkProject, s.checkModel} {
		if no := test(c); no != nil {
			return no
		}
	}
	if s.opts.Lenient {
		return nil
	}
	return c.checkFields()
}

func (s *Server) checkPath(c *call) *refusal {
	switch {
	case c.surface == rpcOther:
		return refuse("UNIMPLEMENTED", "The server does not implement the method %s.", c.x.R.URL.Path) // unverified
	case c.grpc():
		return nil
	case c.surface == nowhere, c.x.R.Method != http.MethodPost:
		return notFoundPage(c.x.R.URL.Path)
	default:
		return nil
	}
}

// checkCredential: the refusals for a missing credential of the Gemini API, and for a key where only tokens are
// taken, are recorded; the others are widely reported.
func (s *Server) checkCredential(c *call) *refusal {
	h := c.x.R.Header
	token, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	token = strings.TrimSpace(token)
	key := h.Get("X-Goog-Api-Key")
	if key == "" {
		key = c.x.R.URL.Query().Get("key")
	}
	const expected = "Expected OAuth 2 access token, login cookie or other valid authentication credential. See " +
		"https://developers.google.com/identity/sign-in/web/devconsole-project."
	switch {
	case bearer && token != "":
		if s.accepts(token, s.opts.Token) {
			return nil
		}
		return refuse("UNAUTHENTICATED", "Request had invalid authentication credentials. "+expected).
			reason("ACCESS_TOKEN_TYPE_UNSUPPORTED", "googleapis.com", c.method())
	case key != "":
		return s.checkKey(c, key)
	case c.surface == gemini:
		return refuse("PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established "+
			"identity). Please use API Key or other form of API consumer identity to call this API.")
	default:
		return refuse("UNAUTHENTICATED", "Request is missing required authentication credential. "+expected).
			reason("CREDENTIALS_MISSING", "googleapis.com", c.method())
	}
}

func (s *Server) checkKey(c *call, key string) *refusal {
	if s.accepts(key, s.opts.APIKey) {
		return nil
	}
	if s.opts.APIKey == "" && c.vertex() {
		return refuse("UNAUTHENTICATED", "API keys are not supported by this API. Expected OAuth2 access token or other "+
			"authentication credentials that assert a principal. See https://cloud.google.com/docs/authentication").
			reason("CREDENTIALS_MISSING", "googleapis.com", c.method())
	}
	const text = "API key not valid. Please pass a valid API key."
	return invalid(text).reason("API_KEY_INVALID", "googleapis.com", map[string]string{"service": c.service()}).
		with("LocalizedMessage", detail{"locale": "en-US", "message": text})
}

// accepts reports whether a credential is the one wanted; without any that is set, all but the empty one are.
func (s *Server) accepts(got, want string) bool {
	if s.opts.Token == "" && s.opts.APIKey == "" {
		return got != ""
	}
	return want != "" && got == want
}

func (c *call) service() string {
	if c.vertex() {
		return "aiplatform.googleapis.com"
	}
	return "generativelanguage.googleapis.com"
}

// method is how the service names what was called.
func (c *call) method() map[string]string {
	method := "GenerateContent"
	if c.stream {
		method = "StreamGenerateContent"
	}
	name := "google.cloud.aiplatform.v1beta1.PredictionService." + method
	if !c.vertex() {
		name = "google.ai.generativelanguage.v1beta.GenerativeService." + method
	}
	return map[string]string{"method": name, "service": c.service()}
}

// checkBody: the text for a long body is widely reported.
func (s *Server) checkBody(c *call) *refusal {
	switch {
	case errors.Is(c.x.BodyErr, cloud.ErrBodyTooLarge):
		return invalid("Request payload size exceeds the limit: %d bytes.", maxBody)
	case c.bad != nil:
		return c.bad
	case c.odd != nil && !s.opts.Lenient:
		return c.odd
	default:
		return nil
	}
}

// checkProject: the refusal is recorded.
func (s *Server) checkProject(c *call) *refusal {
	if c.project == "" || s.opts.Project == "" || c.project == s.opts.Project {
		return nil
	}
	return denied(c.resource)
}

func denied(resource string) *refusal {
	const permission = "aiplatform.endpoints.predict"
	return refuse("PERMISSION_DENIED", "Permission '%s' denied on resource '//aiplatform.googleapis.com/%s' (or it may "+
		"not exist).", permission, resource).
		reason("IAM_PERMISSION_DENIED", "aiplatform.googleapis.com", map[string]string{
			"permission": permission, "resource": resource,
		})
}

// checkModel: a location where a model is not served looks to a client as if there were no such model.
func (s *Server) checkModel(c *call) *refusal {
	elsewhere := c.location != "" && s.opts.Location != "" && c.location != s.opts.Location
	if _, ok := s.opts.Models[c.asked]; (ok || s.opts.Models == nil) && !elsewhere {
		return nil
	}
	return c.noModel()
}

// noModel: the text of Vertex AI for a model is widely reported (a recorded one ends behind "not found"), that of the
// Gemini API is recorded, that for an endpoint is unverified.
func (c *call) noModel() *refusal {
	switch {
	case c.surface == gemini:
		return refuse("NOT_FOUND", "%s is not found for API version v1beta, or is not supported for generateContent. Call "+
			"ModelService.ListModels to see the list of available models and their supported methods.", c.resource)
	case c.tuned():
		return refuse("NOT_FOUND", "Endpoint `%s` not found.", c.resource)
	default:
		return refuse("NOT_FOUND", "Publisher Model `%s` was not found or your project does not have access to it. Please "+
			"ensure you are using a valid model version. For more information, see: "+
			"https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions", c.resource)
	}
}
