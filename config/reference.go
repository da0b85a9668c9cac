package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/punctual-llm/punctual/llm"
)

// Reference is every key and every variable as tables of Markdown, with the keys of these providers. It is the part of
// docs/configuration.md that is made from the types.
func Reference(providers map[string]llm.Factory) string {
	var b strings.Builder
	for _, s := range sections(providers) {
		title := s.path
		if title == "" {
			title = "The top of the file"
		} else {
			title = "`" + title + "`"
			if path, provider, ok := strings.Cut(s.path, " of "); ok {
				title = "`" + path + "` of provider " + provider
			}
		}
		fmt.Fprintf(&b, "### %s\n\n", title)
		if s.doc != "" {
			fmt.Fprintf(&b, "%s\n\n", s.doc)
		}
		b.WriteString("| key | value | default | what it is |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, form(&f), cell(f.def), cell(f.doc))
		}
		b.WriteByte('\n')
	}
	b.WriteString("### Variables\n\n")
	b.WriteString("A variable goes over the file; one that is empty is not set.\n\n| variable | replaces | value |\n|---|---|---|\n")
	b.WriteString("| `LLM_DEFAULT_TIMEOUT`, `LLM_TRIAGE_TIMEOUT`, `LLM_ORCHESTRATION_TIMEOUT`, `LLM_GENERATION_TIMEOUT` | `plans.NAME.attempt` | seconds, as in 30 or 1.5 |\n")
	b.WriteString("| `LLM_<OPERATION>_TIMEOUT` | `plans.NAME.attempt` of any plan of the file; in its name capitals, and `_` for all but letters and digits | seconds |\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.name, v.path, v.doc)
	}
	b.WriteString(furtherDocs)
	return b.String()
}

const furtherDocs = "| `LLM_EXECUTION_TIME_LIMIT_SECONDS` | nothing of the file: the deadline of a whole program, which it reads by `deadline.FromEnv` | seconds |\n" +
	"| `" + EnvOverlay + "` | names the overlay | a word: `prod` for llm.prod.yaml |\n" +
	"| `" + envAzureEndpoint + "`, `" + envAzureKey + "`, `" + envAzureDeployment + "`, `" + envAzureVersion + "` | `targets`, where the file has none: the target azure | the last one may be missing |\n" +
	"| `" + envBedrockModel + "`, `" + envRegion + "` (or `" + envDefaultRegion + "`) | the same: the target bedrock | with the AWS chain of credentials |\n" +
	"| `" + envVertexModel + "`, `" + envVertexProject + "`, `" + envVertexLocation + "` | the same: the target vertex | with Application Default Credentials, or `" + envGoogleKey + "`; `" + envGeminiKey + "` without a project |\n"

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// form is what a value looks like.
func form(f *field) string {
	t := plain(f.typ)
	within := ""
	if f.min != "" {
		within = fmt.Sprintf(", %s to %s", f.min, f.max)
	}
	switch {
	case isDuration(t):
		return "duration" + within
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "list of maps"
	case t.Kind() == reflect.Slice && len(f.enum) > 0:
		return "list of " + words(f.enum)
	case t.Kind() == reflect.Slice:
		return "list"
	case len(f.enum) > 0:
		return words(f.enum)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "map"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "number" + within
	default:
		return "whole number" + within
	}
}

func words(all []string) string {
	quoted := make([]string, 0, len(all))
	for _, w := range all {
		if w != "" {
			quoted = append(quoted, "`"+w+"`")
		}
	}
	return strings.Join(quoted, ", ")
}
