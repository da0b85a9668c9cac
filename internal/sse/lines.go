package sse

import (
	"bytes"
	"io"
)

// lines cuts a stream into lines that end in LF, CR or CRLF. A line is given out
// as soon as its end has arrived: the LF after a CR is skipped when it comes.
type lines struct {
	src   io.Reader
	err   error // from src, due when the bytes before it are used up
	limit int

	buf  []byte
	pos  int // start of the current line
	end  int // end of the bytes read
	seen int // buf[pos:seen] holds no line end
	lf   int // buf[pos:lf] holds no LF

	skipLF bool // the last line ended in CR
}

// next returns the next line without its end, valid until the next call of a
// method, or false if it has not arrived yet.
//
// The positions of the last searches are kept: without them a long line in many
// small reads, or CR lines in a stream without LF, would be searched over and
// over.
func (l *lines) next() ([]byte, bool, error) {
	if l.skipLF && l.pos < l.end {
		l.skipLF = false
		if l.buf[l.pos] == '\n' {
			l.pos++
		}
	}
	l.lf = max(l.lf, l.pos)
	if i := bytes.IndexByte(l.buf[l.lf:l.end], '\n'); i >= 0 {
		l.lf += i
	} else {
		l.lf = l.end
	}
	stop := l.lf
	l.seen = max(l.seen, l.pos)
	if i := bytes.IndexByte(l.buf[l.seen:l.lf], '\r'); i >= 0 {
		stop = l.seen + i
		l.skipLF = true
	}
	l.seen = stop
	if stop-l.pos > l.limit {
		return nil, false, ErrTooLarge
	}
	if stop == l.end {
		return nil, false, nil
	}
	line := l.buf[l.pos:stop]
	l.pos = stop + 1
	return line, true, nil
}

// fill reads more bytes. It returns the error of the source once all bytes
// before it were handed out.
func (l *lines) fill() error {
	if l.err != nil {
		return l.err
	}
	l.room()
	const patience = 100 // as bufio: a source may return nothing now and then
	for range patience {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	l.err = io.ErrNoProgress
	return l.err
}

// room makes space after end. It moves the rest of the bytes only when at least
// half of the buffer is gained, so that each byte moves a fixed number of times.
func (l *lines) room() {
	switch {
	case l.pos == l.end:
		l.pos, l.end, l.seen, l.lf = 0, 0, 0, 0
	case l.end < len(l.buf):
	case l.pos >= len(l.buf)/2:
		l.shift(l.buf)
	default:
		l.shift(make([]byte, 2*len(l.buf)))
	}
}

func (l *lines) shift(to []byte) {
	l.end = copy(to, l.buf[l.pos:l.end])
	l.seen = max(l.seen-l.pos, 0)
	l.lf = max(l.lf-l.pos, 0)
	l.pos, l.buf = 0, to
}

// rest returns the line that the end of the stream left without a line end.
func (l *lines) rest() []byte {
	line := l.buf[l.pos:l.end]
	l.pos = l.end
	return line
}
