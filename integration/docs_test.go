package integration_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// page is docs/simulated-clouds.md.
func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/simulated-clouds.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// blocks are the fenced blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(page(t), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("the page has no block of %s", language)
	}
	return all
}

// faultRow is a row of the table of faults: its form, what it does, and an example.
var faultRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\| `([^`]+)` \\|$")

func TestPageListsTheFaultsThatThereAre(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../internal/cloud/faultparse.go")
	if err != nil {
		t.Fatal(err)
	}
	var forms, names, listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z]\S*)\s{2,}\S`).FindAllStringSubmatch(string(source), -1) {
		forms = append(forms, m[1])
		names = append(names, regexp.MustCompile(`^[a-z-]+`).FindString(m[1]))
	}
	for _, m := range regexp.MustCompile("(?m)^\tcase \"([a-z-]+)\":$").FindAllStringSubmatch(string(source), -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("ParseFault knows %q, its comment does not", m[1])
		}
	}
	for _, m := range faultRow.FindAllStringSubmatch(page(t), -1) {
		listed = append(listed, m[1])
		if _, err := cloud.ParseFault(m[3]); err != nil {
			t.Errorf("the example of %s: %v", m[1], err)
		}
		if name := regexp.MustCompile(`^[a-z-]+`).FindString(m[1]); !strings.Contains(m[3], name) {
			t.Errorf("the example of %s is %s, which is another", m[1], m[3])
		}
	}
	if len(forms) == 0 || !slices.Equal(listed, forms) {
		t.Errorf("the page lists\n%s\nthe comment of ParseFault\n%s", strings.Join(listed, "\n"), strings.Join(forms, "\n"))
	}
	_, err = cloud.ParseFault("explode")
	_, known, _ := strings.Cut(err.Error(), "known are ")
	if got := strings.FieldsFunc(strings.Replace(known, " and ", ", ", 1), func(r rune) bool { return r == ',' || r == ' ' }); !sameWords(got, names) {
		t.Errorf("the message for an unknown fault names %q, the comment of ParseFault %q", got, names)
	}
}

func sameWords(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestPageShowsWhatSimPrints(t *testing.T) {
	t.Parallel()
	s := startSim(t)
	s.stop(t)
	want := "$ punctual sim -listen 127.0.0.1:8080\n" + strings.NewReplacer(
		s.url, "http://127.0.0.1:8080", s.vars["GOOGLE_APPLICATION_CREDENTIALS"], "/tmp/punctual-sim-1234.json",
	).Replace(s.stdout.String())
	if got := blocks(t, "text")[0]; got != want {
		t.Errorf("the page shows\n%s\nsim prints\n%s", got, want)
	}
}

func TestPageShowsARecordingThatSimReplays(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "answer.json")
	text := blocks(t, "json")[0]
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown recording
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	s := startSim(t, "-replay", file)
	resp, body, err := post(s.endpoint(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != shown.Response.Status || body != shown.Response.Body || !strings.Contains(body, `"42"`) {
		t.Errorf("sim replayed %d %s", resp.StatusCode, body)
	}
	s.stop(t)
}

// TestPageShowsAGoTestThatPasses runs the Go block as a package that exists only in the eyes of the compiler.
func TestPageShowsAGoTestThatPasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "page_test.go"), filepath.Join(dir, "overlay.json")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "page", "page_test.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{file: []byte(blocks(t, "go")[0]), overlay: replace} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "page.exe") // a name that runs on every system
	// Built first and run in another folder, as its own does not exist; vet would want it, too.
	run(t, nil, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./page").ends(t, 0)
	p := run(t, nil, binary, "-test.v")
	p.ends(t, 0)
	if !strings.Contains(p.stdout.String(), "--- PASS: TestThrottledThenAnswered") {
		t.Errorf("the test did not run\n%s", p.said())
	}
}

func TestPageShowsTheScriptThatRuns(t *testing.T) {
	t.Parallel()
	for i, example := range examples() {
		data, err := os.ReadFile("js/" + example.script)
		if err != nil {
			t.Fatal(err)
		}
		if got := blocks(t, "js")[i]; got != string(data) {
			t.Errorf("the page shows\n%s\n%s is\n%s", got, example.script, data)
		}
		if got := blocks(t, "text")[1+i]; got != example.output {
			t.Errorf("the page shows the output\n%s\nwant\n%s", got, example.output)
		}
	}
}

// TestPageSaysWhichPathsThereAre asks every path of the table, with nothing else.
func TestPageSaysWhichPathsThereAre(t *testing.T) {
	t.Parallel()
	s := startSim(t)
	cells := regexp.MustCompile("(?m)^\\| ((?:`/\\S+`(?:, )?)+) \\|")
	asked := 0
	for _, row := range cells.FindAllStringSubmatch(page(t), -1) {
		for path := range strings.SplitSeq(row[1], ", ") {
			path = strings.Trim(path, "`")
			path = strings.NewReplacer("NAME", "gpt-4o", "MODEL", "gemini-2.5-flash", "P/", "p/", "L/", "l/", "=…", "="+url.QueryEscape("2024-10-21")).Replace(path)
			resp, _, err := post(s.url+path, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != 401 && resp.StatusCode != 403 { // it is there, and wants a credential
				t.Errorf("%s: status %d, want 401 or 403", path, resp.StatusCode)
			}
			asked++
		}
	}
	if asked != 12 {
		t.Errorf("the page has %d paths, want 12", asked)
	}
	s.stop(t)
}
