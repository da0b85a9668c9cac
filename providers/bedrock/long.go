package bedrock

import (
	"bytes"
	"context"

	"github.com/punctual-llm/punctual/internal/splice"
)

// takeOut puts stand-ins in the places of long texts and media.
func (b *body) takeOut(long *splice.Values) {
	if long == nil {
		return
	}
	takeOut(long, b.System)
	for i := range b.Messages {
		takeOut(long, b.Messages[i].Content)
	}
}

func takeOut(long *splice.Values, blocks []any) {
	for _, one := range blocks {
		b, ok := one.(*block)
		if !ok {
			continue
		}
		b.Text = long.Text(b.Text)
		if b.Reasoning != nil {
			b.Reasoning.Text.Text = long.Text(b.Reasoning.Text.Text)
		}
		for _, m := range []*media{b.Image, b.Document, b.Video, b.Audio} {
			if m != nil {
				m.Source.Text, m.Source.Bytes = long.Text(m.Source.Text), long.Bytes(m.Source.Bytes)
			}
		}
		if b.ToolResult != nil {
			takeOut(long, b.ToolResult.Content)
		}
	}
}

// bodyReader is a body that the SDK hashes and copies, as long as its context lives.
type bodyReader struct {
	bytes *bytes.Reader   // hidden, so that nobody takes all of it at once
	ctx   context.Context //nolint:containedctx // it lives as long as the one call it belongs to
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.bytes.Read(p)
}

// Seek implements io.Seeker.
func (r *bodyReader) Seek(offset int64, whence int) (int64, error) {
	return r.bytes.Seek(offset, whence)
}
