package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// environment puts the variables over what the file says.
func (l *loader) environment() {
	l.timeouts()
	for _, v := range variables {
		if text, ok := l.env(v.name); ok {
			v.set(l, &v, strings.TrimSpace(text))
		}
	}
	l.lookAlikes()
}

// variable is one that replaces a setting of the file.
type variable struct {
	name, path string
	set        func(l *loader, v *variable, text string)
	min, max   float64
	doc        string
}

// variables are all of them but LLM_<OPERATION>_TIMEOUT.
var variables = []variable{
	{"LLM_MAX_RETRIES", "retry.max_retries", setRetries, 0, 100, "a whole number; 0 is none; that of every plan, too"},
	{"LLM_RETRY_BASE_DELAY", "retry.base", setBase, 0, maxSeconds, "seconds"},
	{"LLM_RETRY_MAX_DELAY", "retry.max", setMax, 0, maxSeconds, "seconds"},
	{"LLM_RETRY_JITTER", "retry.jitter", setJitter, 0, 0, "`true` is +-25 %, `false` is `none`"},
	{"CIRCUIT_BREAKER_FAILURE_THRESHOLD", "breaker.threshold", setThreshold, 0.5, 1000, "a number"},
	{"CIRCUIT_BREAKER_TIMEOUT_SECONDS", "breaker.open_for", setOpenFor, 0.001, maxSeconds, "seconds"},
	{"LLM_EMERGENCY_MODE", "emergency", setEmergency, 0, 0, "`true` or `false`"},
}

// maxSeconds is a day, the longest time that a setting may have.
const maxSeconds = 24 * 60 * 60

// fail tells what is wrong with a variable and shows its value, cut: none of these holds a secret.
func (v *variable) fail(l *loader, text, what string) {
	r := []rune(strings.Map(printable, text))
	if len(r) > 24 {
		r = append(r[:21], []rune("...")...)
	}
	l.report.add(place{variable: fmt.Sprintf("%s=%q", v.name, string(r))}, "", what, "", "")
}

// replace notes that a variable stands in for the file's value at its path.
func (v *variable) replace(l *loader, path, text string) {
	o := Override{Path: path, Variable: v.name, Value: text, OldFrom: l.config.Origin(path)}
	if n := l.tree.find(path); n != nil && n.kind.scalar() {
		o.Old = n.quote()
	}
	l.config.Overrides = append(l.config.Overrides, o)
	l.tree.origin[path] = place{variable: v.name}
}

// number reads a number within the range of the variable.
func (v *variable) number(l *loader, text, want string) (x float64, ok bool) {
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !math.IsInf(x, 0), !decimalText(text):
		v.fail(l, text, "want "+want)
	case x < v.min && x == 0:
		v.fail(l, text, "0 is out of range; write "+strconv.FormatFloat(v.min, 'g', -1, 64)+" or more, or unset it for the default")
	case x < v.min, x > v.max:
		v.fail(l, text, fmt.Sprintf("is out of range; write %v to %v", v.min, v.max))
	default:
		return x, true
	}
	return 0, false
}

func (v *variable) seconds(l *loader, text, example string) (time.Duration, bool) {
	x, ok := v.number(l, text, "seconds, as in "+example)
	return time.Duration(math.Round(x * float64(time.Second))), ok
}

// timeoutVariable is the name of the variable for an operation: other signs than letters and digits become _.
func timeoutVariable(operation string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		default:
			return '_'
		}
	}, operation)
	return "LLM_" + name + "_TIMEOUT"
}

// operations are the names of all plans: the default, the three fixed ones, those of the file.
func (l *loader) operations() []string {
	all := []string{defaultPlan, string(llm.Triage), string(llm.Orchestration), string(llm.Generation)}
	for _, op := range slices.Sorted(maps.Keys(l.config.Plans.Operations)) {
		if !slices.Contains(all, string(op)) {
			all = append(all, string(op))
		}
	}
	return all
}

func (l *loader) timeouts() {
	for _, op := range l.operations() {
		v := variable{name: timeoutVariable(op), min: 0.001, max: maxSeconds}
		text, ok := l.env(v.name)
		if !ok {
			continue
		}
		text = strings.TrimSpace(text)
		limit, ok := v.seconds(l, text, fmt.Sprint(defaultSeconds(op)))
		if !ok {
			continue
		}
		v.replace(l, "plans."+op+".attempt", text)
		if op == defaultPlan {
			l.config.Plans.Default.Limits.Attempt = limit
			continue
		}
		p := l.config.Plans.Operations[llm.Operation(op)]
		p.Limits.Attempt = limit
		l.config.Plans.Operations[llm.Operation(op)] = p
	}
}

func defaultSeconds(op string) float64 {
	p, _ := policy.Plans{}.For(llm.Operation(op))
	return p.Limits.Attempt.Seconds()
}

// setRetries replaces the number of retries of every plan: who sets it in an incident means all calls.
func setRetries(l *loader, v *variable, text string) {
	x, ok := v.number(l, text, "a whole number, as in 3")
	if !ok {
		return
	}
	if x != math.Trunc(x) {
		v.fail(l, text, "want a whole number, as in 3")
		return
	}
	v.replace(l, v.path, text)
	n := int(x)
	l.config.Plans.Default.MaxRetries = retries(&n)
	if _, ok := l.tree.origin["plans.default.max_retries"]; ok {
		v.replace(l, "plans.default.max_retries", text)
	}
	for op, p := range l.config.Plans.Operations {
		if p.MaxRetries != 0 {
			p.MaxRetries = 0 // the default's
			l.config.Plans.Operations[op] = p
			v.replace(l, "plans."+string(op)+".max_retries", text)
		}
	}
}

func setBase(l *loader, v *variable, text string) {
	if d, ok := v.seconds(l, text, "1.0"); ok {
		l.config.Plans.Default.Backoff.Base = cmp.Or(d, shortestWait)
		v.replace(l, v.path, text)
	}
}

func setMax(l *loader, v *variable, text string) {
	if d, ok := v.seconds(l, text, "10.0"); ok {
		l.config.Plans.Default.Backoff.Max = cmp.Or(d, shortestWait)
		v.replace(l, v.path, text)
	}
}

func setJitter(l *loader, v *variable, text string) {
	on, ok := truth(text)
	if !ok {
		v.fail(l, text, "want true or false")
		return
	}
	l.config.Plans.Default.Backoff.Jitter = policy.JitterNone
	if on {
		l.config.Plans.Default.Backoff.Jitter = policy.JitterProportional
	}
	v.replace(l, v.path, text)
}

func setThreshold(l *loader, v *variable, text string) {
	if x, ok := v.number(l, text, "a number of failures, as in 3"); ok {
		l.config.Breaker.Threshold = x
		v.replace(l, v.path, text)
	}
}

func setOpenFor(l *loader, v *variable, text string) {
	if d, ok := v.seconds(l, text, "300"); ok {
		l.config.Breaker.OpenFor = d
		v.replace(l, v.path, text)
	}
}

func setEmergency(l *loader, v *variable, text string) {
	on, ok := truth(text)
	if !ok {
		v.fail(l, text, "want true or false")
		return
	}
	l.config.Emergency = on
	v.replace(l, v.path, text)
}

// The variables that others read or that stand for something else than a setting.
var furtherVariables = []string{
	EnvOverlay, "LLM_EXECUTION_TIME_LIMIT_SECONDS", "LLM_BEDROCK_MODEL", "LLM_VERTEX_MODEL",
	"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_DEPLOYMENT", "AZURE_OPENAI_API_VERSION",
}

// lookAlikes warns of variables that look like ours and are not: a mistyped one changes nothing.
func (l *loader) lookAlikes() {
	known := slices.Clone(furtherVariables)
	for _, v := range variables {
		known = append(known, v.name)
	}
	for _, op := range l.operations() {
		known = append(known, timeoutVariable(op))
	}
	set := make([]string, 0, len(l.environ))
	for _, e := range l.environ {
		if name, value, _ := strings.Cut(e, "="); value != "" {
			set = append(set, name)
		}
	}
	for _, name := range slices.Compact(sorted(set)) {
		ours := strings.HasPrefix(name, "LLM_") || strings.HasPrefix(name, "CIRCUIT_BREAKER_") || strings.HasPrefix(name, "AZURE_OPENAI_")
		near := nearest(name, known)
		if !ours && near != "" && distance(name, near) > 2 {
			near = "" // PIP_DEFAULT_TIMEOUT is another's
		}
		if slices.Contains(known, name) || !ours && near == "" {
			continue
		}
		at := place{variable: name}
		switch {
		case near != "":
			l.tree.warn(l.config, at, "", "no such variable is known", "did you mean "+near+"?")
		case strings.HasPrefix(name, "LLM_") && strings.HasSuffix(name, "_TIMEOUT"):
			l.tree.warn(l.config, at, "", "no plan has this name, so it changes nothing", "add the plan, or leave it out")
		}
	}
}
