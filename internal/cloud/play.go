package cloud

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// resetGrace lets what was written reach the peer before a reset, which may throw away what is on its way.
const resetGrace = 5 * time.Millisecond

// Play sends reply. It returns when that is done or the peer has left. A reply that ends in a cut or a reset
// ends the handler too, by a panic with http.ErrAbortHandler as net/http wants it, so Play comes last.
func (x *Exchange) Play(reply Reply) {
	ctx := x.R.Context()
	if !pause(ctx, reply.Wait) {
		x.left()
		return
	}
	if reply.Status != NoStatus {
		x.writeHead(&reply)
		if !x.writeBody(ctx, &reply) {
			x.left()
			return
		}
	}
	switch reply.End {
	case EndHang:
		<-ctx.Done()
		x.left()
	case EndCut:
		panic(http.ErrAbortHandler)
	case EndReset:
		pause(ctx, resetGrace)
		x.reset()
	default:
	}
}

func (x *Exchange) writeHead(reply *Reply) {
	h := x.W.Header()
	maps.Copy(h, reply.Header.Clone())
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // or net/http would guess one
	}
	if reply.Gzip {
		h.Set("Content-Encoding", "gzip")
	}
	if reply.plain() && h.Get("Content-Length") == "" {
		h.Set("Content-Length", strconv.Itoa(len(reply.Body)))
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	x.SetStatus(status)
	x.W.WriteHeader(status)
}

// writeBody sends all that comes after the header; false: the peer left.
func (x *Exchange) writeBody(ctx context.Context, reply *Reply) bool {
	out := &pieces{ctx: ctx, w: x.W, rc: http.NewResponseController(x.W), size: reply.WriteSize, every: reply.WriteEvery}
	write := out.write
	var zip *gzip.Writer
	if reply.Gzip {
		var packed bytes.Buffer
		zip = gzip.NewWriter(&packed)
		write = func(data []byte) bool {
			_, _ = zip.Write(data)
			_ = zip.Flush()
			ok := out.write(packed.Bytes())
			packed.Reset()
			return ok
		}
		defer func() {
			if reply.End.proper() && zip.Close() == nil {
				out.write(packed.Bytes())
			}
		}()
	}
	start := time.Now()
	if !write(reply.Body) {
		return false
	}
	for _, c := range reply.Chunks {
		if !pause(ctx, max(0, time.Until(start.Add(c.At)))) || !write(c.Data) {
			return false
		}
	}
	blanks := Ping{Text: string(bytes.Repeat([]byte(" "), max(0, reply.Drip.Bytes))), Every: reply.Drip.Every}
	return repeat(ctx, reply.Ping, write) && repeat(ctx, blanks, write)
}

// repeat sends p until its time is over; false: the peer left.
func repeat(ctx context.Context, p Ping, write func([]byte) bool) bool {
	if p.Text == "" || p.Every <= 0 {
		return true
	}
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for end := time.Now().Add(p.For); ; {
		select {
		case <-ctx.Done():
			return false
		case now := <-tick.C:
			if p.For > 0 && now.After(end) {
				return true
			}
			if !write([]byte(p.Text)) {
				return false
			}
		}
	}
}

// reset closes the connection so that the peer sees a TCP reset.
func (x *Exchange) reset() {
	conn, _, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: only the stream is ours
	}
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = wrapped.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// pieces writes and flushes in pieces of size bytes (0: all at once).
type pieces struct {
	ctx   context.Context //nolint:containedctx // lives for one call of writeBody
	w     io.Writer
	rc    *http.ResponseController
	size  int
	every time.Duration
}

// write sends data; false: the peer left.
func (p *pieces) write(data []byte) bool {
	for first := true; len(data) > 0 || first; first = false {
		if !first && !pause(p.ctx, p.every) {
			return false
		}
		n := len(data)
		if p.size > 0 {
			n = min(n, p.size)
		}
		if _, err := p.w.Write(data[:n]); err != nil {
			return false
		}
		if p.rc.Flush() != nil {
			return false
		}
		data = data[n:]
	}
	return true
}

// pause waits d, for ever if d is [Never]; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == Never {
		<-ctx.Done()
		return false
	}
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
