package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// number decodes whole and other numbers, and holds them to the range of the field.
func (d *decoder) number(path string, n *node, v reflect.Value, f *field) {
	form := "a number"
	if v.CanInt() || v.CanUint() {
		form = "a whole number"
	}
	text := strings.TrimPrefix(strings.ReplaceAll(n.text, "_", ""), "+")
	x, err := strconv.ParseFloat(text, 64)
	if !n.kind.scalar() || n.kind == nullKind || !decimalText(text) || err != nil && !math.IsInf(x, 0) {
		d.want(path, n, f, form, "write "+form)
		return
	}
	n.show()
	if !d.inRange(path, n, f, x, func(s string) float64 { m, _ := strconv.ParseFloat(s, 64); return m }) {
		return
	}
	switch {
	case v.CanInt():
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v.OverflowInt(i) {
			d.wholeNumber(path, n, x)
			return
		}
		v.SetInt(i)
	case v.CanUint():
		u, err := strconv.ParseUint(text, 10, 64)
		if err != nil || v.OverflowUint(u) {
			d.wholeNumber(path, n, x)
			return
		}
		v.SetUint(u)
	default:
		v.SetFloat(x)
	}
}

func decimalText(s string) bool { return integer.MatchString(s) || decimal.MatchString(s) }

func (d *decoder) wholeNumber(path string, n *node, x float64) {
	if x == math.Trunc(x) {
		d.fail(n, path, d.said(n)+" is too large or too small", "write a smaller number", "")
		return
	}
	d.fail(n, path, d.said(n)+" is no whole number", fmt.Sprintf("write %.0f", x), "")
}

// said is a value in a message, or the variable it came from.
func (d *decoder) said(n *node) string {
	if len(n.vars) > 0 {
		return "the value of " + list(n.vars)
	}
	if n.risky() {
		return "the value"
	}
	if n.kind == stringKind && !figure.MatchString(n.written) {
		return quoteKey(n.quote())
	}
	return n.quote()
}

// figure is a number with or without a unit, which needs no quotes.
var figure = regexp.MustCompile(`^[-+]?[0-9.]+[A-Za-z]*$`)

// inRange holds a value to the field's min and max.
func (d *decoder) inRange(path string, n *node, f *field, x float64, bound func(string) float64) bool {
	if f == nil || f.min == "" || x >= bound(f.min) && x <= bound(f.max) {
		return true
	}
	fix := fmt.Sprintf("write %s to %s", f.min, f.max)
	if x == 0 && f.def != "" {
		fix = "leave it out for the default, or write " + f.min + " or more"
	}
	what := " is below " + f.min
	if x > bound(f.max) {
		what = " is above " + f.max
	}
	d.fail(n, path, d.said(n)+what, fix, "")
	return false
}

// unitless is a number that wants a unit, badUnit one with a unit that Go does not know.
var (
	unitless = regexp.MustCompile(`^[-+]?[0-9]*\.?[0-9]+$`)
	badUnit  = regexp.MustCompile(`^([-+]?[0-9]*\.?[0-9]+)\s*([A-Za-zµ]+)\.?$`)
)

// units are what people write for a unit, and how many of which unit it is.
var units = map[string]struct {
	times int
	unit  string
}{
	"sec": {1, "s"}, "secs": {1, "s"}, "second": {1, "s"}, "seconds": {1, "s"},
	"min": {1, "m"}, "mins": {1, "m"}, "minute": {1, "m"}, "minutes": {1, "m"},
	"hr": {1, "h"}, "hrs": {1, "h"}, "hour": {1, "h"}, "hours": {1, "h"},
	"msec": {1, "ms"}, "msecs": {1, "ms"}, "millis": {1, "ms"}, "milliseconds": {1, "ms"}, "millisecond": {1, "ms"},
	"d": {24, "h"}, "day": {24, "h"}, "days": {24, "h"},
}

func (d *decoder) duration(path string, n *node, v reflect.Value, f *field) {
	if !n.kind.scalar() || n.kind == nullKind || n.kind == boolKind {
		d.want(path, n, f, "a duration", "write one such as 30s")
		return
	}
	n.show()
	text := strings.TrimSpace(n.text)
	x, err := time.ParseDuration(text)
	switch zero, _ := strconv.ParseFloat(text, 64); {
	case err != nil && unitless.MatchString(text) && zero == 0:
		x = 0
	case err != nil:
		d.noDuration(path, n, text)
		return
	}
	parse := func(s string) float64 { m, _ := time.ParseDuration(s); return float64(m) }
	if d.inRange(path, n, f, float64(x), parse) {
		v.SetInt(int64(x))
	}
}

// noDuration tells what is wrong with a duration, and the right form where it can be guessed.
func (d *decoder) noDuration(path string, n *node, text string) {
	fromVariable := len(n.vars) > 0
	unit := badUnit.FindStringSubmatch(text)
	switch {
	case unitless.MatchString(text) && fromVariable:
		d.fail(n, path, d.said(n)+" has no unit", fmt.Sprintf("write %ss", n.quote()), "")
	case unitless.MatchString(text):
		d.fail(n, path, text+" has no unit", "write "+text+"s", "")
	case unit != nil && !fromVariable:
		word := strings.ToLower(unit[2])
		fix := "write it in ms, s, m or h"
		if u, ok := units[word]; ok {
			if number, err := strconv.ParseFloat(unit[1], 64); err == nil {
				fix = "write " + strconv.FormatFloat(number*float64(u.times), 'g', -1, 64) + u.unit
			}
		} else if _, err := time.ParseDuration(unit[1] + word); err == nil {
			fix = "write " + unit[1] + word
		}
		d.fail(n, path, d.said(n)+" has an unknown unit", fix, "")
	default:
		d.fail(n, path, d.said(n)+" is no duration", "write one such as 30s or 1m30s", "")
	}
}
