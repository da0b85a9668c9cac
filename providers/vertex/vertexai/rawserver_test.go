package vertexai_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/providers/vertex"
)

// raw is the server's side of a connection in HTTP/2, frame by frame: what no server of a library would send.
type raw struct {
	net.Conn
	stream uint32 // of the latest request
}

// Frames of HTTP/2, and what they are marked with.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameGoAway = 0, 1, 3, 4, 7
	endStream, endHeaders, settingsAck                              = 1, 4, 1
)

func (r *raw) frame(kind, flags byte, stream uint32, payload []byte) {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	_, _ = r.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
}

// header sends names and values in turn, as literals that no table keeps.
func (r *raw) header(flags byte, pairs ...string) {
	var block []byte
	for i, s := range pairs {
		if i%2 == 0 {
			block = append(block, 0)
		}
		if n := len(s); n < 127 {
			block = append(block, byte(n))
		} else {
			block = append(block, 127)
			block = binary.AppendUvarint(block, uint64(n-127))
		}
		block = append(block, s...)
	}
	r.frame(frameHeaders, endHeaders|flags, r.stream, block)
}

// begin sends the header of an answer.
func (r *raw) begin(more ...string) {
	r.header(0, append([]string{":status", "200", "content-type", "application/grpc"}, more...)...)
}

// end sends a status, alone or behind an answer that has begun.
func (r *raw) end(status, words string) {
	r.header(endStream, "grpc-status", status, "grpc-message", words)
}

func (r *raw) data(b []byte)      { r.frame(frameData, 0, r.stream, b) }
func (r *raw) message(m *message) { r.data(framed(0, encoded(m))) }

// reset ends the stream and goAway the connection.
func (r *raw) reset(code uint32) {
	r.frame(frameReset, 0, r.stream, binary.BigEndian.AppendUint32(nil, code))
}

func (r *raw) goAway(last, code uint32, words string) {
	p := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code)
	r.frame(frameGoAway, 0, 0, append(p, words...))
}

// framed is a message as gRPC wraps it.
func framed(flag byte, m []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(m))), m...)
}

func encoded(m *aiplatformpb.GenerateContentResponse) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// overRaw answers every request that has come whole with handle, and returns a provider that asks it.
func overRaw(t *testing.T, handle func(r *raw)) *vertex.Provider {
	t.Helper()
	l := listen(t)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { (&raw{Conn: c}).serve(handle) })
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(func() { _ = l.Close() })
	return new(server).provider(t, func(o *vertex.Options) { o.Endpoint = "http://" + l.Addr().String() })
}

func (r *raw) serve(handle func(r *raw)) {
	defer func() { _ = r.Close() }()
	if _, err := io.CopyN(io.Discard, r, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	r.frame(frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		n := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, r, n); errors.Is(err, net.ErrClosed) {
			return
		}
		switch kind, flags := head[3], head[4]; {
		case kind == frameSettings && flags&settingsAck == 0:
			r.frame(frameSettings, settingsAck, 0, nil)
		case kind <= frameHeaders && flags&endStream != 0:
			r.stream = binary.BigEndian.Uint32(head[5:])
			handle(r)
		}
	}
}
