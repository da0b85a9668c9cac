package vertex

import (
	"net/url"
	"os"
	"strings"

	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/llm"
)

// The addresses of Google.
const (
	vertexHost = "aiplatform.googleapis.com"
	geminiBase = "https://generativelanguage.googleapis.com"
)

// locate finds the service that the options mean.
func locate(o *Options) (*gemini.Settings, error) {
	s := &gemini.Settings{
		Project: o.Project, Location: o.Location, Model: o.Model, APIKey: o.APIKey, HTTP: o.HTTP,
		Version: "v1beta1",
	}
	switch {
	case o.Project != "":
	case o.APIKey == "":
		return nil, llm.Invalid("project", "is empty", "give the id of the Google Cloud project, or an api_key")
	case o.Location != "":
		s.Form = gemini.FormExpress
	default:
		s.Form, s.Version = gemini.FormGemini, "v1beta"
	}
	if s.Location == "" {
		s.Location = "global"
	}
	if err := checkNames(s); err != nil {
		return nil, err
	}
	address, source := endpointOf(o, s.Form)
	if address == "" {
		s.Base = googleBase(s)
		return s, nil
	}
	s.Custom = true
	return s, endpoint(s, address, source)
}

// endpointOf is the address to ask in place of Google's, and where it was found, for the text of an error.
func endpointOf(o *Options, form gemini.Form) (address, source string) {
	if o.Endpoint != "" {
		return o.Endpoint, ""
	}
	name := "GOOGLE_VERTEX_BASE_URL"
	if form == gemini.FormGemini {
		name = "GOOGLE_GEMINI_BASE_URL"
	}
	return os.Getenv(name), "of " + name + " "
}

// googleBase is Google's own address for a form and a location. A key is taken at the global one.
func googleBase(s *gemini.Settings) string {
	switch {
	case s.Form == gemini.FormGemini:
		return geminiBase
	case s.Location == "global" || s.Form == gemini.FormExpress:
		return "https://" + vertexHost
	case s.Location == "us" || s.Location == "eu":
		return "https://aiplatform." + s.Location + ".rep.googleapis.com"
	default:
		return "https://" + s.Location + "-" + vertexHost
	}
}

// checkNames refuses what would end up somewhere else in an address.
func checkNames(s *gemini.Settings) error {
	switch {
	case !isWord(s.Project, ":.") || hasDotSegment(s.Project):
		return llm.Invalid("project", "is no id of a project", "give the id, such as my-project-123")
	case !isWord(s.Location, ""):
		return llm.Invalid("location", "is no location", `give a region such as europe-west4, "us", "eu" or "global"`)
	case s.Model == "":
		return llm.Invalid("model", "is empty", "give a name such as gemini-2.5-flash")
	case !isWord(s.Model, "/.@:") || strings.Contains(s.Model, "..") || hasDotSegment(s.Model) || strings.HasPrefix(s.Model, "/"):
		return llm.Invalid("model", "is no name of a model", "give a name such as gemini-2.5-flash, or projects/…/endpoints/…")
	default:
		return nil
	}
}

func hasDotSegment(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// isWord reports whether name has nothing but letters, digits, - and _, and what is in more.
func isWord(name, more string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' &&
			!strings.ContainsRune(more, r)
	})
}

// endpoint reads the address of a gateway.
func endpoint(s *gemini.Settings, value, source string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return llm.Invalid("endpoint", source+"is no http or https address", "write it as https://HOST/PATH")
	case u.User != nil:
		return llm.Invalid("endpoint", source+"holds a user or password", "use api_key or a source of tokens")
	case u.RawQuery != "" || u.Fragment != "":
		return llm.Invalid("endpoint", source+"has a query or a fragment", "end it with the path")
	}
	base := u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	if head, last, ok := cutLast(base); ok && isVersion(last) {
		base, s.Version = head, last
	}
	s.Base = base
	return nil
}

func cutLast(s string) (head, last string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// isVersion knows v1, v1beta, v1beta1, v2alpha and their like.
func isVersion(s string) bool {
	rest, ok := strings.CutPrefix(s, "v")
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return false
	}
	rest = strings.TrimLeft(rest, "0123456789")
	for _, stage := range []string{"alpha", "beta"} {
		rest = strings.TrimPrefix(rest, stage)
	}
	return strings.Trim(rest, "0123456789") == ""
}
