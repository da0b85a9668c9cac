package cases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// faultCase is one line of a file of cases: a call, what the providers do on the wire, and what must come of it. Every
// field is read; one that is not known here makes the case fail, by its name.
type faultCase struct {
	ID      string                     `json:"id"`
	Class   string                     `json:"class"`
	Firm    *bool                      `json:"firm"` // false: what is right is a choice
	Symptom string                     `json:"symptom"`
	Call    callForm                   `json:"call"`
	Wire    map[string][]reply         `json:"wire"`
	Right   map[string]json.RawMessage `json:"right"`

	broken error // why it cannot be played
}

type callForm struct {
	Mode        string                     `json:"mode"`
	Op          string                     `json:"op"`
	TimeoutMS   int                        `json:"timeout_ms"`
	BudgetMS    int                        `json:"budget_ms"`
	Providers   []string                   `json:"providers"`
	MaxAttempts int                        `json:"max_attempts"`
	BackoffMS   int                        `json:"backoff_ms"`
	Fallback    *bool                      `json:"fallback"`
	Models      map[string]string          `json:"models"`
	Extra       map[string]json.RawMessage `json:"extra"`
	System      string                     `json:"system"`
	Input       *[]turn                    `json:"input"`
	MaxTokens   int                        `json:"max_tokens"`
	Tools       []string                   `json:"tools"`
	ToolSchema  json.RawMessage            `json:"tool_schema"`
	Repeat      int                        `json:"repeat"`
	Parallel    int                        `json:"parallel"`
	PauseMS     int                        `json:"pause_ms"`
	CancelAtMS  *int                       `json:"cancel_at_ms"`
	CancelCalls numbers                    `json:"cancel_calls"`
	Caller      callerForm                 `json:"caller"`
	Before      []step                     `json:"before"`
	Then        *afterwards                `json:"then"`
	Settings    settings                   `json:"settings"`
}

type callerForm struct {
	FailAfterTexts int `json:"fail_after_texts"`
}

// step is what happens before the call.
type step struct {
	Calls        int    `json:"calls"`
	Start        string `json:"start"`
	SleepMS      int    `json:"sleep_ms"`
	WaitHalfOpen string `json:"wait_half_open"`
}

type afterwards struct {
	Calls   int    `json:"calls"`
	Results string `json:"results"`
	Text    string `json:"text"`
}

type settings struct {
	RetryTokens        int     `json:"retry_tokens"`
	BreakerThreshold   float64 `json:"breaker_threshold"`
	BreakerOpenMS      int     `json:"breaker_open_ms"`
	IdleTimeoutMS      int     `json:"idle_timeout_ms"`
	HeaderTimeoutMS    int     `json:"header_timeout_ms"`
	MaxConnsPerHost    int     `json:"max_conns_per_host"`
	CustomHTTPClient   bool    `json:"custom_http_client"`
	CustomRetrySetting bool    `json:"custom_retry_setting"`
	Location           string  `json:"location"`
	TokenSource        []lease `json:"token_source"`
	Credentials        []lease `json:"credentials"`
}

// ownClient reports whether the adapter is handed an http.Client.
func (s *settings) ownClient() bool { return s.CustomHTTPClient || s.MaxConnsPerHost > 0 }

// lease is a credential and how long it is valid; 0: for good.
type lease struct {
	value string
	valid time.Duration
}

// UnmarshalJSON reads a text, [value, ms], or an object with one text, next to secrets that belong to it, and one number.
func (l *lease) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &l.value) == nil {
		return nil
	}
	var values []any
	if json.Unmarshal(data, &values) != nil {
		var named map[string]any
		if err := json.Unmarshal(data, &named); err != nil {
			return err
		}
		for name, v := range named {
			if !strings.Contains(name, "secret") && !strings.Contains(name, "session") {
				values = append(values, v)
			}
		}
	}
	for _, v := range values {
		switch v := v.(type) {
		case string:
			if l.value != "" {
				return errors.New("a credential with two texts")
			}
			l.value = v
		case float64:
			if l.valid != 0 {
				return errors.New("a credential with two times")
			}
			l.valid = ms(v)
		default:
			return fmt.Errorf("a credential with %v in it", v)
		}
	}
	return nil
}

// turn is one message of the input: a role and its parts.
type turn struct {
	role  string
	parts []inputPart
}

type inputPart struct {
	text         string
	call, result []string
}

// UnmarshalJSON reads [role, part, …].
func (t *turn) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	if len(raws) == 0 {
		return errors.New("a turn without a role")
	}
	if err := json.Unmarshal(raws[0], &t.role); err != nil {
		return err
	}
	for _, raw := range raws[1:] {
		var p inputPart
		if json.Unmarshal(raw, &p.text) != nil {
			var object struct {
				Call   []string `json:"call"`
				Result []string `json:"result"`
			}
			if err := strict(raw, &object); err != nil {
				return err
			}
			if len(object.Call) != 3 && len(object.Result) != 2 {
				return fmt.Errorf("a part of the input that is no call and no result: %s", raw)
			}
			p.call, p.result = object.Call, object.Result
		}
		t.parts = append(t.parts, p)
	}
	return nil
}

// numbers are one number or several.
type numbers []int

// UnmarshalJSON reads a number or a list of them.
func (n *numbers) UnmarshalJSON(data []byte) error {
	var one int
	if json.Unmarshal(data, &one) == nil {
		*n = numbers{one}
		return nil
	}
	return json.Unmarshal(data, (*[]int)(n))
}

// reply is what a provider sends for one request, or for several.
type reply struct {
	OK             *string                    `json:"ok"`
	WaitMS         *float64                   `json:"wait_ms"`
	Status         int                        `json:"status"`
	Headers        map[string]string          `json:"headers"`
	Body           json.RawMessage            `json:"body"`
	BodyRaw        *string                    `json:"body_raw"`
	Drip           *dripForm                  `json:"drip"`
	SSE            []sseEvent                 `json:"sse"`
	ES             []esEvent                  `json:"es"`
	GStream        []gEvent                   `json:"gstream"`
	Ping           *pingForm                  `json:"ping"`
	WriteSize      int                        `json:"write_size"`
	Gzip           any                        `json:"gzip"`
	End            string                     `json:"end"`
	CutInsideFrame bool                       `json:"cut_inside_frame"`
	Expect         map[string]json.RawMessage `json:"expect"`
	Else           *reply                     `json:"else"`
	Times          times                      `json:"times"`
	ToolUseEcho    bool                       `json:"tool_use_echo_first"`
}

// healthy reports whether the reply takes the form of the request's mode by itself.
func (r *reply) healthy() bool { return r.OK != nil }

func (r *reply) zips() bool { return r.Gzip != nil && r.Gzip != false }

// UnmarshalJSON reads "ok:TEXT" or an object.
func (r *reply) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		text, ok := strings.CutPrefix(word, "ok:")
		if !ok {
			return fmt.Errorf("the reply %q is unknown", word)
		}
		r.OK = &text
		return nil
	}
	type plain reply
	if err := strict(data, (*plain)(r)); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "eof", "cut", "reset", "hang"}, r.End) {
		return fmt.Errorf("the end %q is unknown", r.End)
	}
	return nil
}

type dripForm struct {
	Bytes   int     `json:"bytes"`
	EveryMS float64 `json:"every_ms"`
}

type pingForm struct {
	Text    string  `json:"text"`
	EveryMS float64 `json:"every_ms"`
	ForMS   float64 `json:"for_ms"`
}

// times says for how many requests a reply is.
type times struct {
	n            int // 0: one
	rest         bool
	firstPerCall bool
}

// UnmarshalJSON reads a number or a word.
func (t *times) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.n) == nil {
		return nil
	}
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	switch word {
	case "rest":
		t.rest = true
	case "first_per_call":
		t.firstPerCall = true
	default:
		return fmt.Errorf("the times %q are unknown", word)
	}
	return nil
}

type sseEvent struct {
	at   time.Duration
	text string
}

// UnmarshalJSON reads [ms, text].
func (e *sseEvent) UnmarshalJSON(data []byte) error { return tuple(data, &e.at, &e.text) }

type esEvent struct {
	at         time.Duration
	kind, name string
	payload    json.RawMessage
}

// UnmarshalJSON reads [ms, "event" or "exception", type, payload].
func (e *esEvent) UnmarshalJSON(data []byte) error {
	if err := tuple(data, &e.at, &e.kind, &e.name, &e.payload); err != nil {
		return err
	}
	if e.kind != "event" && e.kind != "exception" {
		return fmt.Errorf("the kind of frame %q is unknown", e.kind)
	}
	return nil
}

type gEvent struct {
	at     time.Duration
	object json.RawMessage
}

// UnmarshalJSON reads [ms, object].
func (e *gEvent) UnmarshalJSON(data []byte) error { return tuple(data, &e.at, &e.object) }

// tuple reads a list of exactly these values; the first is a time in ms.
func tuple(data []byte, at *time.Duration, rest ...any) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	if len(raws) != len(rest)+1 {
		return fmt.Errorf("a list of %d values, want %d", len(raws), len(rest)+1)
	}
	var n float64
	if err := json.Unmarshal(raws[0], &n); err != nil {
		return err
	}
	*at = ms(n)
	for i, into := range rest {
		if err := json.Unmarshal(raws[i+1], into); err != nil {
			return err
		}
	}
	return nil
}

func ms[N int | float64](n N) time.Duration {
	return time.Duration(float64(n) * float64(time.Millisecond))
}

// strict decodes one value and refuses fields that are not known.
func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// providerNames are the fakes there are.
var providerNames = []string{"azure", "bedrock", "vertex"}

// parseCase reads one line. A case that cannot be read, or says what nobody here knows, is broken.
func parseCase(line []byte) *faultCase {
	c := new(faultCase)
	if err := strict(line, c); err != nil {
		var name struct{ ID string }
		_ = json.Unmarshal(line, &name)
		return &faultCase{ID: name.ID, broken: err}
	}
	c.broken = c.unknown()
	return c
}

// unknown names what is read by tables, and is in none.
func (c *faultCase) unknown() error {
	if c.Call.Mode != "unary" && c.Call.Mode != "stream" {
		return fmt.Errorf("the mode %q is unknown", c.Call.Mode)
	}
	if len(c.Call.Providers) == 0 {
		return errors.New("no providers")
	}
	for _, name := range slices.Concat(c.Call.Providers, slices.Collect(maps.Keys(c.Wire))) {
		if !slices.Contains(providerNames, name) {
			return fmt.Errorf("the provider %q is unknown", name)
		}
	}
	for name := range c.Right {
		if _, ok := checks[name]; !ok && !wordsOnly(name) && name != "each" {
			return fmt.Errorf("unknown field %q of right", name)
		}
	}
	for _, replies := range c.Wire {
		for i := range replies {
			for r := &replies[i]; r != nil; r = r.Else {
				for name := range r.Expect {
					if expectation(name) == nil {
						return fmt.Errorf("unknown field %q of expect", name)
					}
				}
			}
		}
	}
	return nil
}

// wordsOnly are fields for people.
func wordsOnly(name string) bool { return name == "note" || name == "after" }

func (c *faultCase) firm() bool { return c.Firm == nil || *c.Firm }
