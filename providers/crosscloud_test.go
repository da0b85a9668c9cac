package providers_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// A conversation with two parallel calls that is begun on one cloud goes on on any other, and comes home: strict
// clouds take it, both results arrive under the ids of that wire, no cloud sees what another signed, and at home
// every signature is there again, byte for byte.
//
// Two engines on one model are one maker: what the one received, the other sends back.
func TestCrossCloud(t *testing.T) { // not parallel: it looks for goroutines that are left
	before := goleak.IgnoreCurrent()
	t.Run("from", func(t *testing.T) {
		for _, home := range crossings {
			for _, away := range crossings {
				if home == away {
					continue
				}
				for _, how := range []journey{{}, {stream: true}, {apart: true}, {stream: true, apart: true}} {
					t.Run(fmt.Sprintf("%s to %s/%s", home.name, away.name, how), func(t *testing.T) {
						t.Parallel()
						how.run(t, home, away)
					})
				}
			}
		}
	})
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// journey is how a conversation goes.
type journey struct {
	stream bool
	apart  bool // the results come in messages of their own, the later call's first
}

func (j journey) String() string {
	word := map[bool]string{false: "unary", true: "streamed"}[j.stream]
	if j.apart {
		word += ", results apart"
	}
	return word
}

// said is one assistant's turn with its results, and what it was made of.
type said struct {
	by      *crossing
	script  llm.Parts
	message llm.Message
}

// answerOf scripts a turn with calls.
func answerOf(c *crossing, label string) (cloud.Turn, said) {
	s := said{by: c, script: c.parts(label)}
	return cloud.Turn{Step: llmtest.Respond(&llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: s.script}, Finish: llm.FinishToolCall,
	})}, s
}

var crossTools = []llm.Tool{
	{
		Name:       "weather",
		Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	},
	{Name: "clock"},
}

func (j journey) run(t *testing.T, home, away *crossing) {
	t.Helper()
	begin, first := answerOf(home, "HOMEWARD")
	visit, second := answerOf(away, "OUTBOUND")
	homeModel, homeCloud := home.open(t, begin, cloud.Turn{Step: llmtest.Text("both are done")})
	awayModel, awayCloud := away.open(t, visit)

	req := &llm.Request{Messages: []llm.Message{llm.User("weather and time?")}, Tools: crossTools}
	first.message = j.ask(t, homeModel, req).Message
	first.check(t)
	req.Messages = append(append(req.Messages, first.message), j.results(first.message)...)
	second.message = j.ask(t, awayModel, req).Message
	second.check(t)
	j.arrived(t, away, lastBody(t, awayCloud, 1), first)
	req.Messages = append(append(req.Messages, second.message), j.results(second.message)...)
	if text := j.ask(t, homeModel, req).Text(); text != "both are done" {
		t.Errorf("back home: %q", text)
	}
	j.arrived(t, home, lastBody(t, homeCloud, 2), first, second)
}

// ask makes one call, of which nothing is dropped or changed but what other models wrote for themselves.
func (j journey) ask(t *testing.T, g llm.Generator, req *llm.Request) *llm.Response {
	t.Helper()
	resp := j.answered(t, g, req)
	if left := warnings(resp, "messages"); len(left) > 1 || len(left) < len(resp.Warnings) {
		t.Errorf("turn %d: warnings %+v", len(req.Messages), resp.Warnings)
	}
	return resp
}

// answered makes one call, as an application does.
func (j journey) answered(t *testing.T, g llm.Generator, req *llm.Request) *llm.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := llm.NewClient(g, nil)
	var resp *llm.Response
	var err error
	if j.stream {
		resp, err = client.Stream(ctx, req).Response()
	} else {
		resp, err = client.Generate(ctx, req)
	}
	if err != nil {
		t.Fatalf("turn %d is refused: %v", len(req.Messages), err)
	}
	return resp
}

const (
	weatherText = `{"celsius":12}`
	clockText   = "no clock here"
)

// results answers the calls of a turn: the first well, the second with an error.
func (j journey) results(m llm.Message) []llm.Message {
	calls := m.ToolCalls()
	one := llm.ToolResult{CallID: calls[0].ID, Name: "weather", Parts: llm.Parts{llm.Text{Text: weatherText}}}
	two := llm.ToolResult{CallID: calls[1].ID, Parts: llm.Parts{llm.Text{Text: clockText}}, IsError: true}
	if j.apart {
		return []llm.Message{llm.ToolResults(two), llm.ToolResults(one)}
	}
	return []llm.Message{llm.ToolResults(one, two)}
}

// check compares an answer with its script.
func (s *said) check(t *testing.T) {
	t.Helper()
	want, got := (llm.Message{Parts: s.script}).ToolCalls(), s.message.ToolCalls()
	if len(got) != len(want) {
		t.Fatalf("%s: calls %+v", s.by.name, got)
	}
	for i := range got {
		if s.by.maker == "gemini-2" { // its ids are made up here
			want[i].ID = got[i].ID
		}
		if got[i].ID == "" || got[i].ID != want[i].ID || got[i].Name != want[i].Name || !sameJSON([]byte(got[i].Arguments), []byte(want[i].Arguments)) {
			t.Errorf("%s: call %d\nwant %+v\ngot  %+v", s.by.name, i, want[i], got[i])
		}
	}
	if text := (llm.Message{Parts: s.script}).Text(); s.message.Text() != text {
		t.Errorf("%s: text %q", s.by.name, s.message.Text())
	}
	if s.by.maker == "openai" {
		return // it signs nothing
	}
	if want, got := signatures(s.script), signatures(s.message.Parts); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: signatures\nwant %q\ngot  %q", s.by.name, want, got)
	}
}

// arrived compares what a cloud was sent with the turns that were said before.
func (j journey) arrived(t *testing.T, at *crossing, body []byte, turns ...said) {
	t.Helper()
	got := at.read(t, body)
	if len(got) != 1+2*len(turns) {
		t.Fatalf("%s: want %d turns, got %+v in\n%s", at.name, 1+2*len(turns), got, body)
	}
	for i := range turns {
		j.turnArrived(t, at, &turns[i], got[1+2*i], got[2+2*i])
		if turns[i].by.maker != at.maker {
			foreign(t, at, body, &turns[i])
		}
	}
	if t.Failed() {
		t.Logf("%s was sent\n%s", at.name, body)
	}
}

func (j journey) turnArrived(t *testing.T, at *crossing, s *said, turn, results readTurn) {
	t.Helper()
	where := fmt.Sprintf("%s at %s", s.by.name, at.name)
	if !turn.assistant || results.assistant || turn.text != s.message.Text() {
		t.Errorf("%s: %+v, %+v", where, turn, results)
	}
	if want := s.partsAt(at); !reflect.DeepEqual(turn.parts, want) {
		t.Errorf("%s: parts\nwant %q\ngot  %q", where, want, turn.parts)
	}
	calls := s.message.ToolCalls()
	if len(turn.calls) != 2 || len(results.results) != 2 {
		t.Fatalf("%s: calls %+v, results %+v", where, turn.calls, results.results)
	}
	order := []int{0, 1}
	if j.apart && !at.gathers {
		order = []int{1, 0}
	}
	for i, c := range turn.calls {
		if c.name != calls[i].Name || !sameJSON(c.content, []byte(calls[i].Arguments)) || !at.id(s.by, calls[i].ID, c.id) {
			t.Errorf("%s: call %d is %s\nof %+v", where, i, c, calls[i])
		}
		r := results.results[slices.Index(order, i)]
		text := []string{"celsius", clockText}[i]
		if r.id != c.id || !bytes.Contains(r.content, []byte(text)) || r.name != "" && r.name != c.name {
			t.Errorf("%s: the result of call %s is %s", where, c, r)
		}
	}
	if turn.calls[0].id == turn.calls[1].id && turn.calls[0].id != "" {
		t.Errorf("%s: both calls are %q", where, turn.calls[0].id)
	}
}

// partsAt are the parts of a turn that a cloud is to be sent: at home with all that is signed and as it was, elsewhere
// what anybody may read.
func (s *said) partsAt(at *crossing) []readPart {
	if s.by.maker != at.maker || at.maker == "openai" {
		return []readPart{{kind: "text"}, {kind: "call", proof: at.standIn}, {kind: "call"}}
	}
	var all []readPart
	for _, p := range s.script {
		switch p := p.(type) {
		case llm.Reasoning:
			all = append(all, readPart{"thought", p.Text, string(p.Signature)})
		case llm.Opaque:
			all = append(all, readPart{kind: "thought", proof: redacted(labelOf(s.script))})
		case llm.Text:
			all = append(all, readPart{kind: "text", proof: string(p.Signature)})
		case llm.ToolCall:
			all = append(all, readPart{kind: "call", proof: string(p.Signature)})
		default:
		}
	}
	return all
}

// foreign looks for what is its maker's alone, in any form.
func foreign(t *testing.T, at *crossing, body []byte, s *said) {
	t.Helper()
	label := labelOf(s.script)
	secrets := append(signatures(s.script), "thought of "+label, redacted(label))
	for _, secret := range secrets {
		for _, form := range []string{
			secret,
			base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if bytes.Contains(body, []byte(form)) {
				t.Errorf("%s at %s: %q was sent", s.by.name, at.name, form)
			}
		}
	}
}

// lastBody is the last of n requests, all of them answered well.
func lastBody(t *testing.T, r recorder, n int) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.Wait(ctx, n); err != nil {
		t.Fatal(err)
	}
	all := r.Requests()
	if len(all) != n {
		t.Fatalf("%d requests, not %d", len(all), n)
	}
	for _, one := range all {
		if one.Status != 200 {
			t.Fatalf("status %d of\n%s", one.Status, one.Body)
		}
	}
	return all[n-1].Body
}
