package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
)

// check looks at what several settings mean together.
func (l *loader) check(f *File) {
	l.checkPlanTargets(f)
	l.checkRetry(f)
	l.checkOnceForAll(f)
	l.checkPlans(f)
	l.warnPlans(f)
	l.warnTargets(f)
}

func (l *loader) targetNames() []string {
	all := make([]string, 0, len(l.config.Targets))
	for i := range l.config.Targets {
		if name := l.config.Targets[i].Name; name != "" {
			all = append(all, name)
		}
	}
	return all
}

// checkPlanTargets holds the names in plans to the targets that there are.
func (l *loader) checkPlanTargets(f *File) {
	known := l.targetNames()
	for plan := range f.Plans {
		path := "plans." + plan + ".targets"
		n := l.tree.find(path)
		if n == nil || n.broken || n.kind != listKind {
			continue
		}
		if len(n.items) == 0 {
			l.report.add(n.at, path, "the list is empty, so no target could be asked", "leave the key out for all targets", "")
		}
		var before []string
		for _, item := range n.items {
			switch {
			case item.broken || !item.kind.scalar():
			case !slices.Contains(known, item.text):
				what, fix, note := fmt.Sprintf("no target is named %s", quoteKey(item.quote())), "", "there are: "+list(known)
				if near := nearest(item.text, known); near != "" && len(item.vars) == 0 {
					fix = fmt.Sprintf("%q?", near)
				}
				if len(known) == 0 {
					note = "next: write it under targets:"
				}
				l.report.add(item.at, path, what, fix, note)
			case slices.Contains(before, item.text):
				l.report.add(item.at, path, quoteKey(item.quote())+" is named twice", "name each target once", "")
			}
			before = append(before, item.text)
		}
	}
}

func (l *loader) checkRetry(f *File) {
	b := l.config.Plans.Default.Backoff
	if b.Base > shortestWait && b.Max > shortestWait && b.Base > b.Max {
		at := l.tree.origin["retry.base"]
		what := fmt.Sprintf("base (%s) is above max (%s)", short(b.Base), short(b.Max))
		l.report.add(at, "retry", what, "write "+short(b.Max)+" or less", "max is from "+l.config.Origin("retry.max"))
	}
	if p, ok := f.Plans[defaultPlan]; ok && p.MaxRetries != nil && f.Retry.MaxRetries != nil && *p.MaxRetries != *f.Retry.MaxRetries {
		l.report.add(l.tree.origin["plans.default.max_retries"], "plans.default.max_retries", "retry.max_retries says another number",
			"leave out one of the two", "the other is at "+l.tree.find("retry.max_retries").at.String())
	}
}

// checkOnceForAll refuses to take back in one plan what the default says for all: the plans could not carry it.
func (l *loader) checkOnceForAll(f *File) {
	d, ok := f.Plans[defaultPlan]
	if !ok {
		return
	}
	for name, p := range f.Plans {
		for _, s := range []struct {
			key       string
			base, own *bool
		}{{"at_most_once", d.AtMostOnce, p.AtMostOnce}, {"no_last_resort", d.NoLastResort, p.NoLastResort}} {
			if value(s.base) && s.own != nil && !*s.own {
				path := "plans." + name + "." + s.key
				l.report.add(l.tree.origin[path], path, "plans.default says true, which one plan cannot take back",
					"leave it out here", "next: write true in the plans that need it, not in default")
			}
		}
	}
}

// short is a duration without zero units: 1m30s, 60s as 1m.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// checkTarget looks at the keys of one target.
func (l *loader) checkTarget(path string, n *node, f *FileTarget) {
	can := n.get("can")
	l.checkParts(path+".limits", "attempt", f.Limits.Attempt, limit{"connect", f.Limits.Connect}, limit{"first_content", f.Limits.FirstContent})
	if c := f.Can; c.ContextWindow > 0 && c.MaxOutput > c.ContextWindow {
		l.report.add(can.get("max_output").at, path+".can.max_output", "is above context_window", fmt.Sprintf("write %d or less", c.ContextWindow), "")
	}
	if value(f.Can.Streams) && slices.Contains(f.Can.Lacks, "stream") {
		l.report.add(can.get("streams").at, path+".can.streams", "is true, but lacks names stream", "leave out one of the two", "")
	}
}

// checkPlans looks for keys of one plan that contradict each other.
func (l *loader) checkPlans(f *File) {
	for name, p := range f.Plans {
		path := "plans." + name
		l.checkParts(path, "attempt", p.Attempt, limit{"connect", p.Connect}, limit{"first_content", p.FirstContent})
		l.checkParts(path, "total", p.Total, limit{"connect", p.Connect}, limit{"first_content", p.FirstContent})
		after := p.Hedge.After
		if d := f.Plans[defaultPlan]; after == nil {
			after = d.Hedge.After
		}
		conflict := func(key, what, fix string) {
			l.report.add(l.tree.origin[path+"."+key], path+"."+key, what, fix, "")
		}
		if value(p.Hedge.Share) > 0 && after == nil {
			conflict("hedge.share", "share says nothing without after", "write after: DURATION, or leave hedge out")
		}
		if value(p.AtMostOnce) && value(p.Hedge.After) > 0 {
			conflict("hedge.after", "a hedge sends twice, which at_most_once forbids", "leave out one of the two")
		}
		if value(p.Tries) == 1 && value(p.MaxRetries) > 0 {
			conflict("max_retries", "tries: 1 leaves no retry", "leave out one of the two")
		}
	}
}

type limit struct {
	key string
	d   Duration
}

// checkParts refuses limits that are above another which always falls before them.
func (l *loader) checkParts(path, key string, whole Duration, parts ...limit) {
	for _, part := range parts {
		if whole > 0 && part.d > whole {
			at := path + "." + part.key
			l.report.add(l.tree.origin[at], at, fmt.Sprintf("%s is above %s (%s), so it never ends anything", short(time.Duration(part.d)), key, short(time.Duration(whole))),
				"write "+short(time.Duration(whole))+" or less", "")
		}
	}
}

// warnPlans warns of plans that can do less than they say.
func (l *loader) warnPlans(f *File) {
	fixed := []string{defaultPlan, string(llm.Triage), string(llm.Orchestration), string(llm.Generation)}
	section := l.tree.root.get("plans")
	for _, e := range section.all() {
		p, ok := f.Plans[e.key]
		if !ok || e.value.broken {
			continue
		}
		path := "plans." + e.key
		if near := nearest(e.key, fixed); near != "" && !slices.Contains(fixed, e.key) {
			l.tree.warn(l.config, e.at, path, "this is a plan for the operation "+quoteKey(e.key), fmt.Sprintf("did you mean %q?", near))
		}
		l.warnLimits(path, &p, e.key)
	}
}

func (n *node) all() []entry {
	if n == nil {
		return nil
	}
	return n.entries
}

func (l *loader) warnLimits(path string, p *FilePlan, name string) {
	op := llm.Operation(name)
	if name == defaultPlan {
		op = ""
	}
	plan, _ := l.config.Plans.For(op)
	targets := len(plan.Targets)
	if targets == 0 {
		targets = len(l.config.Targets)
	}
	attempt := plan.Limits.Attempt
	warn := func(key, text, next string) {
		l.tree.warn(l.config, l.tree.origin[path+"."+key], path+"."+key, text, next)
	}
	if t := time.Duration(p.Total); t > 0 && t < attempt {
		warn("total", fmt.Sprintf("%s is less than one attempt may take (%s)", short(t), short(attempt)), "lengthen total, or shorten attempt")
	}
	if t := time.Duration(p.FirstContent); t > attempt && p.Attempt == 0 {
		warn("first_content", fmt.Sprintf("%s is more than an attempt may take (%s), so it never ends one", short(t), short(attempt)), "shorten it, or lengthen attempt")
	}
	if t := time.Duration(p.Connect); t > attempt && p.Attempt == 0 {
		warn("connect", fmt.Sprintf("%s is more than an attempt may take (%s), so it never ends one", short(t), short(attempt)), "shorten it, or lengthen attempt")
	}
	if value(p.Hedge.After) > 0 && targets < 2 {
		warn("hedge.after", "there is no second target to ask", "add a target, or leave hedge out")
	}
	if t := time.Duration(value(p.Hedge.After)); t > attempt {
		warn("hedge.after", fmt.Sprintf("%s is more than an attempt may take (%s), so there is never a hedge", short(t), short(attempt)), "shorten it")
	}
	if value(p.Tries) == 1 && targets > 1 {
		warn("tries", "with one try the second target is never asked", "write 2 or more, or name one target")
	}
}

// warnTargets warns of targets that no call can reach, and of settings without an effect.
func (l *loader) warnTargets(f *File) {
	used := map[string]bool{}
	restricted := len(l.config.Plans.Default.Targets) > 0
	for _, name := range l.config.Plans.Default.Targets {
		used[name] = true
	}
	for _, p := range l.config.Plans.Operations {
		for _, name := range p.Targets {
			used[name] = true
		}
	}
	pools := map[string]int{}
	for i := range f.Targets {
		pools[f.Targets[i].Pool]++
	}
	for i := range f.Targets {
		t := &f.Targets[i]
		n := l.tree.targets[t.Name]
		if n == nil {
			continue
		}
		path := "targets." + t.Name
		l.warnBareVariables(n, path)
		if restricted && !used[t.Name] {
			l.tree.warn(l.config, n.at, path, "no plan asks this target", "name it in a plan, or leave it out")
		}
		if t.Weight > 0 && t.Pool == "" {
			l.tree.warn(l.config, n.get("weight").at, path+".weight", "a weight means nothing without a pool", "write pool: NAME, or leave it out")
		}
		if t.Pool != "" && pools[t.Pool] == 1 {
			l.tree.warn(l.config, n.get("pool").at, path+".pool", "this target is alone in its pool", "give another target the same pool, or leave it out")
		}
	}
}

// bareVariable is how a shell or Kubernetes would write a variable.
var bareVariable = regexp.MustCompile(`^\$(\([A-Z][A-Z0-9_]+\)|[A-Z][A-Z0-9_]+)$`)

// warnBareVariables tells of $NAME, which is sent as it stands and refused by the provider. It may be a password, so
// the text does not repeat it.
func (l *loader) warnBareVariables(target *node, path string) {
	for _, e := range target.entries {
		if e.value.kind.scalar() && bareVariable.MatchString(e.value.written) {
			p := path + "." + e.key
			l.tree.warn(l.config, e.value.at, p, "a $ without { } is no variable, so the text is taken as it stands", `write "${NAME}" if a variable is meant`)
		}
	}
}
