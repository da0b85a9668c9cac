package azure

import (
	"errors"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// check refuses what the service refuses, in its order: path, credential, deployment, body.
func (s *Server) check(c *call) *refusal {
	for _, test := range []func(*call) *refusal{s.checkPath, s.checkCredential, s.checkBody, s.checkModel} {
		if no := test(c); no != nil {
			return no
		}
	}
	if s.opts.Lenient {
		return nil
	}
	return c.checkFields()
}

// notFound is recorded.
func notFound() *refusal {
	return &refusal{
		status: http.StatusNotFound, gate: true,
		body: []byte(`{"error":{"code":"404","message": "Resource not found"}}`),
	}
}

// checkPath: a deployment without api-version, or with one that never was, is reported to be the same 404 as
// an unknown path. For /models and for other methods that is unverified.
func (s *Server) checkPath(c *call) *refusal {
	if c.surface == nowhere {
		return notFound()
	}
	if c.x.R.Method != http.MethodPost {
		if c.azure() {
			return notFound()
		}
		return refuse(http.StatusMethodNotAllowed, "invalid_request_error", "", "method_not_supported",
			"Not allowed to "+c.x.R.Method+" on /v1/chat/completions. (HINT: Perhaps you meant to use a different HTTP method?)")
	}
	if (c.surface == deployments || c.surface == azureAI) && !knownVersion(c.version) {
		return notFound()
	}
	return nil
}

// knownVersion reports whether v is a version of the data plane, which began with 2022-12-01.
func knownVersion(v string) bool {
	ok, _ := regexp.MatchString(`^20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(-preview)?$`, v)
	return ok && v >= "2022-12-01"
}

// checkCredential: the 401 for a wrong key is recorded, that for a missing or wrong token is widely reported.
func (s *Server) checkCredential(c *call) *refusal {
	h := c.x.R.Header
	token, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	token = strings.TrimSpace(token)
	key := h.Get("Api-Key")
	if c.surface == openAI {
		return s.checkOpenAIKey(token)
	}
	switch {
	case key != "":
		if s.accepts(key, s.opts.Key) {
			return nil
		}
		return gateway(http.StatusUnauthorized, "401", "Access denied due to invalid subscription key or wrong API "+
			"endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API "+
			"endpoint for your resource.")
	case bearer && s.accepts(token, s.opts.Token),
		bearer && c.surface == azureV1 && s.accepts(token, s.opts.Key): // v1 takes the key as OpenAI's SDKs send it
		return nil
	}
	return &refusal{status: http.StatusUnauthorized, gate: true, body: marshal(struct {
		StatusCode int    `json:"statusCode"`
		Message    string `json:"message"`
	}{http.StatusUnauthorized, "Unauthorized. Access token is missing, invalid, audience is incorrect " +
		"(https://cognitiveservices.azure.com), or have expired."})}
}

func (s *Server) checkOpenAIKey(token string) *refusal {
	switch {
	case token == "":
		return refuse(http.StatusUnauthorized, "invalid_request_error", "", "",
			"You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "+
				"auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're "+
				"accessing the API from your browser and are prompted for a username and password. You can obtain an API "+
				"key from https://platform.openai.com/account/api-keys.")
	case s.accepts(token, s.opts.Key), s.accepts(token, s.opts.Token):
		return nil
	default:
		return wrongOpenAIKey()
	}
}

// accepts reports whether a credential is the one wanted; without any that is set, all but the empty one are.
func (s *Server) accepts(got, want string) bool {
	if s.opts.Key == "" && s.opts.Token == "" {
		return got != ""
	}
	return want != "" && got == want
}

// checkBody: the message for a body that is no JSON is reported; the other two are unverified.
func (s *Server) checkBody(c *call) *refusal {
	declared := c.x.R.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(declared); err != nil || media != "application/json" {
		return invalid("", "unsupported_content_type", "Unsupported content type: '%s'. This API method only accepts "+
			"'application/json' requests, but you specified the header 'Content-Type: %[1]s'. Please try again with a "+
			"supported content type.", declared)
	}
	if errors.Is(c.x.BodyErr, cloud.ErrBodyTooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "server_error", "", "",
			"Maximum content size limit ("+strconv.Itoa(maxBody)+") exceeded ("+
				strconv.FormatInt(max(c.x.R.ContentLength, maxBody+1), 10)+" bytes read)")
	}
	if c.fields == nil {
		return invalid("", "", "We could not parse the JSON body of your request. (HINT: This likely means you aren't "+
			"using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid "+
			"JSON. If you have trouble figuring out how to fix this, please contact us through our help center at "+
			"help.openai.com.)")
	}
	return nil
}

// checkModel: the 404 of OpenAI is recorded, that of Azure is widely reported.
func (s *Server) checkModel(c *call) *refusal {
	if c.asked == "" {
		return invalid("", "", "you must provide a model parameter")
	}
	if _, ok := s.opts.Deployments[c.asked]; ok || s.opts.Deployments == nil {
		return nil
	}
	if c.azure() {
		return gateway(http.StatusNotFound, "DeploymentNotFound", "The API deployment for this resource does not "+
			"exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.")
	}
	return unknownModel(c.asked)
}
