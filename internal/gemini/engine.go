package gemini

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/internal/splice"
	"github.com/punctual-llm/punctual/llm"
)

// Form is the kind of service behind an address.
type Form uint8

// The forms.
const (
	FormVertex  Form = iota // Vertex AI: the models of a project and location
	FormExpress             // Vertex AI with an API key alone: no project in the path
	FormGemini              // the Gemini API
)

// Settings are what an engine opens a connection with. They were checked.
type Settings struct {
	Form     Form
	Project  string
	Location string
	Model    string // as configured
	Base     string // address of the service, without the version
	Version  string // v1beta1, for example
	Custom   bool   // Base is not one of Google's own addresses
	APIKey   string // "": every call has a token
	HTTP     *http.Client
	Hint     *deadline.Header // a gateway's own; nil: none
}

// Conn carries calls to one model. Its methods are for any number of goroutines.
type Conn interface {
	// Do begins a call. It does not fail: the first Next does.
	Do(ctx context.Context, c *Call) Reply
	// Close closes what no call uses.
	Close() error
}

// Checker is a Conn that cannot carry every request, and makes its own form of those that it can. Check is asked before
// anything else is, the credential included: its error is a *llm.Error, or that of ctx if it ends. The body has stand-ins
// for long values. What it made of the body goes into the Call, in place of Body.
type Checker interface {
	Check(ctx context.Context, body []byte, long *splice.Values) (prepared any, err error)
}

// PartCarrier is a Conn that can send the parts that stand for bytes: see BytesMember.
type PartCarrier interface{ CarriesBytes() bool }

// BytesMember is the only member of a part in JSON that stands for the bytes of a part that has no JSON form. Only an
// engine that speaks protocol buffers makes such parts, and only such a one can send them.
const BytesMember = "vertexaiPart"

// Call is one request.
type Call struct {
	Body         []byte // generateContent's request as JSON; it is not changed. nil for a Checker
	Prepared     any    // what Check made of it; nil without one
	Stream       bool
	Token        string // bearer token; "" with an API key
	QuotaProject string // to be billed for the quota, with the token; "" is its own
}

// Reply is what comes back, for one goroutine.
type Reply interface {
	// Next returns the next piece of the answer, the whole of it if the call does not stream. The error is io.EOF
	// behind the last piece, else a *Failure. After an error there is nothing more.
	Next() (*Response, error)
	// Linger bounds how long each further Next may wait; 0 lifts the bound. What it returns at the bound is any error.
	Linger(d time.Duration)
	// Describe adds to an error what is known of the exchange: Status, if it has none, and RequestID.
	Describe(e *llm.Error)
	// Close ends the call. It is called once, and Next not after it.
	Close()
}

// Failure is how an engine reports an error.
type Failure struct {
	// Err has everything but Model and Partial. When the context of the call is over, its Kind does not matter.
	Err *llm.Error
	// Reported: these are the service's words inside an answer that had begun, so they count although the context is
	// over. Neither they nor a way that broke do harm to an answer that had shown its end; a stream with content behind
	// its end mark has not.
	Reported bool
}

// Error is that of Err.
func (f *Failure) Error() string { return f.Err.Error() }
