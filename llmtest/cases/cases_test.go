// Package cases_test plays fault cases through the whole stack: client, chain, breakers, the real adapters, and fake
// servers on loopback that do what providers were reported to do.
package cases_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/given"
)

func TestMain(m *testing.M) {
	// What a user may have set: the SDK of AWS would repeat by itself.
	_ = os.Setenv("AWS_MAX_ATTEMPTS", "5")
	_ = os.Setenv("AWS_RETRY_MODE", "standard")
	_ = os.Unsetenv("AWS_BEARER_TOKEN_BEDROCK")
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// slack is what max_ms and the other times that must not be passed are multiplied by: PUNCTUAL_SLACK, or 1.25, or 3
// with the race detector.
var slack = func() float64 {
	if f, err := strconv.ParseFloat(os.Getenv("PUNCTUAL_SLACK"), 64); err == nil && f >= 1 {
		return f
	}
	if raceEnabled {
		return 3
	}
	return 1.25
}()

func slacken(d time.Duration) time.Duration { return time.Duration(slack * float64(d)) }

// verdict is what came of one case.
type verdict struct {
	c        *faultCase
	seen     []*observation
	findings []finding
	skipped  []string
	stall    time.Duration // the machine stood still meanwhile
}

func (v *verdict) passed() bool { return len(v.findings) == 0 }

// only reports whether there are findings, and all of one kind.
func (v *verdict) only(kind findingKind) bool {
	return !v.passed() && !slices.ContainsFunc(v.findings, func(f finding) bool { return f.kind != kind })
}

// byChoice reports whether the case says itself that something else may be right, and nothing worse was found.
func (v *verdict) byChoice() bool { return !v.c.firm() && v.only(differs) }

func (v *verdict) String() string {
	var b strings.Builder
	b.WriteString(v.c.Symptom)
	for _, f := range v.findings {
		b.WriteString("\n\t" + f.text)
	}
	return b.String()
}

func TestCases(t *testing.T) {
	cases := loadCases(t)
	verdicts := playAll(t.Context(), cases)
	t.Run("the runner notices changes", func(t *testing.T) { checkRunner(t, verdicts) })
	report(t, verdicts)
}

// report prints what came of all cases, and the closing line.
func report(t *testing.T, verdicts []*verdict) {
	t.Helper()
	passed, failed, choices := 0, 0, 0
	for _, v := range verdicts {
		for _, s := range v.skipped {
			fmt.Printf("not played: %s %s\n", v.c.ID, s)
		}
	}
	for _, v := range verdicts {
		switch {
		case v.passed():
			passed++
		case v.byChoice():
			choices++
			fmt.Printf("not firm, and our choice is another: %s: %s\n", v.c.ID, v)
		default:
			failed++
			t.Errorf("%s: %s", v.c.ID, v)
			fmt.Println("FAILED:", v.c.ID)
		}
	}
	if choices > 0 {
		fmt.Printf("%d passed, %d failed, %d otherwise by choice\n", passed, failed, choices)
	} else {
		fmt.Printf("%d passed, %d failed\n", passed, failed)
	}
}

// again is how often a case is played alone after the machine had stood still.
const again = 3

// playAll plays the cases, some of them at once. One that failed while the machine stood still, or that was only too
// late, is played again, alone: nothing is learnt from times that nobody kept.
func playAll(ctx context.Context, cases []*faultCase) []*verdict {
	ctx, cancel := context.WithCancel(ctx)
	var machine stalls
	var group, watching sync.WaitGroup
	watching.Go(func() { machine.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	verdicts := make([]*verdict, len(cases))
	for i, c := range cases {
		if c.crowded() {
			verdicts[i] = playCase(ctx, c, &machine)
		}
	}
	next := make(chan int)
	workers := 8 * runtime.GOMAXPROCS(0) // they wait most of the time
	if raceEnabled {
		workers = runtime.GOMAXPROCS(0)
	}
	for range workers {
		group.Go(func() {
			for i := range next {
				verdicts[i] = playCase(ctx, cases[i], &machine)
			}
		})
	}
	for i := range cases {
		if verdicts[i] == nil {
			next <- i
		}
	}
	close(next)
	group.Wait()
	for i, v := range verdicts {
		for range again {
			if v.passed() || v.stall == 0 && !v.only(late) {
				break
			}
			fmt.Printf("once more, alone (the machine had stood still for %v): %s: %s\n", v.stall.Round(time.Millisecond), v.c.ID, v)
			v = playCase(ctx, v.c, &machine)
			verdicts[i] = v
		}
	}
	return verdicts
}

// crowded reports whether the case needs the machine for itself: so many calls at once leave no time for others.
func (c *faultCase) crowded() bool { return c.Call.Parallel >= 20 }

// playCase plays a case in all its variants.
func playCase(ctx context.Context, c *faultCase, machine *stalls) *verdict {
	v := &verdict{c: c}
	from := time.Now()
	defer func() { v.stall = machine.longest(from, time.Now()) }()
	if c.broken != nil {
		v.findings = []finding{{c.broken.Error(), fatal}}
		return v
	}
	variants, skipped := c.variants()
	for name, why := range skipped {
		v.skipped = append(v.skipped, name+": it has "+why)
	}
	for _, variant := range variants {
		o, findings := play(ctx, c, variant)
		if o != nil {
			v.seen = append(v.seen, o)
		}
		for _, f := range findings {
			f.text = variant.String() + ": " + f.text
			v.findings = append(v.findings, f)
		}
	}
	return v
}

// loadCases reads the file of cases, or skips the test.
func loadCases(t *testing.T) []*faultCase {
	t.Helper()
	file := given.Find(t, "cases", "PUNCTUAL_CASES", "../shared/cases/public-reports.jsonl")
	data, err := os.ReadFile(file.Path)
	var all []*faultCase
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, max(1, len(data)+1))
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			all = append(all, parseCase(slices.Clone(line)))
		}
	}
	file.Check(t, len(all), err)
	return all
}
