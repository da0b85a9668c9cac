package azure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/punctual-llm/punctual/llm"
)

// call is one tool call in the making.
type call struct {
	vendor   int // the provider's index; -1: it has none
	index    int // ours
	id, name string
	held     string // arguments that came before the name
	begun    bool   // its event is out
	custom   *customDelta
}

// callPiece adds a piece of a tool call.
func (a *answer) callPiece(d *callDelta) error {
	c := a.callFor(d)
	if c.id == "" {
		c.id = d.ID
	}
	if d.Custom != nil {
		if c.custom == nil {
			c.custom = &customDelta{}
		}
		c.custom.Name += d.Custom.Name
		c.custom.Input += d.Custom.Input
		return nil
	}
	if !c.begun {
		if c.name == "" {
			c.name = d.Function.Name // some servers repeat it in every piece
		}
		c.held += string(d.Function.Arguments)
		if c.name == "" || c.id == "" && c.held == "" { // the rest may come yet
			return nil
		}
		return a.begin(c)
	}
	return a.arguments(c, string(d.Function.Arguments))
}

// callFor finds the call that a piece belongs to. The index decides, if there is one, except that some servers
// number all calls 0: another id together with another name begins another call.
func (a *answer) callFor(d *callDelta) *call {
	vendor := -1
	if d.Index != nil {
		vendor = *d.Index
	}
	begins := d.Function.Name != "" || d.Custom != nil && d.Custom.Name != ""
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		switch {
		case vendor >= 0 && c.vendor != vendor:
		case d.ID != "" && d.ID == c.id:
			return c
		case d.ID != "" && c.id != "" && begins:
		case vendor < 0 && begins:
		default:
			return c
		}
	}
	c := &call{vendor: vendor, index: a.parts}
	a.parts++
	a.calls = append(a.calls, c)
	return c
}

// begin reports the start of a call, and the arguments that were held back.
func (a *answer) begin(c *call) error {
	if c.id == "" {
		c.id = fmt.Sprintf("call_%016x%08x", rand.Uint64(), rand.Uint32())
	}
	c.begun = true
	held := c.held
	c.held = ""
	err := a.emit(llm.Event{Kind: llm.EventToolCall, Index: c.index, ID: c.id, Name: a.names.back(c.name)})
	if err != nil {
		return err
	}
	return a.arguments(c, held)
}

func (a *answer) arguments(c *call, piece string) error {
	if piece == "" {
		return nil
	}
	return a.emit(llm.Event{Kind: llm.EventToolArguments, Index: c.index, Delta: piece})
}

// closeCalls reports the calls that were still waiting for something when the answer ended.
func (a *answer) closeCalls() error {
	for _, c := range a.calls {
		switch {
		case c.custom != nil:
			data, _ := json.Marshal(map[string]any{ // strings have no way to fail
				"id": c.id, "type": "custom", "custom": c.custom,
			})
			a.acc.Put(c.index, llm.Opaque{Type: CustomToolType, Data: data})
		case !c.begun && c.name != "":
			if err := a.begin(c); err != nil {
				return err
			}
		case !c.begun && a.finish != "length": // which may fall before the name
			_, err := a.fail(&llm.Error{Kind: llm.ErrBadOutput, Code: "tool_call_without_name"})
			return err
		}
	}
	return nil
}
