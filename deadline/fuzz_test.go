package deadline_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/deadline"
)

// FuzzHeaderGet: whatever stands there, Get does not panic, gives a positive time at most Max or none, and
// Set leaves something that Get reads and that is no more.
func FuzzHeaderGet(f *testing.F) {
	for _, value := range []string{"", "0", "1", "42700", "007", "-1", "+1", " 1", "1 ", "1.5", "1e9", "9223372036854775807", "9223372036854775808", "5,5", "٣"} {
		f.Add(value, "", int64(0), int64(0), int64(0))
		f.Add(value, "5", int64(time.Second), int64(time.Millisecond), int64(895*time.Second))
	}
	f.Fuzz(func(t *testing.T, first, second string, unit, hop, most int64) {
		h := &deadline.Header{Unit: time.Duration(unit), Hop: time.Duration(hop), Max: time.Duration(most)}
		header := http.Header{"X-Deadline-Ms": {first}}
		if second != "" {
			header.Add("X-Deadline-Ms", second)
		}
		left, ok, err := h.Get(header)
		if ok != (left > 0) || ok && err != nil || !ok && err == nil || most > 0 && left > time.Duration(most) {
			t.Fatalf("Get of %q: %v, %v, %v", header, left, ok, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		h.Set(ctx, header)
		set, there, err := h.Get(header)
		if ok && set > left {
			t.Fatalf("Set raised %v to %v", left, set)
		}
		if set > time.Hour {
			t.Fatalf("Set gives %v of an hour", set)
		}
		if err != nil && header.Get("X-Deadline-Ms") != "0" || err == nil && there != (set > 0) {
			t.Fatalf("Get after Set of %q: %v, %v, %v", header, set, there, err)
		}
	})
}

// FuzzHeaderRoundTrip: what Get reads of what Set wrote is never more than was left, and less by no more than
// the hop, the cap and one unit.
func FuzzHeaderRoundTrip(f *testing.F) {
	f.Add(int64(42700*time.Millisecond), int64(time.Second), int64(0), int64(895*time.Second))
	f.Add(int64(time.Second), int64(0), int64(time.Millisecond), int64(0))
	f.Add(int64(1), int64(1), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, left, unit, hop, most int64) {
		h := &deadline.Header{Unit: time.Duration(unit), Hop: time.Duration(hop), Max: time.Duration(most)}
		before := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), before.Add(time.Duration(left)))
		defer cancel()
		header := make(http.Header)
		h.Set(ctx, header)
		spent := time.Since(before)
		got, ok, err := h.Get(header)
		if err != nil {
			t.Fatal(err)
		}
		least := max(time.Duration(left)-spent, 0) - max(h.Hop, 0)
		if h.Max > 0 {
			least = min(least, h.Max)
		}
		if h.Unit <= 0 {
			h.Unit = time.Millisecond
		}
		if got > max(time.Duration(left), 0) || ok && got <= least-h.Unit || !ok && least >= h.Unit {
			t.Fatalf("%v left became %v, at least %v less %v", time.Duration(left), got, least, h.Unit)
		}
	})
}

// FuzzFromEnv: a value gives a deadline within the bounds, or an error that does not quote it, never a panic.
func FuzzFromEnv(f *testing.F) {
	for _, value := range []string{"", "0", "1", "60", "42.7", " 60 ", "900", "901", "-1", "NaN", "Inf", "1e3", "0x10", ".", "1.2.3", "9999999999999999999999", "SECRET"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if strings.ContainsRune(value, 0) {
			t.Skip("no environment holds a zero byte")
		}
		t.Setenv(variable, value)
		ctx, cancel, err := deadline.FromEnv(t.Context(), &deadline.Options{Margin: -1})
		defer cancel()
		total, ok := deadline.Total(ctx)
		switch {
		case err != nil:
			if ok || ctx.Err() == nil || len(value) > 20 && strings.Contains(err.Error(), value) {
				t.Fatalf("%q: %v, %v, %v", value, total, ctx.Err(), err)
			}
		case ok != (strings.TrimSpace(value) != ""):
			t.Fatalf("%q: %v, %v", value, total, ok)
		case ok && (total < time.Second || total > 15*time.Minute):
			t.Fatalf("%q: %v", value, total)
		}
	})
}

// FuzzExceededErrorJSON: what decodes encodes to a text that decodes to an equal error.
func FuzzExceededErrorJSON(f *testing.F) {
	for _, text := range []string{
		`{"code":"EXECUTION_DEADLINE_EXCEEDED","step":"plan","total":"1m30s","elapsed":"1.5s"}`,
		`{"code":"EXECUTION_DEADLINE_EXCEEDED","total":"1us","elapsed":"-1h"}`,
		`{"code":"OTHER","total":"1s","elapsed":"1s"}`, `{"code":`, `null`, `[]`, `"x"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e, back deadline.ExceededError
		if json.Unmarshal(text, &e) != nil {
			if e != (deadline.ExceededError{}) {
				t.Fatalf("half decoded: %+v", e)
			}
			return
		}
		again, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &back); err != nil || back != e {
			t.Fatalf("%s became %s (%v)", text, again, err)
		}
	})
}
