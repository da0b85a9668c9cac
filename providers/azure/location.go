package azure

import (
	"net/url"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

const chatCompletions = "/chat/completions"

// location is where a deployment is found.
type location struct {
	base       string // what stands before /chat/completions
	deployment string
	version    string
	models     bool // the form of Azure AI
}

// form is what the other side understands.
type form struct {
	azure        bool // Azure's own limits hold
	streamUsage  bool // stream_options
	strictTools  bool // strict in tools
	schemas      bool // JSON schemas as output
	parallel     bool // parallel_tool_calls
	oldMaxTokens bool // max_tokens in place of max_completion_tokens
}

// locate reads an endpoint in any of the forms that [Options] lists.
func locate(o *Options) (*location, error) {
	u, err := parseURL("endpoint", o.Endpoint)
	if err != nil {
		return nil, err
	}
	at := &location{deployment: o.Deployment, version: o.APIVersion}
	if err := at.takeQuery(u); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(at.version, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, llm.Invalid("api_version", "is no version", "write it as 2024-10-21, or leave it out for the v1 path")
	}
	trimPath(u, chatCompletions)
	escaped := u.EscapedPath()
	head, last := cutLast(escaped)
	switch {
	case strings.HasSuffix(head, "/deployments"):
		return at.takeDeployment(u, last)
	case last == "models":
		at.models = true
		at.base = u.String()
	case last == "v1":
		at.base = u.String()
	default:
		trimPath(u, "/openai")
		at.base = u.String() + "/openai"
		if at.version == "" {
			at.base += "/v1"
		} else {
			at.base += "/deployments/" + url.PathEscape(at.deployment)
		}
	}
	return at, nil
}

// takeQuery takes the api-version out of a target URI.
func (at *location) takeQuery(u *url.URL) error {
	query := u.Query()
	inURL := query.Get("api-version")
	query.Del("api-version")
	switch {
	case len(query) > 0:
		return llm.Invalid("endpoint", "has a query other than api-version", "end it with the path")
	case inURL != "" && at.version != "" && inURL != at.version:
		return llm.Invalid("api_version", "is another one than the endpoint has", "set it in one place")
	case inURL != "":
		at.version = inURL
	}
	u.RawQuery, u.ForceQuery = "", false
	return nil
}

// takeDeployment is for an endpoint that names the deployment itself.
func (at *location) takeDeployment(u *url.URL, escaped string) (*location, error) {
	name, err := url.PathUnescape(escaped)
	switch {
	case err != nil || name == "":
		return nil, llm.Invalid("endpoint", "has no deployment after /deployments", "end it with the host")
	case at.deployment != "" && at.deployment != name:
		return nil, llm.Invalid("deployment", "is another one than the endpoint has", "set it in one place")
	}
	at.deployment, at.base = name, u.String()
	return at, nil
}

// form tells what the location understands. Azure refuses members that its api-version does not know.
func (at *location) form(legacyMaxTokens bool) form {
	current := at.models || !older(at.version, "2024-09-01")
	structured := !older(at.version, "2024-08-01")
	return form{
		azure:        true,
		streamUsage:  current,
		strictTools:  structured && !at.models,
		schemas:      structured || at.models,
		parallel:     current && !at.models,
		oldMaxTokens: legacyMaxTokens || at.models || !current,
	}
}

// older compares the dates at the head of two versions. The preview of a date has what the date brought, and a
// version without a date ("preview", "v1", "") is newer than all that have one.
func older(version, date string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9' && version < date
}

func cutLast(path string) (head, last string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}
