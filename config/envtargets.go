package config

// The variables that make a provider known without a file.
const (
	envAzureEndpoint   = "AZURE_OPENAI_ENDPOINT"
	envAzureKey        = "AZURE_OPENAI_API_KEY"
	envAzureDeployment = "AZURE_OPENAI_DEPLOYMENT"
	envAzureVersion    = "AZURE_OPENAI_API_VERSION"

	envBedrockModel  = "LLM_BEDROCK_MODEL"
	envRegion        = "AWS_REGION"
	envDefaultRegion = "AWS_DEFAULT_REGION"

	envVertexModel    = "LLM_VERTEX_MODEL"
	envVertexProject  = "GOOGLE_CLOUD_PROJECT"
	envVertexLocation = "GOOGLE_CLOUD_LOCATION"
	envGoogleKey      = "GOOGLE_API_KEY"
	envGeminiKey      = "GEMINI_API_KEY"
)

// noTarget is what is wrong when nothing names a target.
const noTarget = "no target: none of these is set: " + envAzureEndpoint + " | " + envBedrockModel + " + " + envRegion +
	" | " + envVertexModel + " + " + envVertexProject

// environmentTargets makes a target of each provider that the environment names: azure, bedrock, vertex, in this
// order. Credentials that are not here are found by the adapters, as the vendors' own SDKs find them; so are
// endpoints other than Azure's.
func (l *loader) environmentTargets() {
	if l.isSet(envAzureEndpoint) {
		l.environmentTarget("azure", envAzureEndpoint,
			setting{key: "endpoint", from: envAzureEndpoint, required: true}, setting{key: "deployment", from: envAzureDeployment, required: true},
			setting{key: "api_key", from: envAzureKey, required: true, instead: ", write a file with auth: entra"}, setting{key: "api_version", from: envAzureVersion})
	}
	if l.isSet(envBedrockModel) {
		l.environmentTarget("bedrock", envBedrockModel,
			setting{key: "model", from: envBedrockModel, required: true}, setting{key: "region", from: l.first(envRegion, envDefaultRegion), required: true})
	}
	if l.isSet(envVertexModel) {
		key := l.first(envGoogleKey, envGeminiKey)
		withProject := l.isSet(envVertexProject) || !l.isSet(key)
		if withProject {
			key = envGoogleKey // Vertex AI takes no key of the Gemini API
		}
		l.environmentTarget("vertex", envVertexModel,
			setting{key: "model", from: envVertexModel, required: true}, setting{key: "project", from: envVertexProject, required: withProject, instead: " or " + envGeminiKey},
			setting{key: "location", from: envVertexLocation}, setting{key: "api_key", from: key})
	}
	if len(l.config.Targets) == 0 && !l.report.failed() { // another error may be the reason
		at, next := place{}, "next: set them, or write targets: into a file"
		if len(l.files) > 0 { // one without content has no node, and a place all the same
			at = place{src: &source{name: l.files[0]}}
		}
		if n := l.tree.root; n != nil {
			if n.get("targets") != nil {
				next = "next: take the # from a target under targets:, or write one, or set them"
			}
		}
		l.report.add(at, "", noTarget, "", next)
		l.report.problems[len(l.report.problems)-1].noTgt = true
	}
}

func (l *loader) isSet(name string) bool { _, ok := l.env(name); return ok }

// first is the first of the names that is set, or the first name.
func (l *loader) first(names ...string) string {
	for _, name := range names {
		if l.isSet(name) {
			return name
		}
	}
	return names[0]
}

// setting is a key of a target that a variable holds.
type setting struct {
	key, from string
	required  bool
	instead   string // another way than to export it
}

// environmentTarget makes a target of variables; because is the one that asked for it.
func (l *loader) environmentTarget(provider, because string, settings ...setting) {
	path := "targets." + provider
	n := &node{kind: mapKind, at: place{variable: because}}
	complete := true
	for _, s := range settings {
		value, ok := l.env(s.from)
		switch {
		case !ok && s.required:
			complete = false
			l.report.add(place{variable: because}, "", "it is set, but "+s.from+" is not", "", "next: export "+s.from+s.instead+", or unset "+because)
			continue
		case !ok:
			continue
		}
		at := place{variable: s.from}
		n.entries = append(n.entries, entry{key: s.key, at: at, value: &node{kind: stringKind, at: at, text: value, vars: []string{s.from}}})
		l.tree.origin[path+"."+s.key] = at
	}
	if complete {
		l.add(path, n, Target{Name: provider, Provider: provider})
	}
}
