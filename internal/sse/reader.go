package sse

import (
	"errors"
	"io"
)

// maxEvent bounds the bytes of one line and of one event. The largest healthy
// events carry an inline image, a few MiB.
const maxEvent = 16 << 20

var (
	// ErrTooLarge ends a stream that sends a line or an event over 16 MiB.
	ErrTooLarge = errors.New("sse: event larger than 16 MiB")

	// ErrUnfinished stands for io.EOF when the stream ended inside an event. It
	// is deliberately no io.ErrUnexpectedEOF, which some SDKs take for a clean
	// end.
	ErrUnfinished = errors.New("sse: stream ended inside an event")
)

// Reader is the rewritten stream. A Read returns as soon as one event is ready.
//
// Like any body it belongs to one goroutine at a time, except that Close may be
// called during a Read if the inner body allows it.
type Reader struct {
	body io.ReadCloser
	in   lines

	out  []byte // the event ready to be read
	off  int    // how much of out was read
	done error  // what Read returns once out is empty

	data    []byte  // data lines of the current event that are not whole yet
	scan    scanner // how far data is from one JSON value
	kind    kind    // from the event line
	started bool    // the first line was seen

	payload    []byte
	unfinished bool
}

// NewReader returns a Reader over body.
func NewReader(body io.ReadCloser) *Reader {
	const in, out = 4 << 10, 1 << 10
	mem := make([]byte, in+out)
	return &Reader{
		body: body,
		in:   lines{src: body, buf: mem[:in:in], limit: maxEvent},
		out:  mem[in:in],
	}
}

// Read fills p with what is ready of the rewritten stream, at most up to the
// end of the current event. It reads the inner body only when nothing is ready.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.off == len(r.out) {
		if r.done != nil {
			return 0, r.done
		}
		r.out, r.off = r.out[:0], 0
		r.step()
	}
	n := copy(p, r.out[r.off:])
	r.off += n
	return n, nil
}

// Close closes the inner body.
func (r *Reader) Close() error { return r.body.Close() }

// ErrorPayload returns the first event read so far that reported an error, as
// compact JSON that begins {"error":, or nil. It is known before Read hands the
// event over. The caller must not change it.
func (r *Reader) ErrorPayload() []byte { return r.payload }

// Unfinished reports whether the stream ended inside an event. It is known
// before Read hands over what there is of that event.
func (r *Reader) Unfinished() bool { return r.unfinished }

// step takes the next line, or gets more bytes for it.
func (r *Reader) step() {
	line, ok, err := r.in.next()
	if ok {
		err = r.line(r.unmark(line))
	} else if err == nil {
		err = r.in.fill()
	}
	if err != nil {
		r.finish(err)
	}
}

// finish deals with what the end of the stream left over.
func (r *Reader) finish(err error) {
	r.done = err
	if errors.Is(err, ErrTooLarge) {
		return
	}
	rest := r.unmark(r.in.rest())
	if len(rest) > 0 {
		if lineErr := r.line(rest); lineErr != nil {
			r.done = lineErr
			return
		}
	}
	if !errors.Is(err, io.EOF) {
		return
	}
	switch {
	case len(r.data) > 0:
		r.passOn()
	case cutField(rest):
		r.text(trim(rest))
	default:
		return
	}
	r.unfinished, r.done = true, ErrUnfinished
}
