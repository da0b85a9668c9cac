package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"

	"github.com/punctual-llm/punctual/config"
)

// needs is the credential of a target, as far as it can be told without asking anybody.
type needs struct {
	what    string // "AWS credentials"
	where   string // "env", where one was found
	found   bool
	problem string // what is wrong, if none was found
	next    string
}

func (n needs) String() string {
	switch {
	case !n.found:
		return n.what + " missing"
	case n.where != "":
		return n.what + " set (" + n.where + ")"
	default:
		return n.what + " set"
	}
}

// needsOf looks where the target's library would look. It reads no credential.
func (a *app) needsOf(conf *config.Config, t *config.Target) needs {
	has := func(key string) bool { return conf.Origin("targets."+t.Name+"."+key) != "default" }
	switch {
	case t.Provider == "azure" && has("auth"):
		return needs{what: "Entra ID", where: "asked at the first call", found: true}
	case has("api_key"):
		return needs{what: nameOf(conf, t, "api_key"), found: true}
	case t.Provider == "bedrock" && has("bearer_token"):
		return needs{what: nameOf(conf, t, "bearer_token"), found: true}
	case t.Provider == "bedrock" && has("access_key_id"):
		return needs{what: nameOf(conf, t, "access_key_id"), found: true}
	case t.Provider == "bedrock" && has("profile"):
		return needs{what: "AWS credentials", where: "profile", found: true}
	case t.Provider == "bedrock":
		return a.awsNeeds()
	case t.Provider == "vertex":
		return a.googleNeeds()
	default:
		return needs{what: "no key", found: true}
	}
}

// nameOf is the variable that a credential comes from, or else its key.
func nameOf(conf *config.Config, t *config.Target, key string) string {
	if names := conf.Variables("targets." + t.Name + "." + key); len(names) == 1 {
		return names[0]
	}
	return key
}

func (a *app) awsNeeds() needs {
	n := needs{what: "AWS credentials", found: true}
	home, _ := os.UserHomeDir() // none: then there are no files
	switch {
	case a.getenv("AWS_BEARER_TOKEN_BEDROCK") != "":
		n.where = "AWS_BEARER_TOKEN_BEDROCK"
	case a.getenv("AWS_ACCESS_KEY_ID") != "" && a.getenv("AWS_SECRET_ACCESS_KEY") != "":
		n.where = "env"
	case a.getenv("AWS_PROFILE") != "":
		n.where = "profile " + a.getenv("AWS_PROFILE")
	case a.getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		n.where = "web identity"
	case a.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "", a.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		n.where = "container"
	case isFile(cmp.Or(a.getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))),
		isFile(cmp.Or(a.getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config"))):
		n.where = "file"
	default:
		return needs{
			what: n.what, problem: "no AWS credentials found on this machine.",
			next: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is",
		}
	}
	return n
}

func (a *app) googleNeeds() needs {
	n := needs{what: "Google credentials", found: true}
	file := a.getenv("GOOGLE_APPLICATION_CREDENTIALS")
	switch {
	case file != "" && isFile(file):
		n.where = "GOOGLE_APPLICATION_CREDENTIALS"
	case file != "":
		return needs{
			what: n.what, problem: "GOOGLE_APPLICATION_CREDENTIALS names a file that is not there.",
			next: "correct GOOGLE_APPLICATION_CREDENTIALS, or unset it and run gcloud auth application-default login",
		}
	case isFile(a.gcloudFile()):
		n.where = "gcloud"
	case a.getenv("GCE_METADATA_HOST") != "", a.getenv("K_SERVICE") != "":
		n.where = "service account"
	default:
		return needs{
			what: n.what, problem: "no Google credentials found on this machine.",
			next: "gcloud auth application-default login, or run where a service account is",
		}
	}
	return n
}

// gcloudFile is where gcloud keeps Application Default Credentials.
func (a *app) gcloudFile() string {
	const name = "application_default_credentials.json"
	if dir := a.getenv("CLOUDSDK_CONFIG"); dir != "" {
		return filepath.Join(dir, name)
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(a.getenv("APPDATA"), "gcloud", name)
	}
	home, _ := os.UserHomeDir() // none: then there is no file
	return filepath.Join(home, ".config", "gcloud", name)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
