package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/config"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// report is what a configuration comes to.
type report struct {
	conf     *config.Config
	file     string        // "": the environment alone
	left     time.Duration // of an execution, for calls; 0: none is declared
	names    []string      // of all targets
	models   map[string]llm.ModelRef
	plans    []planRow
	targets  []targetRow
	warnings []warning
}

type planRow struct {
	name          string
	plan          policy.Plan
	targets       []string
	effective     policy.Effective
	shortened     bool             // the call, by the execution's time
	hangShortened bool             // likewise, what a hang costs
	replaced      *config.Override // of the limit, by a variable
}

type targetRow struct {
	name, model string
	needs       needs
}

type warning struct{ text, next string }

// report works a configuration out. It sends nothing.
func (a *app) report(conf *config.Config, status []fallback.Status, file string, left time.Duration) *report {
	r := &report{conf: conf, file: file, left: left, names: targetNames(conf), models: map[string]llm.ModelRef{}}
	for i := range status {
		r.models[status[i].Target] = status[i].Model
	}
	for _, name := range operationNames(conf) {
		r.plans = append(r.plans, r.planRow(name))
	}
	for i := range conf.Targets {
		t := &conf.Targets[i]
		r.targets = append(r.targets, targetRow{t.Name, r.models[t.Name].String(), a.needsOf(conf, t)})
	}
	for _, w := range conf.Warnings {
		r.warnings = append(r.warnings, warning{text: warningWord(&w), next: w.Next})
	}
	r.warnOfPlans()
	r.warnOfTargets()
	return r
}

func (r *report) source() string { return cmp.Or(r.file, "environment") }

func (r *report) planRow(name string) planRow {
	op := llm.Operation(name)
	if name == "default" {
		op = ""
	}
	plan, _ := r.conf.Plans.For(op)
	p := planRow{name: name, plan: plan, targets: plan.Targets}
	if len(p.targets) == 0 {
		p.targets = r.names
	}
	p.effective = plan.Effective(len(p.targets), r.left)
	whole := plan.Effective(len(p.targets), 0)
	p.shortened = p.effective.Total < whole.Total
	p.hangShortened = p.effective.HangCost < whole.HangCost
	for i := range r.conf.Overrides {
		if o := &r.conf.Overrides[i]; o.Path == "plans."+name+".attempt" {
			p.replaced = o
		}
	}
	return p
}

// warningWord is where something looks wrong, and what.
func warningWord(w *config.Warning) string {
	text := w.Text
	for _, part := range []string{w.Path, w.Origin} {
		if part != "" {
			text = part + ": " + text
		}
	}
	return text
}

// origin is a value with where it came from.
type origin struct{ path, value, from string }

// origins are the values that have a default, for each plan and for all of them.
func (r *report) origins() []origin {
	var all []origin
	add := func(path, value string) {
		from := r.conf.Origin(path)
		if from == "default" { // a list is where its first item is
			from = r.conf.Origin(path + "[0]")
		}
		if value != "" {
			all = append(all, origin{path, value, from})
		}
	}
	for _, p := range r.plans {
		path, l := "plans."+p.name+".", p.plan.Limits
		add(path+"attempt", limitWord(l.Attempt))
		add(path+"total", orNothing(l.Total))
		add(path+"connect", orNothing(l.Connect))
		add(path+"first_content", orNothing(l.FirstContent))
		add(path+"idle", orNothing(l.Idle))
		add(path+"targets", strings.Join(p.plan.Targets, " "))
	}
	plan, _ := r.conf.Plans.For("")
	add("retry.max_retries", fmt.Sprint(plan.Retries()))
	add("retry.base", limitWord(cmp.Or(plan.Backoff.Base, time.Second)))
	add("retry.max", limitWord(cmp.Or(plan.Backoff.Max, 10*time.Second)))
	add("retry.jitter", cmp.Or(string(plan.Backoff.Jitter), "+-25 %"))
	add("breaker.threshold", fmt.Sprint(cmp.Or(r.conf.Breaker.Threshold, 3)))
	add("breaker.open_for", limitWord(cmp.Or(r.conf.Breaker.OpenFor, 300*time.Second)))
	add("emergency", fmt.Sprint(r.conf.Emergency))
	for _, t := range r.targets {
		add("targets."+t.name+".provider", t.model)
	}
	return all
}

func orNothing(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return limitWord(d)
}

func (r *report) writeOrigins(b *strings.Builder) {
	rows := [][]string{{"value", "is", "from"}}
	for _, o := range r.origins() {
		rows = append(rows, []string{o.path, o.value, o.from})
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	for _, row := range rows {
		b.WriteString(wrapped(pad(row[0], width)+"  "+pad(shorten(row[1], 24), 24)+"  "+row[2], width+2))
	}
}

// writeRules tells of what holds for all plans.
func (r *report) writeRules(b *strings.Builder) {
	plan, _ := r.conf.Plans.For("")
	switch {
	case r.conf.Emergency:
		b.WriteString("retry    none: emergency mode is on; fallback stays\n")
	case plan.Retries() == 0:
		b.WriteString("retry    none; fallback stays\n")
	default:
		fmt.Fprintf(b, "retry    %d a target, %s x2 up to %s, %s; a server's own wait is kept\n", plan.Retries(),
			limitWord(cmp.Or(plan.Backoff.Base, time.Second)), limitWord(cmp.Or(plan.Backoff.Max, 10*time.Second)),
			jitterWord(plan.Backoff.Jitter))
	}
	threshold := cmp.Or(r.conf.Breaker.Threshold, 3)
	fmt.Fprintf(b, "breaker  opens after %v failures or %v timeouts, for %s; then one probe\n", threshold, 2*threshold,
		strings.TrimSuffix(limitWord(cmp.Or(r.conf.Breaker.OpenFor, 300*time.Second)), "00s"))
	if r.left > 0 {
		fmt.Fprintf(b, "deadline %s for calls (LLM_EXECUTION_TIME_LIMIT_SECONDS less 10s)\n"+
			"         in a program that begins with deadline.FromEnv\n", limitWord(r.left))
	} else {
		b.WriteString("deadline none (LLM_EXECUTION_TIME_LIMIT_SECONDS is not set)\n")
	}
}

func jitterWord(j policy.Jitter) string {
	if j == policy.JitterProportional {
		return "+-25 %"
	}
	return "jitter " + string(j)
}

func streamWords(l llm.Limits) string {
	var words []string
	if l.FirstContent > 0 {
		words = append(words, limitWord(l.FirstContent)+" to first content")
	}
	words = append(words, limitWord(cmp.Or(l.Idle, min(l.Attempt, 30*time.Second)))+" between", "10m in all")
	return strings.Join(words, ", ")
}

// warnOfPlans finds what can be written and cannot work.
func (r *report) warnOfPlans() {
	for _, p := range r.plans {
		if p.shortened {
			r.warn(fmt.Sprintf("plan %s: a call may want %s, and an execution leaves %s", p.name,
				limitWord(p.plan.Total(len(p.targets))), limitWord(r.left)),
				fmt.Sprintf("lower plans.%s.attempt to %s, or raise the execution's limit", p.name, limitWord((r.left/time.Duration(min(max(len(p.targets), 2), 3))).Truncate(time.Second))))
		}
		if late := r.starved(p); len(late) > 0 {
			r.warn(fmt.Sprintf("plan %s: no time is left for %s if those before hang", p.name, strings.Join(late, " ")),
				fmt.Sprintf("raise plans.%s.total, or name fewer targets", p.name))
		}
		r.warnOfNeighbours(p)
		r.warnOfThinkers(p)
	}
}

func (r *report) warn(text, next string) {
	w := warning{text, next}
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// starved are the targets that are never begun when each one before them hangs to the end of its share.
func (r *report) starved(p planRow) []string {
	left := p.effective.Total
	minimum := policy.Minimum(left)
	for i, name := range p.targets {
		if left < minimum {
			return p.targets[i:]
		}
		attempt := p.plan.Limits.Attempt
		if l := r.target(name).Limits.Attempt; l > 0 {
			attempt = min(attempt, l)
		}
		left -= policy.Share(left, attempt, minimum, len(p.targets)-i)
	}
	return nil
}

func (r *report) target(name string) *config.Target {
	if t := r.conf.Target(name); t != nil {
		return t
	}
	return &config.Target{}
}

// warnOfNeighbours: a target that is cooled together with the one before it is no fallback for its throttling.
func (r *report) warnOfNeighbours(p planRow) {
	for i := 1; i < len(p.targets); i++ {
		before, t := r.target(p.targets[i-1]), r.target(p.targets[i])
		if t.QuotaGroup != "" && t.QuotaGroup == before.QuotaGroup && (t.Pool == "" || t.Pool != before.Pool) {
			r.warn(fmt.Sprintf("plan %s: %s and %s share the quota %s, so that one which throttles leaves both alone",
				p.name, before.Name, t.Name, t.QuotaGroup), "put a target with another quota between them")
		}
	}
}

// thinkers are models that think before they write: what they usually take to the first word at the least. A rule of
// thumb, for a warning only.
var thinkers = []struct {
	begin string
	usual time.Duration
}{
	{"o1", 10 * time.Second},
	{"o3", 10 * time.Second},
	{"o4", 8 * time.Second},
	{"gpt-5", 8 * time.Second},
	{"gemini-2.5-pro", 8 * time.Second},
	{"gemini-3-pro", 8 * time.Second},
	{"deepseek-r1", 10 * time.Second},
}

func (r *report) warnOfThinkers(p planRow) {
	limit := p.plan.Limits.FirstContent
	if limit <= 0 {
		return
	}
	for _, name := range p.targets {
		for _, m := range thinkers {
			if strings.HasPrefix(r.models[name].Model, m.begin) && limit < m.usual {
				r.warn(fmt.Sprintf("plan %s: %s often thinks longer than the %s to first content", p.name, name, limitWord(limit)),
					fmt.Sprintf("raise plans.%s.first_content to %s or more", p.name, limitWord(m.usual)))
			}
		}
	}
}

func (r *report) warnOfTargets() {
	for _, t := range r.targets {
		if !t.needs.found {
			r.warn(t.name+": "+t.needs.problem, t.needs.next)
		}
	}
}
