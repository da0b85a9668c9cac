package conformance

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// goroutines counts the goroutines that one case started. Cases run in parallel, so it cannot compare all
// goroutines of the process: it puts a profiler label on the goroutine of the case, which every goroutine
// started from there inherits.
type goroutines struct {
	ctx   context.Context //nolint:containedctx // carries the label, for code that sets labels by context
	label string          // as the profile prints it
}

const labelKey = "conformance"

// settleTime is how long goroutines may take to end after the call that they belong to.
const settleTime = 2 * time.Second

// countGoroutines labels the calling goroutine. It must be the one that runs the case. The name must be one
// that no other case has.
func countGoroutines(ctx context.Context, name string) *goroutines {
	ctx = pprof.WithLabels(context.WithoutCancel(ctx), pprof.Labels(labelKey, name))
	pprof.SetGoroutineLabels(ctx)
	return &goroutines{ctx: ctx, label: fmt.Sprintf("%q:%q", labelKey, name)}
}

// settle waits until at most extra goroutines of the case are left and returns "", or the stacks of those
// that stay. A look stops the world and prints every goroutine of the process, so it looks ever more seldom.
func (g *goroutines) settle(extra int) string {
	end := time.NewTimer(settleTime)
	defer end.Stop()
	pause := time.Millisecond
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-end.C:
			_, stacks := g.count()
			return stacks
		}
		if n, _ := g.count(); n <= extra {
			return ""
		}
		pause *= 2
		again.Reset(pause)
	}
}

// running is how many goroutines of the case there are besides its own.
func (g *goroutines) running() int {
	n, _ := g.count()
	return n
}

// count reads the goroutine profile: records like "2 @ 0x… 0x…", a line of labels, a line a frame. It leaves
// the goroutine out that calls it, which is the case's own.
func (g *goroutines) count() (n int, stacks string) {
	n = -1 // the caller
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0, ""
	}
	var ours []string
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(record, "# labels: ") || !strings.Contains(record, g.label) {
			continue
		}
		number, _, _ := strings.Cut(record[strings.LastIndex(record[:strings.Index(record, " @ ")], "\n")+1:], " @ ")
		if same, err := strconv.Atoi(number); err == nil {
			n += same
		}
		ours = append(ours, record)
	}
	return n, strings.Join(ours, "\n\n")
}

// goroutineID is the number of the calling goroutine.
func goroutineID() string {
	buf := make([]byte, 64)
	head := string(buf[:runtime.Stack(buf, false)])
	id, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	return id
}
