package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/deadline"
)

func (a *app) check() *cli.Command {
	return &cli.Command{
		Name: "check", CustomHelpTemplate: checkHelp, OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "c"},
			&cli.BoolFlag{Name: "live"},
			&cli.BoolFlag{Name: "json"},
			&cli.BoolFlag{Name: "no-color"},
			&cli.BoolFlag{Name: "v"},
		},
		Action: a.runCheck,
	}
}

func (a *app) runCheck(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() > 0 {
		return usagef("check takes no arguments, but there is %q\nnext: punctual check -c FILE", c.Args().First())
	}
	client, conf, err := a.open(ctx, c.String("c")) // a target that cannot be opened is an error of the file
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := executionTime(ctx)
	if err != nil {
		return err
	}
	r := a.report(conf, client.chain.Status(), a.configPath(c.String("c")), left)
	if c.Bool("json") {
		return a.checkJSON(ctx, c, r, client)
	}
	if _, err := io.WriteString(a.stdout, r.text(c.Bool("v"), a.paint(c, a.terminal))); err != nil {
		return err
	}
	if !c.Bool("live") {
		_, err := io.WriteString(a.stdout, r.verdict()+" Nothing was sent; -live sends one short call to each target.\n")
		return err
	}
	if _, err := io.WriteString(a.stdout, r.verdict()+"\n"); err != nil {
		return err
	}
	return a.showLive(r, a.askEach(ctx, client, r.names))
}

// executionTime is what an execution leaves for calls, 0 if none is declared.
func executionTime(ctx context.Context) (time.Duration, error) {
	ctx, cancel, err := deadline.FromEnv(ctx, nil)
	if err != nil {
		return 0, configf("%s", strings.TrimPrefix(err.Error(), "deadline: "))
	}
	defer cancel()
	if _, ok := deadline.Total(ctx); !ok {
		return 0, nil
	}
	left, _ := deadline.Remaining(ctx)
	return left.Round(time.Second), nil
}

// text is the report for a person.
func (r *report) text(verbose bool, p paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", r.source(), count(len(r.names), "target"), count(len(r.plans), "plan"))
	if n := len(r.conf.Overrides); n > 0 {
		fmt.Fprintf(&b, ", %s replaced by the environment", count(n, "setting"))
	}
	b.WriteString("\n\n")
	r.writePlans(&b)
	b.WriteByte('\n')
	r.writeTargets(&b)
	b.WriteByte('\n')
	r.writeRules(&b)
	if verbose {
		b.WriteByte('\n')
		r.writeOrigins(&b)
	}
	if len(r.warnings) > 0 {
		b.WriteByte('\n')
	}
	for _, w := range r.warnings {
		b.WriteString(p.word(colourNote, "warning:") + strings.TrimPrefix(wrapped("warning: "+w.text, 2), "warning:"))
		if w.next != "" {
			b.WriteString(wrapped("  next: "+w.next, 8))
		}
	}
	return b.String()
}

func (r *report) writePlans(b *strings.Builder) {
	rows := [][]string{{"plan", "limit", "call", "tries", "hang", "targets, in order"}}
	short := false
	mark := func(word string, shortened bool) string {
		if !shortened {
			return word
		}
		short = true
		return word + "<"
	}
	for _, p := range r.plans {
		limit, hang := limitWord(p.plan.Limits.Attempt), "-"
		if p.replaced != nil {
			limit += "*"
		}
		if p.effective.HangCost > 0 {
			hang = mark(limitWord(p.effective.HangCost), p.hangShortened)
		}
		call := mark(callWord(p.effective.Total), p.shortened)
		rows = append(rows, []string{p.name, limit, call, fmt.Sprint(p.effective.Tries), hang, strings.Join(p.targets, " ")})
	}
	writeTable(b, rows, "lrrrrl")
	b.WriteString("  limit: of one attempt.  call: the longest a call can take.  tries: at most.\n")
	b.WriteString("  hang: what a hung first target costs before the next one is asked.\n")
	for _, p := range r.plans {
		if l := p.plan.Limits; l.FirstContent > 0 || l.Idle > 0 {
			fmt.Fprintf(b, "  streams of %s: %s\n", p.name, streamWords(l))
		}
	}
	for _, p := range r.plans {
		if o := p.replaced; o != nil {
			b.WriteString(wrapped(fmt.Sprintf("  * %s=%s replaces %s", o.Variable, o.Value, oldWord(o)), 4))
		}
	}
	if short {
		b.WriteString("  <: shortened to what an execution leaves for calls\n")
	}
}

// oldWord is what a variable replaced.
func oldWord(o *config.Override) string {
	if o.Old == "" {
		return "the default of " + strings.TrimPrefix(o.Path, "plans.")
	}
	return o.Old + " (" + o.OldFrom + ")"
}

func (r *report) writeTargets(b *strings.Builder) {
	rows := [][]string{{"target", "model", "needs"}}
	for _, t := range r.targets {
		rows = append(rows, []string{t.name, t.model, t.needs.String()})
	}
	writeTable(b, rows, "lll")
}

// writeTable aligns columns: those marked r to the right. The last one goes on below itself where it does not fit.
func writeTable(b *strings.Builder, rows [][]string, align string) {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), maxCell(i)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row[:len(row)-1] {
			cell = shorten(cell, maxCell(i))
			if align[i] == 'r' {
				cell = padLeft(cell, widths[i])
			} else {
				cell = pad(cell, widths[i])
			}
			line.WriteString(cell + "  ")
		}
		indent := utf8.RuneCountInString(line.String())
		b.WriteString(wrapped(line.String()+row[len(row)-1], indent))
	}
}

// maxCell is the widest that a column but the last may be: a name, or what names a model.
func maxCell(column int) int {
	if column == 0 {
		return maxName
	}
	return 40
}

// wrapped breaks a text between words at 80 columns, and lets the lines behind the first begin with blanks.
func wrapped(text string, indent int) string {
	const width = 80
	var b strings.Builder
	rest := []rune(text)
	for len(rest) > width {
		at := -1
		for i := indent + 1; i <= width; i++ {
			if rest[i] == ' ' && rest[i-1] != ' ' {
				at = i
			}
		}
		if at < 0 {
			break
		}
		b.WriteString(strings.TrimRight(string(rest[:at]), " ") + "\n")
		rest = append([]rune(strings.Repeat(" ", indent)), []rune(strings.TrimLeft(string(rest[at:]), " "))...)
	}
	b.WriteString(strings.TrimRight(string(rest), " ") + "\n")
	return b.String()
}

// verdict is the last line of a report.
func (r *report) verdict() string {
	if len(r.warnings) == 0 {
		return "ok."
	}
	return "ok with " + count(len(r.warnings), "warning") + "."
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// callWord is how long a call can take: "45s", "1m00s".
func callWord(d time.Duration) string {
	if d < time.Minute {
		return limitWord(d)
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
}

// limitWord is a limit as a file has it: "45s", "67.5s", "3m00s".
func limitWord(d time.Duration) string {
	if d < 100*time.Second {
		return strconv.FormatFloat(d.Round(10*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	}
	return callWord(d)
}
