package cases_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/punctual-llm/punctual/llm"
)

// whole is the text of an answer; streamed, it must be what arrived. A caller that leaves was given more than it took.
func (o *observation) whole(r *result) (string, error) {
	if errors.Is(r.err, errCaller) {
		return r.text, nil
	}
	text := r.answer().Text()
	if o.c.Call.Mode == "stream" && r.text != text {
		return text, fmt.Errorf("%.80q arrived, and the answer is %.80q", r.text, text)
	}
	return text, nil
}

func checkText(o *observation, r *result, raw json.RawMessage) error {
	text, err := o.whole(r)
	if err != nil {
		return err
	}
	w, err := want[string](raw)
	if err == nil && w != text {
		err = fmt.Errorf("got %.80q", text)
	}
	return err
}

func checkTextLen(o *observation, r *result, raw json.RawMessage) error {
	text, err := o.whole(r)
	if err != nil {
		return err
	}
	return same(len(text), raw)
}

func checkPartial(o *observation, r *result, raw json.RawMessage) error {
	if r.err == nil {
		return errors.New("the answer is whole")
	}
	return checkText(o, r, raw)
}

func checkIncomplete(_ *observation, r *result, raw json.RawMessage) error {
	incomplete := r.err != nil || r.resp.Finish == llm.FinishLength || r.resp.Finish == llm.FinishOther
	return same(incomplete, raw)
}

func checkFinish(_ *observation, r *result, raw json.RawMessage) error {
	w, err := want[string](raw)
	switch {
	case err != nil:
		return err
	case w == "content_filter": // here an error of its own
		return r.ended("blocked")
	case finishes[w] == "":
		return errors.New("is unknown")
	case r.answer() == nil || r.answer().Finish != finishes[w]:
		return fmt.Errorf("got %+v", r.answer())
	}
	return nil
}

func checkUsage(_ *observation, r *result, raw json.RawMessage) error {
	var w struct {
		In  *int64 `json:"in"`
		Out *int64 `json:"out"`
	}
	if err := strict(raw, &w); err != nil {
		return err
	}
	var u llm.Usage
	if a := r.answer(); a != nil {
		u = a.Usage
	}
	if w.In != nil && *w.In != u.Input || w.Out != nil && *w.Out != u.Output {
		return fmt.Errorf("got %+v", u)
	}
	return nil
}

// tools are the calls of tools of an answer: of the first turn, if there are two.
func (r *result) tools() []llm.ToolCall {
	if r.first != nil {
		return r.first.tools()
	}
	if a := r.answer(); a != nil {
		return a.Message.ToolCalls()
	}
	return nil
}

func toolCalls(r *result, raw json.RawMessage, sameArguments func(got, want string) bool) error {
	w, err := want[[][]string](raw)
	got := r.tools()
	if err == nil && len(got) != len(w) {
		err = fmt.Errorf("got %+v", got)
	}
	if err != nil {
		return err
	}
	for i, c := range got {
		switch {
		case len(w[i]) != 3:
			return errors.New("a call is an id, a name and arguments")
		case w[i][0] == "*" && c.ID == "", w[i][0] != "*" && w[i][0] != c.ID, w[i][1] != c.Name, !sameArguments(c.Arguments, w[i][2]):
			return fmt.Errorf("got %+v", got)
		}
	}
	return nil
}

func checkToolCalls(_ *observation, r *result, raw json.RawMessage) error {
	return toolCalls(r, raw, func(got, want string) bool { return sameJSON([]byte(got), []byte(want)) })
}

func checkToolCallsRaw(_ *observation, r *result, raw json.RawMessage) error {
	return toolCalls(r, raw, func(got, want string) bool { return got == want })
}

func checkToolNames(_ *observation, r *result, raw json.RawMessage) error {
	names := []string{}
	for _, c := range r.tools() {
		names = append(names, c.Name)
	}
	return same(names, raw)
}

func checkFlagged(_ *observation, r *result, raw json.RawMessage) error {
	flagged := false
	for _, c := range r.tools() {
		var arguments map[string]any
		flagged = flagged || llm.KindOf(c.Decode(&arguments)) == llm.ErrBadOutput
	}
	return same(flagged, raw)
}

func checkDistinctIDs(_ *observation, r *result, raw json.RawMessage) error {
	ids := map[string]bool{}
	for _, c := range r.tools() {
		if c.ID != "" {
			ids[c.ID] = true
		}
	}
	return same(len(ids), raw)
}

func checkResponseID(_ *observation, r *result, raw json.RawMessage) error {
	if r.answer() == nil {
		return errors.New("there is no answer")
	}
	return same(r.answer().ID, raw)
}

// checkResponseModel wants the model that was asked, if it is one that the case configures, else the one that answered.
func checkResponseModel(o *observation, r *result, raw json.RawMessage) error {
	if r.answer() == nil {
		return errors.New("there is no answer")
	}
	w, err := want[string](raw)
	if err == nil && slices.Contains(slices.Collect(maps.Values(o.c.Call.Models)), w) {
		return same(r.answer().Model.Model, raw)
	}
	return same(r.answer().ModelVersion, raw)
}
