package azure

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

// call is one tool call in the making.
type call struct {
	vendor     int // the provider's index; none: it has none
	index      int // ours
	received   string
	id         string // received, unless that is empty or another call's
	name       string
	held       strings.Builder // arguments that came before the name
	begun      bool            // its event is out
	object     object          // how far the arguments are
	sum        digest          // of the arguments
	custom     bool
	customName strings.Builder
	input      strings.Builder // of a custom tool
}

// none is the index of a call that has none.
const none = -1

// calls are the tool calls of an answer, found without a search: a hostile answer has many.
type calls struct {
	list    []*call
	byIndex map[int]*call    // the latest of an index
	byID    map[string]*call // the latest that was received under an id
	last    *call            // the one that the last piece belonged to
}

// callPiece adds a piece of a tool call; whole: the piece is all of it.
func (a *answer) callPiece(d *callDelta, whole bool) error {
	c, err := a.callFor(d, whole)
	if err != nil {
		return err
	}
	a.calls.last = c
	if err := a.identify(c, d.ID); err != nil {
		return err
	}
	if d.Custom != nil {
		c.custom = true
		c.customName.WriteString(d.Custom.Name)
		c.input.WriteString(d.Custom.Input)
		return a.grow(len(d.Custom.Name) + len(d.Custom.Input))
	}
	if c.name == "" { // some servers repeat it in every piece
		c.name = d.Function.Name
		if err := a.grow(len(c.name)); err != nil {
			return err
		}
	}
	return a.arguments(c, string(d.Function.Arguments), d)
}

// arguments adds a piece of the arguments of c.
func (a *answer) arguments(c *call, piece string, d *callDelta) error {
	if c.repeats(d, piece) {
		return nil
	}
	scan(&c.object, piece)
	c.sum.add(piece)
	if c.begun {
		return a.emitArguments(c, piece)
	}
	if err := a.grow(len(piece)); err != nil {
		return err
	}
	c.held.WriteString(piece)
	if c.name == "" || c.id == "" && c.held.Len() == 0 { // the rest may come yet
		return nil
	}
	return a.begin(c)
}

// callFor finds the call that a piece belongs to, or makes one. The id decides, unless the index speaks against
// it, and then the index: some servers number no calls, others all of them 0.
func (a *answer) callFor(d *callDelta, whole bool) (*call, error) {
	vendor := none
	if d.Index != nil && *d.Index >= 0 {
		vendor = *d.Index
	}
	if !whole {
		if c := a.calls.byID[d.ID]; c != nil && (vendor == none || c.vendor == none || c.vendor == vendor) {
			if !c.over(d, true) {
				return c, nil
			}
		} else if c := a.calls.at(vendor); c != nil && c.takes(d, vendor) {
			return c, nil
		}
	}
	if len(a.calls.list) == bounds.Calls {
		return nil, bounds.TooManyCalls
	}
	c := &call{vendor: vendor, index: a.parts}
	a.parts++
	a.calls.add(c)
	return c, nil
}

// at is the call that a piece without a known id may belong to.
func (s *calls) at(vendor int) *call {
	if vendor == none {
		return s.last
	}
	return s.byIndex[vendor]
}

func (s *calls) add(c *call) {
	s.list = append(s.list, c)
	if c.vendor == none {
		return
	}
	if s.byIndex == nil {
		s.byIndex = make(map[int]*call)
	}
	s.byIndex[c.vendor] = c
}

// takes reports whether a piece of c's index, with an id that no call of that index has, belongs to c.
func (c *call) takes(d *callDelta, vendor int) bool {
	begins := d.Function.Name != "" || d.Custom != nil && d.Custom.Name != ""
	switch {
	case d.ID != "" && c.received != "" && d.ID != c.received:
		return !begins // some servers give every piece an id of its own
	case vendor == none:
		return !begins
	default:
		return !c.over(d, d.ID != "" && d.ID == c.received)
	}
}

// over reports whether c has ended, as a piece shows that would belong to it: it names another function, or
// brings more arguments than make an object. sameID: it comes under the id of c.
func (c *call) over(d *callDelta, sameID bool) bool {
	if d.Custom != nil || c.custom || d.Function.Name == "" || c.name == "" || c.object.other {
		return false
	}
	another := d.Function.Name != c.name
	if !c.object.begun {
		return another && !sameID
	}
	if another || !c.object.whole() {
		return c.object.whole()
	}
	arguments := string(d.Function.Arguments)
	return strings.TrimSpace(arguments) != "" && !c.repeats(d, arguments)
}

// repeats reports whether a piece says again what c is already, id, name and arguments.
func (c *call) repeats(d *callDelta, arguments string) bool {
	if d.ID == "" || d.ID != c.received || d.Function.Name == "" || d.Function.Name != c.name || !c.object.whole() {
		return false
	}
	var sum digest
	sum.add(arguments)
	return sum == c.sum
}

// identify gives c the id of a piece, or one of its own if another call has that: a result names only the id.
func (a *answer) identify(c *call, received string) error {
	if received == "" || c.received != "" {
		return nil
	}
	c.received = received
	if c.id == "" {
		c.id = received
		if a.calls.byID[received] != nil {
			c.id = newID()
		}
	}
	if a.calls.byID == nil {
		a.calls.byID = make(map[string]*call)
	}
	a.calls.byID[received] = c
	return a.grow(len(received))
}

func newID() string { return fmt.Sprintf("call_%016x%08x", rand.Uint64(), rand.Uint32()) }

// begin reports the start of a call, and the arguments that were held back.
func (a *answer) begin(c *call) error {
	if c.id == "" {
		c.id = newID()
	}
	c.begun = true
	err := a.emit(llm.Event{Kind: llm.EventToolCall, Index: c.index, ID: c.id, Name: a.names.Back(c.name)})
	if err != nil {
		return err
	}
	held := c.held.String()
	c.held.Reset()
	a.size -= len(held) // counted when it was held
	return a.emitArguments(c, held)
}

func (a *answer) emitArguments(c *call, piece string) error {
	if piece == "" {
		return nil
	}
	return a.emit(llm.Event{Kind: llm.EventToolArguments, Index: c.index, Delta: piece})
}

// closeCalls reports the calls that were still waiting for something when the answer ended.
func (a *answer) closeCalls() error {
	for _, c := range a.calls.list {
		switch {
		case c.custom:
			if c.id == "" {
				c.id = newID()
			}
			data, _ := json.Marshal(map[string]any{ // strings have no way to fail
				"id": c.id, "type": "custom", "custom": customDelta{Name: c.customName.String(), Input: c.input.String()},
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

// digest tells texts apart without keeping them (FNV-1a).
type digest struct {
	length int
	hash   uint64
}

func (d *digest) add(piece string) {
	h := d.hash
	for i := range len(piece) {
		h = (h ^ uint64(piece[i])) * 1099511628211
	}
	d.length, d.hash = d.length+len(piece), h
}
