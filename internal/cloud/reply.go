package cloud

import (
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Never as [Reply.Wait] means that no answer comes: the socket stays open until the peer leaves.
const Never time.Duration = -1

// NoStatus as [Reply.Status] means that nothing is sent, not even a status line: only End happens.
const NoStatus = -1

// Reply is what goes over the wire for one request: exact bytes on a schedule. Its parts are sent in the order
// of the fields. The zero Reply is an empty 200.
type Reply struct {
	Wait   time.Duration // before the status line; [Never]
	Status int           // 0 is 200; [NoStatus]
	// Header is sent as it is. Without a Content-Type none is sent. A Content-Length is added only to a Body
	// that ends properly and has no other parts.
	Header http.Header
	Body   []byte  // at once after the header
	Chunks []Chunk // each flushed when its time has come
	Ping   Ping
	Drip   Drip
	// WriteSize above 0 sends everything in pieces of so many bytes, each flushed; WriteEvery is the pause
	// between two of them.
	WriteSize  int
	WriteEvery time.Duration
	Gzip       bool // Content-Encoding gzip, flushed after the body and after each chunk
	End        End
}

// Chunk is bytes that are sent At a time counted from the header.
type Chunk struct {
	At   time.Duration
	Data []byte
}

// Ping repeats Text each Every, For so long; For 0 is until the peer leaves.
type Ping struct {
	Text       string
	Every, For time.Duration
}

// Drip sends so many blanks each Every until the peer leaves: a body that never comes to anything.
type Drip struct {
	Bytes int
	Every time.Duration
}

// End says how a reply ends.
type End string

// The ends. Over HTTP/2, where requests share a connection, cut and reset both reset the stream.
const (
	EndEOF   End = "eof"   // the proper end of the body; the zero End means the same
	EndCut   End = "cut"   // the connection is closed without the end of the body
	EndReset End = "reset" // the connection is reset (TCP RST)
	EndHang  End = "hang"  // nothing more comes; the connection stays open until the peer leaves
)

// proper reports whether the body gets its end.
func (e End) proper() bool { return e == "" || e == EndEOF }

// plain reports whether the reply is one body whose length is known when it starts.
func (r *Reply) plain() bool {
	return len(r.Chunks) == 0 && r.Ping == Ping{} && r.Drip == Drip{} && r.End.proper() && !r.Gzip
}

// The media types of streams of events: server-sent ones, and the frames of AWS.
const (
	sseType   = "text/event-stream"
	frameType = "application/vnd.amazon.eventstream"
)

// media is the media type of the reply.
func (r *Reply) media() string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media
}

// streams reports whether the reply is a stream of events, the messages of gRPC included.
func (r *Reply) streams() bool {
	media := r.media()
	return len(r.Chunks) > 0 || media == sseType || media == frameType || media == "application/grpc"
}

// longer returns r with a Content-Length, if it has one, that is n bytes longer, or with none if n is below 0.
func (r Reply) longer(n int) Reply {
	length, err := strconv.Atoi(r.Header.Get("Content-Length"))
	if err != nil {
		return r
	}
	r.Header = r.Header.Clone()
	r.Header.Del("Content-Length")
	if n >= 0 {
		r.Header.Set("Content-Length", strconv.Itoa(length+n))
	}
	return r
}

// Place is where [Reply.CutAt] cuts.
type Place string

// The places, in order.
const (
	CutStart Place = "start" // before the status line
	CutHalf  Place = "half"  // after the first half of the chunks or of the body
	CutFrame Place = "frame" // after the first half of the chunks and half of the next one
)

// CutAt returns r cut short at a place and ended by end. A body keeps the Content-Length of the whole.
func (r Reply) CutAt(at Place, end End) Reply {
	r.End, r.Ping, r.Drip = end, Ping{}, Drip{}
	if at == CutStart {
		r.Status = NoStatus
		return r
	}
	if len(r.Chunks) == 0 {
		return r.cutBody(len(r.Body) / 2)
	}
	half := (len(r.Chunks) + 1) / 2
	chunks := append([]Chunk(nil), r.Chunks[:half]...)
	if at == CutFrame && half < len(r.Chunks) {
		next := r.Chunks[half]
		next.Data = next.Data[:len(next.Data)/2]
		chunks = append(chunks, next)
	}
	r.Chunks = chunks
	return r
}

// cutBody keeps n bytes of the body under the Content-Length of all of it.
func (r Reply) cutBody(n int) Reply {
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if r.Header.Get("Content-Length") == "" && !r.Gzip {
		r.Header.Set("Content-Length", strconv.Itoa(len(r.Body)))
	}
	r.Body = r.Body[:n]
	return r
}

// CutBody returns r with the first n bytes of its body, the Content-Length of all of it, and end.
func (r Reply) CutBody(n int, end End) Reply {
	r.End = end
	return r.cutBody(n)
}
