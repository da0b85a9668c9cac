package bedrock

import (
	"bytes"
	"encoding/json"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/llm"
)

// sort is what a block turns into.
type sort int

const (
	asText sort = iota
	asReasoning
	asCall
	asCitations
	asImage
	asBlock // opaque
)

// piece is a part in the making: a block of the wire, or one side of a block that has two.
type piece struct {
	sort  sort
	index int  // in the message
	out   bool // left out

	signature []byte
	block     map[string]any // of asBlock: what comes inside of its outer member
	outer     string         // the member, or the format of an image
	input     []byte         // whatever else comes in pieces
}

// pieces are the parts in the making of an answer, found without a search: a hostile answer has many.
type pieces struct {
	list   []*piece
	latest map[place]*piece
	inputs map[int]*piece // the latest of a block that takes the input of a call
}

// place is an index on the wire, and which side of the block there.
type place struct {
	vendor int
	sort   sort
}

// maxBlocks bounds the blocks of a stream. A long answer with citations has thousands.
const maxBlocks = 1 << 13

// piece finds or begins the piece of a block.
func (a *answer) piece(vendor int, s sort) (*piece, error) {
	if p := a.blocks.latest[place{vendor, s}]; p != nil {
		return p, nil
	}
	return a.begin(vendor, s)
}

func (a *answer) begin(vendor int, s sort) (*piece, error) {
	b := &a.blocks
	if len(b.list) == maxBlocks {
		return nil, bounds.TooLarge
	}
	p := &piece{sort: s, index: a.parts}
	a.parts++
	b.list = append(b.list, p)
	if b.latest == nil {
		b.latest = make(map[place]*piece)
	}
	b.latest[place{vendor, s}] = p
	if s == asCall || s == asBlock {
		if b.inputs == nil {
			b.inputs = make(map[int]*piece)
		}
		b.inputs[vendor] = p
	}
	return p, nil
}

// open begins an opaque block of about size bytes.
func (a *answer) open(vendor int, outer string, block map[string]any, size int) error {
	if err := a.content.Grow(size); err != nil {
		return err
	}
	p, err := a.begin(vendor, asBlock)
	if err != nil {
		return err
	}
	p.outer, p.block = outer, block
	return nil
}

// hold keeps a piece of what no event brings.
func (a *answer) hold(held *[]byte, s string) error {
	if err := a.content.Grow(len(s)); err != nil {
		return err
	}
	*held = append(*held, s...)
	return nil
}

// join keeps elements of a JSON array.
func (a *answer) join(p *piece, elements []byte) error {
	if len(p.input) > 0 {
		p.input = append(p.input, ',')
	}
	return a.hold(&p.input, string(elements))
}

// elementsOf is what stands between the brackets of a JSON array; nothing if it is none.
func elementsOf(array json.RawMessage) []byte {
	if len(array) < 2 || array[0] != '[' {
		return nil
	}
	return bytes.TrimSpace(array[1 : len(array)-1])
}

// array is the JSON array of what was joined.
func (p *piece) array() json.RawMessage {
	return append(append([]byte{'['}, p.input...), ']')
}

// put adds what no event brings: signatures, citations, opaque parts.
func (a *answer) put() {
	for _, p := range a.blocks.list {
		switch {
		case p.sort == asReasoning && len(p.signature) > 0:
			a.acc.Put(p.index, llm.Reasoning{Signature: p.signature})
		case p.sort == asCitations:
			data, _ := json.Marshal(p.array()) // its elements were decoded
			a.acc.Put(p.index, llm.Opaque{Type: CitationsType, Data: data})
		case p.sort == asImage && len(p.input) > 0:
			a.acc.Put(p.index, llm.Media{MediaType: "image/" + p.outer, Data: p.input})
		case p.sort == asBlock:
			if data := p.blockData(); data != nil {
				a.acc.Put(p.index, llm.Opaque{Type: BlockType, Data: data})
			}
		}
	}
}

// blockData puts an opaque block together again, nil if its pieces are no JSON.
func (p *piece) blockData() json.RawMessage {
	switch p.outer {
	case "toolUse":
		if len(bytes.TrimSpace(p.input)) == 0 {
			p.input = []byte("{}")
		}
		p.block["input"] = json.RawMessage(p.input)
	case "toolResult":
		p.block["content"] = p.array()
	default:
		p.block["redactedContent"] = p.input
	}
	data, err := marshal(map[string]any{p.outer: p.block})
	if err != nil {
		return nil
	}
	return data
}
