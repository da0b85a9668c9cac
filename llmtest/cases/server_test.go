package cases_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/internal/cloud"
)

// fake is the server of one provider. The n-th request gets the n-th reply; a request beyond them is a fault.
type fake struct {
	provider string
	call     *callForm
	log      cloud.Log
	server   *cloud.Server
	opened   atomic.Int64 // connections

	mu       sync.Mutex
	script   []scripted
	requests []*request
	problems []string
}

// scripted is a reply and the requests it was sent for.
type scripted struct {
	*reply

	used  int
	calls map[string]bool
}

// request is one request as the fake saw it.
type request struct {
	n             int // from 1
	host          string
	path, escaped string
	query         string
	header        http.Header
	raw           []byte
	body          any // of JSON
	stream, rpc   bool
	model         string
	call          string // the number in the prompt
}

// startFake serves the replies of one provider on loopback.
func startFake(provider string, c *faultCase) (*fake, error) {
	f := &fake{provider: provider, call: &c.Call, log: cloud.Log{Epoch: time.Now()}}
	for i := range c.Wire[provider] {
		f.script = append(f.script, scripted{reply: &c.Wire[provider][i], calls: map[string]bool{}})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.server = cloud.ServeConns(&counting{Listener: l, n: &f.opened}, f.log.Handler(f.serve))
	return f, nil
}

func (f *fake) close() {
	f.server.Close()
	f.log.Drain()
}

// counting counts the connections that are made.
type counting struct {
	net.Listener

	n *atomic.Int64
}

// Accept implements net.Listener.
func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.n.Add(1)
	}
	return conn, err
}

func (f *fake) serve(x *cloud.Exchange) {
	q := readRequest(f.provider, x)
	if f.call.Mode == "unary" {
		q.asWhole()
	}
	r := f.pick(q)
	if q.rpc {
		x.ResetConn()
	}
	x.Play(f.render(r, q))
}

// pick chooses the reply to q.
func (f *fake) pick(q *request) *reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, q)
	q.n = len(f.requests)
	r := f.next(q)
	if r == nil {
		f.problems = append(f.problems, fmt.Sprintf("%s: request %d is beyond the list of replies", f.provider, q.n))
		return &reply{Status: http.StatusBadRequest}
	}
	for len(r.Expect) > 0 {
		problem := f.unexpected(q, r)
		switch {
		case problem == "":
			return r
		case r.Else == nil:
			f.problems = append(f.problems, fmt.Sprintf("%s: request %d: %s", f.provider, q.n, problem))
			return &reply{Status: http.StatusBadRequest}
		}
		q.refused(f, problem)
		r = r.Else
	}
	return r
}

// refused keeps why the request got the other reply, for people.
func (q *request) refused(f *fake, problem string) {
	q.header.Add("Case-Refused", fmt.Sprintf("%s: request %d: %s", f.provider, q.n, problem))
}

// unexpected is the first thing of a request that is not as the reply expects it.
func (f *fake) unexpected(q *request, r *reply) string {
	for name, raw := range r.Expect {
		if err := expectation(name)(f, q, raw); err != nil {
			return fmt.Sprintf("expect %s %s: %v", name, raw, err)
		}
	}
	return ""
}

func (f *fake) next(q *request) *reply {
	for i := range f.script {
		switch s := &f.script[i]; {
		case s.Times.firstPerCall && s.calls[q.call]:
		case s.Times.firstPerCall:
			s.calls[q.call] = true
			return s.reply
		case s.Times.rest, s.used < max(1, s.Times.n):
			s.used++
			return s.reply
		}
	}
	return nil
}

func (f *fake) seen() []*request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*request(nil), f.requests...)
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

// callMark stands in the prompt of each call where calls have to be told apart.
const callMark = "[call %d]"

var callNumber = regexp.MustCompile(`\[call ([0-9]+)\]`)

func readRequest(provider string, x *cloud.Exchange) *request {
	q := &request{
		host: x.R.Host, path: x.R.URL.Path, escaped: x.R.URL.EscapedPath(), query: x.R.URL.RawQuery,
		header: x.R.Header.Clone(), raw: x.Body,
	}
	if provider == "vertex" && strings.HasPrefix(x.R.Header.Get("Content-Type"), "application/grpc") {
		q.rpc, q.raw = true, rpcBody(x.Body)
	}
	dec := json.NewDecoder(bytes.NewReader(q.raw))
	dec.UseNumber()
	_ = dec.Decode(&q.body) // what is no JSON has no fields
	if n := callNumber.FindSubmatch(q.raw); n != nil {
		q.call = string(n[1])
	}
	switch {
	case provider == "azure":
		q.stream = q.at("stream") == true
		_, rest, _ := strings.Cut(q.path, "/deployments/")
		q.model, _, _ = strings.Cut(rest, "/")
	case provider == "bedrock":
		q.stream = strings.HasSuffix(q.path, "-stream")
		q.model = q.modelSegment()
	case q.rpc:
		q.stream = strings.HasSuffix(q.path, "/StreamGenerateContent")
		name, _ := q.at("model").(string)
		q.model = name[strings.LastIndexByte(name, '/')+1:]
	default:
		q.stream = strings.Contains(q.path, ":stream")
		name := q.path[strings.LastIndexByte(q.path, '/')+1:]
		q.model, _, _ = strings.Cut(name, ":")
	}
	return q
}

// asWhole gives a request that asks for a stream, for a call that does not, the form that the case knows: without what
// only streams have.
func (q *request) asWhole() {
	if !q.stream {
		return
	}
	for _, path := range []*string{&q.path, &q.escaped} {
		*path = strings.Replace(*path, ":streamGenerateContent", ":generateContent", 1)
		*path = strings.TrimSuffix(*path, "-stream")
	}
	if body, ok := q.body.(map[string]any); ok {
		delete(body, "stream")
		delete(body, "stream_options")
	}
}

// rpcBody is the one message of a request over gRPC, in JSON.
func rpcBody(body []byte) []byte {
	if len(body) < 5 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		return nil
	}
	data := body[5:]
	if body[0] != 0 {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		if data, err = io.ReadAll(zip); err != nil {
			return nil
		}
	}
	m := new(aiplatformpb.GenerateContentRequest)
	if proto.Unmarshal(data, m) != nil {
		return nil
	}
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	return raw
}

// at is the value at a dotted path, nil if there is none.
func (q *request) at(path string) any {
	v, _ := lookUp(q.body, strings.Split(path, "."))
	return v
}

func lookUp(v any, path []string) (any, bool) {
	if len(path) == 0 {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		if inner, ok := v[path[0]]; ok {
			return lookUp(inner, path[1:])
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return lookUp(v[i], path[1:])
		}
	}
	return nil, false
}
