package vertex

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llmtest"
)

// The vocabulary that all simulated clouds share.
type (
	// Reply is what goes over the wire for one request: exact bytes on a schedule, whatever the request was. The zero
	// Reply is an empty 200. Its parts come in this order: Wait before the status line (negative: no answer ever comes);
	// Status (0 is 200, -1 sends nothing at all); Header, as it is; Body at once; Chunks, each at its time; a Ping; a Drip.
	// WriteSize above 0 sends everything in pieces of so many bytes with WriteEvery between them, Gzip compresses. End is
	// "eof" (or ""), "cut" (closed inside the body), "reset" (TCP RST) or "hang" (open, and nothing more comes).
	Reply = cloud.Reply
	// Chunk is a part of a Reply: Data that is sent At a time counted from the header.
	Chunk = cloud.Chunk
	// Ping repeats Text each Every, For so long; For 0 is until the peer leaves. It is the part of a Reply that keeps a
	// stream alive and says nothing.
	Ping = cloud.Ping
	// Drip sends so many blanks (Bytes) each Every until the peer leaves: the part of a Reply that never comes to anything.
	Drip = cloud.Drip
	// Turn is the answer to one request. Step says what the model answers, in the terms of package llmtest; a Reply in its
	// place is sent as it is, and the request is not checked. Fault bends the answer by a list such as
	// "status=429,retry-after=2", "hang=stream,ping=50ms" or "reset=half" (docs/simulated-clouds.md has all of them). Count
	// is how many requests get it; 0 is the step's own Count, or 1.
	Turn = cloud.Turn
	// Request is one request as the server saw it: its number N in order of arrival and its Time since the epoch; Proto,
	// Method, Path, Query and Header, with credentials masked; the whole Body; the Model asked for and whether it asked for
	// a Stream; the Status replied with (0: nothing was sent) and the time it Took. Gone: the peer left before the reply
	// was over. Open: it has not ended, so Status, Took and Gone may change. Over gRPC, Body is the message in JSON,
	// and Status what REST would have answered with.
	Request = cloud.Request
)

// Options shape a Server. The zero Options take any credential, any project and any model.
type Options struct {
	// Script has the answers in order; the last repeats. Empty: "ok".
	Script []Turn
	// Next, if set, gives the answers instead of Script and Raw. Calls overlap.
	Next func(Request) Turn
	// Improvise gives steps without a Response one that fits the request, as a model would: a call of a tool
	// where it has to call one, or may and has no result of a tool yet; JSON that fits the schema where it is
	// asked for that; and else a text.
	Improvise bool
	// Token (OAuth) and APIKey are the only credentials taken; both empty: any.
	Token, APIKey string
	// Project and Location are the only ones served; empty: any.
	Project, Location string
	// Models maps the names of models, and the ids of tuned endpoints, to the models behind them. Nil: every name
	// is one, and its own model too.
	Models map[string]string
	// Lenient answers requests that the service would refuse for their fields.
	Lenient bool
	// TLS serves over TLS, with a certificate that only [Server.CertPool] trusts: gRPC clients send tokens over
	// nothing less.
	TLS bool
	// OnRequest hears of each request once, when it has ended. Calls overlap.
	OnRequest func(Request)
	// Keep bounds the requests that the log keeps; 0 keeps all, as a test wants it.
	Keep int
	// Epoch is what Request.Time counts from; zero: the start.
	Epoch time.Time
}

// Server is a simulated cloud.
type Server struct {
	URL  string // for REST, and for the engine of package vertex that speaks gRPC; "" if it does not listen by itself, see [New]
	GRPC string // host and port of URL, as grpc.NewClient takes them

	opts    Options
	account *cloud.Account
	pool    *x509.CertPool
}

// maxBody is the service's own limit of a request.
const maxBody = 20971520

// Start starts a Server on a free port of 127.0.0.1. It panics if there is none.
func Start(script ...llmtest.Step) *Server {
	return StartOptions(&Options{Script: cloud.Steps(script...)})
}

// StartOptions is Start with all that can be set. A nil o is the zero Options.
func StartOptions(o *Options) *Server {
	s := New(o)
	if s.opts.TLS {
		t := cloud.MustListenTLS(s.Handler())
		s.URL, s.pool = s.account.Own(t.Server), t.CertPool()
	} else {
		s.URL = s.account.Own(cloud.MustListenConns(s.Handler()))
	}
	_, s.GRPC, _ = strings.Cut(s.URL, "://")
	return s
}

// New returns a Server that does not listen: mount its Handler.
func New(o *Options) *Server {
	if o == nil {
		o = &Options{}
	}
	log := &cloud.Log{Epoch: o.Epoch, OnRequest: o.OnRequest, MaxBody: maxBody, Keep: o.Keep}
	return &Server{opts: *o, account: cloud.NewAccount(o.Script, o.Next, log)}
}

// Handler serves the cloud on any listener; gRPC needs one with HTTP/2.
func (s *Server) Handler() http.Handler { return s.account.Log.Handler(s.serve) }

// CertPool trusts the server and nobody else; nil without [Options.TLS].
func (s *Server) CertPool() *x509.CertPool {
	if s.pool == nil {
		return nil
	}
	return s.pool.Clone()
}

// Raw answers the next requests with exact bytes, whatever they ask, before the script goes on.
func (s *Server) Raw(replies ...Reply) { s.account.Script.Push(cloud.Replies(replies...)...) }

// Requests returns all requests so far in order of arrival.
func (s *Server) Requests() []Request { return s.account.Log.Requests() }

// Wait returns when n requests have ended. A server hears a little later than its client that the client left.
func (s *Server) Wait(ctx context.Context, n int) error { return s.account.Log.Wait(ctx, n) }

// Close ends every connection, answers that hang included, and waits for them. On a listener of your own,
// close that first.
func (s *Server) Close() { s.account.Close() }

// serve answers one request: with the exact bytes of its turn, with the refusal it deserves, or with its step.
func (s *Server) serve(x *cloud.Exchange) {
	c := s.newCall(x)
	x.Describe(c.asked, c.stream)
	turn, fault, err := s.account.Turn(x)
	if err != nil {
		c.send(badFault(err).reply(c))
		return
	}
	var r Reply
	switch {
	case turn.Reply == nil:
		if no := s.check(c); no != nil {
			c.send(no.reply(c)) // no fault bends a refusal
			return
		}
		c.bend(&fault)
		step := fault.Step(turn.Step)
		if s.opts.Improvise {
			step = cloud.Improvise(step, c.improvise)
		}
		r = c.play(step)
	case fault.Fails(): // in place of the bytes
		c.bend(&fault)
		r = c.play(fault.Step(llmtest.Step{}))
	default:
		r = fault.Exact(*turn.Reply)
		c.send(fault.Reply(r, c.ping(&r)))
		return
	}
	c.send(c.unwrap(fault.Reply(r, c.ping(&r))))
}
