package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childVariable turns the test binary into a command that a test wants to be run: see children.
const childVariable = "PUNCTUAL_INTEGRATION_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(children()[name]())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := buildFolder(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// children are the commands that the test binary can be; each returns an exit status.
func children() map[string]func() int {
	return map[string]func() int{
		"report": childReport,
		"wait":   childWait,
		"count":  childCount,
		"crash":  childCrash,
		"sdks":   childSDKs,
	}
}

// report is what the child "report" prints.
type report struct {
	Args   []string
	Stdin  string
	Env    map[string]string // variables of the vendors' clients
	Status int               // of one call by these variables
}

const reportStatus = 7

// childReport prints what it was given, makes one call by its variables, and ends with a status of its own.
func childReport() int {
	stdin, _ := io.ReadAll(os.Stdin)
	r := report{Args: os.Args[1:], Stdin: string(stdin), Env: map[string]string{}}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		for _, part := range []string{"OPENAI_", "AWS_", "GOOGLE_", "GEMINI_", "LLM_"} {
			if strings.Contains(name, part) {
				r.Env[name] = value
			}
		}
	}
	url := fmt.Sprintf("%s/openai/deployments/%s/chat/completions?api-version=%s",
		r.Env["AZURE_OPENAI_ENDPOINT"], r.Env["AZURE_OPENAI_DEPLOYMENT"], r.Env["AZURE_OPENAI_API_VERSION"])
	resp, _, err := post(url, r.Env["AZURE_OPENAI_API_KEY"], "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r.Status = resp.StatusCode
	if json.NewEncoder(os.Stdout).Encode(r) != nil {
		return 1
	}
	return reportStatus
}

const waitStatus = 9

// childWait says "ready" and waits to be told to stop; if nobody does, it does not outlive its test for long.
func childWait() int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	fmt.Fprintln(os.Stdout, "ready")
	late := time.NewTimer(2 * patience)
	defer late.Stop()
	select {
	case s := <-told:
		fmt.Fprintln(os.Stdout, "told:", s)
		return waitStatus
	case <-late.C:
		return 1
	}
}

// childCount prints every signal that it is told, and ends with the first SIGTERM.
func childCount() int {
	told := make(chan os.Signal, 8)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	fmt.Fprintln(os.Stdout, "ready")
	late := time.NewTimer(2 * patience)
	defer late.Stop()
	for {
		select {
		case s := <-told:
			fmt.Fprintln(os.Stdout, "told:", s)
			if s == syscall.SIGTERM {
				return waitStatus
			}
		case <-late.C:
			return 1
		}
	}
}

// childCrash dies without a word, by a signal where there are signals.
func childCrash() int {
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.Kill() != nil {
		return 1
	}
	select {}
}

// post asks for one answer with a key and a fault, if it is not "".
func post(url, key, fault string) (resp *http.Response, body string, err error) {
	return postBody(url, key, fault, `{"messages":[{"role":"user","content":"`+prompt+`"}]}`)
}

func postBody(url, key, fault, text string) (resp *http.Response, body string, err error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Api-Key", key)
	if fault != "" {
		req.Header.Set("X-Punctual-Fault", fault)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err = (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp, string(all), err
}

// prompt is what post asks. No log may repeat it.
const prompt = "the-prompt-of-a-test"

// buildFolder is a folder for what the tests build, made when it is first asked for.
var buildFolder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "punctual-integration-") })

// build builds the command, once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "punctual")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", file, "github.com/punctual-llm/punctual/cmd/punctual").CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return file, nil
})

// punctual is the path of the built command.
func punctual(t *testing.T) string {
	t.Helper()
	file, err := build()
	if err != nil {
		t.Fatalf("the command does not build: %v", err)
	}
	return file
}
