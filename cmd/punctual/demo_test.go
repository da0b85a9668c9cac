package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/breaker"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
)

// demoTime is the longest that the demo may take: it is interrupted then, which no test of a whole demo takes
// for success.
const demoTime = 20 * time.Second

// measured is a time that the demo has measured, and barCells a run of equal cells.
var (
	measured = regexp.MustCompile(`\d+\.\d+ s`)
	barCells = regexp.MustCompile(`##+|==+|\.\.+|  +`)
)

// normalised replaces what differs from run to run: measured times, the lengths of bars, and whether there was
// a heartbeat. Times in headings are promises, and stay.
func normalised(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.Contains(line, ": no end yet, "):
			continue
		case strings.HasPrefix(line, "  ") && strings.Count(line, "|") == 2:
			name, rest, _ := strings.Cut(line, "|")
			bar, rest, _ := strings.Cut(rest, "|")
			bar = barCells.ReplaceAllStringFunc(bar, func(run string) string { return run[:1] })
			line = name + "|" + bar + "|" + rest
			fallthrough
		case strings.Contains(line, "server: "), strings.HasPrefix(line, "  -> "), strings.Contains(line, " calls in "), strings.Contains(line, "  open, "):
			line = measured.ReplaceAllString(line, "N s")
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestDemo runs the demo twice at once, for people and for programs, and before it waits for its turn: the demo
// takes its time, and nothing else.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), demoTime)
	defer cancel()
	var demos sync.WaitGroup
	run := func(ended *demoEnd, args ...string) {
		demos.Go(func() {
			ended.status, ended.stdout, ended.stderr = command(ctx, map[string]string{"NO_COLOR": "1"}, "", args...)
		})
	}
	var text, lines demoEnd
	run(&text, "demo")
	run(&lines, "demo", "-json")
	t.Parallel()
	demos.Wait()
	for _, ended := range []demoEnd{text, lines} {
		if ended.status != 0 || ended.stderr != "" {
			t.Errorf("exit status %d, %s", ended.status, ended.stderr)
		}
	}
	checkDemoText(t, text.stdout)
	checkDemoLines(t, lines.stdout)
}

// demoEnd is how a run of the demo ended.
type demoEnd struct {
	status         int
	stdout, stderr string
}

func checkDemoText(t *testing.T, stdout string) {
	t.Helper()
	golden(t, "demo.txt", normalised(stdout))
	if !regexp.MustCompile(`(?m)^  azure: no end yet, 2\.\d\d s of 4\.50 s$`).MatchString(stdout) {
		t.Errorf("the call that hangs for 4.5 s has no heartbeat:\n%s", stdout)
	}
	for line := range strings.Lines(stdout) {
		if len(strings.TrimRight(line, "\n")) > 80 || strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("too long, or not plain: %q", line)
		}
	}
}

// TestREADMEShowsTheDemo: what the README shows is a part of what the demo prints.
func TestREADMEShowsTheDemo(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/demo.txt")
	if err != nil {
		t.Fatal(err)
	}
	indent := regexp.MustCompile(`(?m)^ +`) // how far a row is set in is no matter of content
	all := indent.ReplaceAllString(string(want), " ")
	blocks := regexp.MustCompile("(?ms)^```text\n(\\d  .*?)^```$").FindAllStringSubmatch(string(readme), -1)
	for _, block := range blocks {
		if shown := indent.ReplaceAllString(normalised(block[1]), " "); !strings.Contains(all, shown) {
			t.Errorf("the README shows\n%s\nwhich is not in\n%s", shown, want)
		}
	}
	if len(blocks) < 2 {
		t.Errorf("the README shows %d calls", len(blocks))
	}
}

// demoLine is a line of `demo -json` as somebody else would read it: an attempt or the end of a call.
type demoLine struct {
	Call    int
	Attempt *struct {
		Target      string
		Start       time.Time
		Took        string
		Kind, Bound string
		Status      int
	}
	Server *struct {
		N        int
		At, Took string
		Path     string
		Stream   bool
		Status   int
		Gone     bool
	}
	Limit, Took, Kind string
	Late              bool
	Faults            []string
	Skipped           []struct{ Target, Why, For string }
	Targets           []struct {
		Target, Breaker, Cooled string
		Score                   float64
	}
}

func seconds(t *testing.T, text string) time.Duration {
	t.Helper()
	if text == "" { // nothing
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// demoWay is how a call of the demo has to go: its attempts and what was passed over, and the breaker of azure
// afterwards.
type demoWay struct {
	attempts, skipped string
	kind, breaker     string
	score             float64
}

func demoWays() []demoWay {
	const all, rest, open = "azure timeout, bedrock rate_limited, vertex ", "azure timeout, vertex ", "azure open, bedrock cooling"
	three := demoWay{rest, "bedrock cooling", "", "open", 3}
	return []demoWay{
		{all, "", "", "closed", 0.5},
		{rest, "bedrock cooling", "", "closed", 1},
		{all, "", "", "closed", 1.5},
		three, three, three,
		{"vertex ", open, "", "open", 3},
		{"vertex unavailable, vertex ", open, "", "open", 3},
		{"azure timeout, bedrock timeout, vertex deadline_exceeded", "", "deadline_exceeded", "closed", 0},
	}
}

// checkDemoLines works out anew, from the lines alone, what the demo claims: that each attempt of the client is
// one request of its server, with the same status, the same end and the same times, that no limit was overrun,
// and that every target was asked or passed over as the text says.
func checkDemoLines(t *testing.T, stdout string) {
	t.Helper()
	var attempts []demoLine // of the call that is being read
	var epoch time.Time
	requests := map[string]int{} // of each account: the last call has others than the rest
	ways, ended := demoWays(), 0
	for line := range strings.Lines(stdout) {
		var l demoLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Attempt == nil {
			if ended == len(ways) {
				t.Fatalf("more than %d calls", ended)
			}
			checkCall(t, &l, attempts, ways[ended])
			ended++
			attempts = nil
			continue
		}
		if epoch.IsZero() {
			epoch = l.Attempt.Start
		}
		if l.Call == 7 && len(attempts) == 0 {
			clear(requests)
		}
		attempts = append(attempts, l)
		checkAttempt(t, l, requests)
		if apart := l.Attempt.Start.Sub(epoch) - seconds(t, l.Server.At); apart.Abs() > slack {
			t.Errorf("call %d, %s: began %s apart", l.Call, l.Attempt.Target, apart)
		}
	}
	if ended != len(ways) {
		t.Errorf("%d calls, want %d", ended, len(ways))
	}
}

// checkCall compares a call with the way it had to go.
func checkCall(t *testing.T, call *demoLine, attempts []demoLine, want demoWay) {
	t.Helper()
	var asked, skipped []string
	var end time.Time
	for _, l := range attempts {
		if l.Call != call.Call || l.Attempt.Start.Before(end) {
			t.Errorf("call %d: an attempt of call %d at %s, the one before ended at %s", call.Call, l.Call, l.Attempt.Start, end)
		}
		end = l.Attempt.Start.Add(seconds(t, l.Attempt.Took))
		asked = append(asked, l.Attempt.Target+" "+l.Attempt.Kind)
	}
	for _, s := range call.Skipped {
		skipped = append(skipped, s.Target+" "+s.Why)
		if seconds(t, s.For) <= 0 {
			t.Errorf("call %d: %s is passed over for %q", call.Call, s.Target, s.For)
		}
	}
	azure := call.Targets[0]
	got := demoWay{strings.Join(asked, ", "), strings.Join(skipped, ", "), call.Kind, azure.Breaker, azure.Score}
	if got != want || call.Late || len(call.Faults) > 0 || azure.Target != "azure" {
		t.Errorf("call %d went\n%+v, want\n%+v; late: %t, %q", call.Call, got, want, call.Late, call.Faults)
	}
	if over := seconds(t, call.Took) - seconds(t, call.Limit); over > slack {
		t.Errorf("call %d ran %s past its limit", call.Call, over)
	}
}

// demoPaths are where the paths of the three wires begin.
var demoPaths = map[string]string{
	"azure":   "/openai/deployments/gpt-4o/chat/completions",
	"bedrock": "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
	"vertex":  "/v1beta1/projects/simulated-project/locations/global/publishers/google/models/gemini-2.5-flash:",
}

// checkAttempt compares an attempt with its request.
func checkAttempt(t *testing.T, l demoLine, requests map[string]int) {
	t.Helper()
	a, r := l.Attempt, l.Server
	if r == nil {
		t.Fatalf("call %d, %s has no request", l.Call, a.Target)
	}
	requests[a.Target]++
	status, cut := a.Status, a.Bound != ""
	if a.Kind == "" {
		status = 200
	}
	switch {
	case r.N != requests[a.Target], !strings.HasPrefix(r.Path, demoPaths[a.Target]), r.Stream != (l.Call == 3 || l.Call == 7): // the last is watched
		t.Errorf("call %d, %s: it is request %d, want %d: %+v", l.Call, a.Target, r.N, requests[a.Target], r)
	case r.Status != status, r.Gone != cut, cut && r.Status != 0:
		t.Errorf("call %d, %s: the client has %d (cut: %t), the server %d (gone: %t)", l.Call, a.Target, status, cut, r.Status, r.Gone)
	case (seconds(t, a.Took) - seconds(t, r.Took)).Abs() > slack:
		t.Errorf("call %d, %s: the client waited %s, the server worked %s", l.Call, a.Target, a.Took, r.Took)
	}
}

// screen is standard output that can be waited for.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.want != "" && strings.Count(s.text.String(), s.want) >= 3 {
		s.want = ""
		close(s.seen)
	}
	return len(p), nil
}

// rows are what is on the screen in the end, each row with what was written over it.
func rows(text string) (last []string) {
	for row := range strings.SplitSeq(text, "\n") {
		var cells []rune
		for written := range strings.SplitSeq(row, "\r") {
			over := []rune(written)
			cells = append(over, cells[min(len(over), len(cells)):]...)
		}
		last = append(last, strings.TrimRight(string(cells), " "))
	}
	return last
}

// TestDemoInterruptedOnATerminal: the row of the wait grows, and Ctrl-C leaves the trail in its place.
func TestDemoInterruptedOnATerminal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"demo"}, {"demo", "-json"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			asJSON := len(args) > 1
			out := &screen{want: "\r  azure: no end yet, 0.", seen: make(chan struct{})}
			var errOut bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: out, stderr: &errOut, getenv: func(string) string { return "" }, terminal: true}
			ctx, cancel := context.WithTimeout(t.Context(), demoTime)
			defer cancel()
			var interrupted time.Time
			timer := time.AfterFunc(500*time.Millisecond, func() { // with -json nothing tells how far it is
				if asJSON {
					close(out.seen)
				}
			})
			defer timer.Stop()
			var waiting sync.WaitGroup
			waiting.Go(func() {
				select {
				case <-out.seen:
					interrupted = time.Now()
					cancel()
				case <-ctx.Done():
				}
			})
			status := a.run(ctx, args)
			cancel()
			waiting.Wait()
			took := time.Since(interrupted)
			if status != exitInterrupted || errOut.String() != "punctual: interrupted\n" {
				t.Errorf("exit status %d, %q", status, errOut.String())
			}
			if took > time.Second { // the attempt would have gone on for longer
				t.Errorf("it took %s to end", took)
			} else if took > 200*time.Millisecond {
				t.Logf("it took %s to end, on a busy machine", took)
			}
			text := out.text.String()
			if asJSON {
				var l demoLine
				if err := json.Unmarshal([]byte(text), &l); err != nil || l.Call != 1 || l.Attempt.Kind != "canceled" || l.Server != nil {
					t.Errorf("%v: %q", err, text)
				}
				return
			}
			last := rows(escapes.ReplaceAllString(text, ""))
			if n := len(last); n < 3 || !regexp.MustCompile(`^  azure \|#+ *\| 0\.\d\d s  canceled$`).MatchString(last[n-2]) {
				t.Errorf("the trail so far is missing:\n%s", strings.Join(last, "\n"))
			}
			if strings.Contains(strings.Join(last, "\n"), "no end yet") {
				t.Errorf("the row of the wait is left over:\n%s", strings.Join(last, "\n"))
			}
		})
	}
}

// TestDemoNoticesWhatIsNotAsPromised: the demo is a self-test, so it has to be able to fail.
func TestDemoNoticesWhatIsNotAsPromised(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	epoch := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	good := func() *outcomeOf {
		o := &outcomeOf{resp: &llm.Response{Usage: llm.Usage{Output: 38}}, took: 910 * ms}
		o.trail = trailOf(
			llm.Attempt{Target: "azure", Took: 500 * ms, Kind: llm.ErrTimeout, Bound: llm.BoundAttempt},
			llm.Attempt{Target: "bedrock", Took: 10 * ms, Kind: llm.ErrRateLimited, Status: 429},
			llm.Attempt{Target: "vertex", Took: 400 * ms},
		)
		o.logs = []cloud.Request{
			{N: 1, Took: 500 * ms, Gone: true},
			{N: 1, Time: 500 * ms, Took: 9 * ms, Status: 429},
			{N: 1, Time: 510 * ms, Took: 399 * ms, Status: 200},
		}
		return o
	}
	tests := []struct {
		name string
		bend func(*outcomeOf, *fallback.Status)
		want string // the fault; "": none
		late int
	}{
		{"as promised", func(*outcomeOf, *fallback.Status) {}, "", 0},
		{"late within the slack", func(o *outcomeOf, _ *fallback.Status) { o.took = limit + slack }, "", 0},
		{"an overrun", func(o *outcomeOf, _ *fallback.Status) { o.took = limit + 600*ms }, "ran 0.60 s past its limit of 1.00 s", 1},
		{"no answer", func(o *outcomeOf, _ *fallback.Status) {
			o.resp, o.err = nil, &llm.Error{Kind: llm.ErrUnavailable}
		}, "ended with unavailable instead of an answer", 0},
		{"another status", func(o *outcomeOf, _ *fallback.Status) { o.logs[1].Status = 503 }, "is told in two ways: bedrock: the client tells of status 429, the server of 503", 0},
		{"an answer that the server did not give", func(o *outcomeOf, _ *fallback.Status) { o.logs[2].Status = 0 }, "is told in two ways: vertex: the client tells of status 200, the server of 0", 0},
		{"a cut that the server did not see", func(o *outcomeOf, _ *fallback.Status) { o.logs[0].Gone = false }, "is told in two ways: azure: cut by the client: true, seen by the server: false", 0},
		{"a client that left by itself", func(o *outcomeOf, _ *fallback.Status) { o.logs[2].Gone = true }, "is told in two ways: vertex: cut by the client: false, seen by the server: true", 0},
		{"another time", func(o *outcomeOf, _ *fallback.Status) { o.logs[2].Took = 900 * ms }, "is told in two ways: vertex: the client waited 0.40 s, the server worked 0.90 s", 0},
		{"another order", func(o *outcomeOf, _ *fallback.Status) { o.logs[2].Time = 0 }, "is told in two ways: vertex: the client began at 0.51 s, the server at 0.00 s", 0},
		{"a target that was not left alone", func(o *outcomeOf, _ *fallback.Status) {
			o.skipped = []llm.Skip{{Target: "bedrock", Why: llm.SkipCooling}}
			o.trail, o.logs = slices.Delete(o.trail, 1, 2), slices.Delete(o.logs, 1, 2)
		}, "went azure timeout, bedrock cooling, vertex answered instead of azure timeout, bedrock rate_limited, vertex answered", 0},
		{"another state of the breaker", func(_ *outcomeOf, azure *fallback.Status) {
			azure.State, azure.Score = breaker.Open, 3
		}, "leaves azure's breaker open at 3 instead of closed at 0.5", 0},
	}
	for _, tt := range tests {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			d := &demonstration{app: &app{stdout: &out}, json: asJSON, start: epoch, table: map[string]*tally{}}
			c := demoCall{
				request: &llm.Request{}, limit: limit, breaker: "closed at 0.5",
				rows:    []string{"azure timeout", "bedrock rate_limited", "vertex answered"},
				verdict: func(*demonstration, *outcomeOf) string { return "well done" },
			}
			at := &side{accounts: []*simulated{{name: "azure"}, {name: "bedrock"}, {name: "vertex"}}, counted: true}
			azure, bent := fallback.Status{Target: "azure", State: breaker.Closed, Score: 0.5}, good()
			tt.bend(bent, &azure)
			targets := []fallback.Status{azure}
			if err := d.judge(7, c, at, targets, []*outcomeOf{good(), bent}); err != nil {
				t.Fatal(err)
			}
			err := d.close(targets)
			if tt.want == "" {
				if err != nil || !asJSON && !strings.Contains(out.String(), "well done") {
					t.Errorf("%s: %v\n%s", tt.name, err, out.String())
				}
				continue
			}
			if exit, ok := errors.AsType[*statusError](err); !ok || exit.status != exitFailed || !strings.Contains(exit.text, "\n  call 7 "+tt.want+"\nnext: ") {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
			if !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "well done") || d.late != tt.late {
				t.Errorf("%s: %d late, printed\n%s", tt.name, d.late, out.String())
			}
		}
	}
}
