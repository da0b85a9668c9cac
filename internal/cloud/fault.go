package cloud

import (
	"net/http"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// FaultHeader is the request header by which a client orders a fault for its own request.
const FaultHeader = "X-Punctual-Fault"

// Fault bends one answer. The zero Fault changes nothing. [ParseFault] has the meaning of each field.
type Fault struct {
	Delay, Gap time.Duration

	Hang llmtest.Phase

	Kind       llm.Kind // of an error
	Status     int      // of an error, or of Body
	Code       string
	RetryAfter time.Duration
	At         llmtest.Phase

	Cut    Place // with End cut or reset
	CutEnd bool  // all content comes, its end mark does not
	End    End

	Ping Ping // Text is the vendor's
	Drip Drip

	WriteSize  int
	WriteEvery time.Duration
	Gzip       bool
	Header     http.Header
	Body       *string
}

// Fails reports whether f orders the vendor's error in place of the answer.
func (f *Fault) Fails() bool {
	return f.Body == nil && (f.Kind != "" || f.Status >= http.StatusBadRequest)
}

// Step bends what a step can say: errors, hangs, pauses between events, a missing end mark.
func (f *Fault) Step(s llmtest.Step) llmtest.Step {
	if f.Gap > 0 {
		s.Gap = f.Gap
	}
	if f.Hang != "" {
		s.Error, s.Cut, s.Phase = nil, false, f.Hang
	}
	if f.Fails() {
		s.Cut, s.Phase = false, f.At
		s.Error = &llm.Error{Kind: f.Kind, Status: f.Status, Code: f.Code, RetryAfter: f.RetryAfter}
	}
	if f.CutEnd {
		s.Error, s.Phase, s.Cut = nil, "", true
	}
	return s
}

// Reply bends what is a matter of bytes and times. Ping is a frame that the vendor's clients must skip in a
// stream of events.
func (f *Fault) Reply(r Reply, ping string) Reply {
	if f.Delay > 0 && r.Wait != Never {
		r.Wait += f.Delay
	}
	r = f.replace(r)
	r.Gzip = r.Gzip || f.Gzip
	if f.WriteSize > 0 {
		r.WriteSize, r.WriteEvery = f.WriteSize, f.WriteEvery
	}
	if f.Cut != "" {
		r = r.CutAt(f.Cut, f.End)
	} else if f.CutEnd {
		r.End = f.End
	}
	if f.Ping.Every > 0 {
		r = f.pinged(r, ping)
	}
	if f.Drip.Bytes > 0 {
		r.Drip, r.Body, r.Chunks, r.End = f.Drip, nil, nil, EndHang
	}
	return r
}

// replace sets the header fields and the body of the fault.
func (f *Fault) replace(r Reply) Reply {
	if f.Header != nil || f.Body != nil {
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
	}
	if f.Status > 0 && f.Status < http.StatusBadRequest {
		r.Status = f.Status
	}
	if f.Body != nil {
		r.Body, r.Chunks, r.Ping, r.End = []byte(*f.Body), nil, Ping{}, EndEOF
		r.Status = f.Status
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range f.Header {
		r.Header[name] = values
	}
	return r
}

// pinged puts pings before the content, for a time; without a time, after what comes before a hang. Where no
// events come, a ping is a blank, which JSON allows in front of it; without a text there is none.
func (f *Fault) pinged(r Reply, text string) Reply {
	if text != "" && !r.streams() {
		text = " "
	}
	if f.Ping.For <= 0 {
		r.Ping = Ping{Text: text, Every: f.Ping.Every}
		return r.longer(-1)
	}
	var chunks []Chunk
	for at := time.Duration(0); at < f.Ping.For; at += f.Ping.Every {
		chunks = append(chunks, Chunk{At: at, Data: []byte(text)})
	}
	r = r.longer(len(chunks) * len(text))
	if len(r.Body) > 0 {
		chunks = append(chunks, Chunk{At: f.Ping.For, Data: r.Body})
		r.Body = nil
	}
	for _, c := range r.Chunks {
		c.At += f.Ping.For
		chunks = append(chunks, c)
	}
	r.Chunks = chunks
	return r
}
