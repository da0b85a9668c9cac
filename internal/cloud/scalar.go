package cloud

import (
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxInstanceText is the longest text that [Instance] writes.
const maxInstanceText = 64 << 10

// formats are examples of the formats that JSON schemas know.
func formats() map[string]string {
	return map[string]string{
		"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
		"email": "someone@example.com", "idn-email": "someone@example.com",
		"hostname": "example.com", "idn-hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
		"uri": "https://example.com/", "iri": "https://example.com/", "url": "https://example.com/",
		"uri-reference": "/", "json-pointer": "/a", "regex": "a",
		"uuid": "123e4567-e89b-42d3-a456-426614174000",
	}
}

// string is a text in the bounds of s: an example of its format, one that its pattern matches, or any.
func (s *schema) string() (json.RawMessage, bool) {
	least, most := s.size("minLength", 0), s.size("maxLength", maxInstanceText)
	if least > min(most, maxInstanceText) {
		return nil, false
	}
	const word = "text"
	text := word + strings.Repeat(word, least/len(word))
	text = text[:min(max(least, len(word)), most)]
	pattern, err := regexp.Compile(s.text("pattern"))
	candidates := []string{formats()[s.text("format")]}
	if s.has("pattern") && err == nil {
		candidates = append(candidates, samples(s.text("pattern"), least)...)
	}
	for _, c := range append(candidates, text) {
		n := utf8.RuneCountInString(c)
		if c != "" && least <= n && n <= most && (err != nil || pattern.MatchString(c)) {
			return quote(c), true
		}
	}
	return quote(text), true // a pattern of another dialect, or one that is beyond us
}

// samples are texts that may match a pattern: a short one, and one of n runes and more.
func samples(pattern string, n int) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	texts := make([]string, 0, 2)
	for _, more := range []int{0, n} {
		var b strings.Builder
		sample(&b, re, more)
		texts = append(texts, b.String())
	}
	return texts
}

// sample writes what re matches; what may be repeated is repeated more times than it must.
func sample(b *strings.Builder, re *syntax.Regexp, more int) {
	times := 1
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(commonest(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpAlternate:
		sample(b, re.Sub[0], more)
		return
	case syntax.OpStar:
		times = more
	case syntax.OpPlus:
		times = 1 + more
	case syntax.OpQuest:
		times = min(more, 1)
	case syntax.OpRepeat:
		times = re.Min + more
		if re.Max >= 0 {
			times = min(times, re.Max)
		}
	default: // places, and what only holds others
	}
	for range times {
		for _, sub := range re.Sub {
			if b.Len() <= maxInstanceText {
				sample(b, sub, more)
			}
		}
	}
}

// commonest is a rune of a class, which is a list of ranges: a plain one if it has any.
func commonest(ranges []rune) rune {
	for _, r := range "aA0" {
		for pair := range slices.Chunk(ranges, 2) {
			if pair[0] <= r && r <= pair[1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}

// number is 1, or what is near it within the bounds of s.
func (s *schema) number(integer bool) (json.RawMessage, bool) {
	low, high := math.Inf(-1), math.Inf(1)
	if v, ok := s.float("minimum"); ok {
		low = v
	}
	if v, ok := s.float("maximum"); ok {
		high = v
	}
	above, open := s.float("exclusiveMinimum")
	below, closed := s.float("exclusiveMaximum")
	step, stepped := s.float("multipleOf")
	if integer && (!stepped || step < 1) {
		step, stepped = 1, true
	}
	inside := func(v float64) bool {
		return low <= v && v <= high && (!open || v > above) && (!closed || v < below)
	}
	if open {
		low = max(low, above)
	}
	if closed {
		high = min(high, below)
	}
	candidates := []float64{1, 0, low, high, (low + high) / 2, low + 1, high - 1}
	if stepped && step > 0 {
		candidates = []float64{1, 0, math.Ceil(low/step) * step, math.Floor(high/step) * step}
		candidates = append(candidates, candidates[2]+step, candidates[3]-step, step)
		candidates = slices.DeleteFunc(candidates, func(v float64) bool { return v != math.Round(v/step)*step })
	}
	for _, v := range candidates {
		if inside(v) && !math.IsInf(v, 0) {
			return json.RawMessage(strconv.FormatFloat(v+0, 'f', -1, 64)), true
		}
	}
	return nil, false
}
