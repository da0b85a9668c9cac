package vertexai

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/punctual-llm/punctual/internal/bounds"
	"github.com/punctual-llm/punctual/internal/gemini"
	"github.com/punctual-llm/punctual/internal/httpx"
	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// failure is how a call ended.
func (r *reply) failure(sdkErr error) error {
	x := r.exchange
	if sdkErr == io.EOF { //nolint:errorlint // of pull, not wrapped
		return io.EOF
	}
	if errors.Is(sdkErr, errPanic) {
		return &gemini.Failure{Err: &llm.Error{Kind: llm.ErrBadOutput, Code: "sdk_panic", NotSent: !x.sent.Load(), Err: sdkErr}}
	}
	if x.err == nil || x.err == io.EOF { //nolint:errorlint // gRPC's, not wrapped
		return &gemini.Failure{Err: &llm.Error{Kind: llm.ErrUnavailable, Code: "sdk_refused", NotSent: !x.sent.Load(), Err: secret.Cause(sdkErr)}}
	}
	st := status.Convert(x.err)
	r.atDeadline(st.Code())
	if problem := x.unread(st); problem != "" {
		return &gemini.Failure{Err: &llm.Error{
			Kind: llm.ErrBadOutput, Code: problem, Status: http.StatusOK, Err: callError{codes: st.Code()},
		}}
	}
	if !x.ended.Load() || x.local(st, io.ErrUnexpectedEOF.Error()) { // or it ended inside a message
		return &gemini.Failure{Err: r.broken(st)}
	}
	begun := r.stream && r.pieces > 0
	f := &gemini.Failure{Err: x.reported(st, begun)}
	// A status that only says that time is over, or that we left, is no word about the answer.
	f.Reported = begun && (r.ctx.Err() == nil || st.Code() != codes.Canceled && st.Code() != codes.DeadlineExceeded)
	return f
}

// atDeadline waits for the deadline of the call if the service has just given up because of it: grpc-timeout tells it
// when, and its word may be here before our own clock has moved. Otherwise it would look like a limit of the service.
func (r *reply) atDeadline(c codes.Code) {
	const near = 100 * time.Millisecond
	deadline, ok := r.ctx.Deadline()
	if !ok || c != codes.DeadlineExceeded && c != codes.Canceled || time.Until(deadline) > near {
		return
	}
	<-r.ctx.Done()
}

// reported is the service's own status: what HTTP would have said, read as that is read, so that a fault is of one
// Kind with either engine. An error behind the beginning of an answer is one inside a 200.
func (x *exchange) reported(st *status.Status, begun bool) *llm.Error {
	httpStatus := httpStatusOf(st.Code())
	body := errorBody(st, httpStatus)
	if begun {
		httpStatus = http.StatusOK
	}
	e := llm.HTTPError(httpStatus, x.headers(), body)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RequestInfo); ok && e.RequestID == "" {
			e.RequestID = word(info.GetRequestId())
		}
	}
	e.Err = callError{codes: st.Code()}
	return e
}

// Describe adds what the answer said of itself. When the context ended a call, a status of success says nothing.
func (r *reply) Describe(e *llm.Error) {
	x := r.exchange
	if x == nil || !x.answered.Load() {
		return
	}
	if e.Status == 0 && e.Kind != llm.ErrCanceled && e.Kind != llm.ErrDeadlineExceeded {
		e.Status = http.StatusOK
	}
	if e.RequestID == "" {
		e.RequestID = llm.HTTPError(http.StatusOK, x.headers(), nil).RequestID
	}
}

// headers are those of the answer and of its end.
func (x *exchange) headers() map[string][]string { return metadata.Join(x.header, x.trailer) }

// maxWord bounds a request's id.
const maxWord = 128

// word keeps what is printable, and not more than fits into a log.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), maxWord)]
}

// canonical are the statuses of HTTP that Google documents for the codes of gRPC. Others are 500.
var canonical = map[codes.Code]int{
	codes.Canceled: 499, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504, codes.NotFound: 404,
	codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.Unauthenticated: 401, codes.ResourceExhausted: 429,
	codes.FailedPrecondition: 400, codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501,
	codes.Unavailable: 503,
}

func httpStatusOf(c codes.Code) int {
	if s, ok := canonical[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// errorBody is the status as the REST API writes it. Details of types that are not known here are left out.
func errorBody(st *status.Status, httpStatus int) []byte {
	var body struct {
		Error struct {
			Code    int               `json:"code"`
			Message string            `json:"message"`
			Status  string            `json:"status"`
			Details []json.RawMessage `json:"details,omitempty"`
		} `json:"error"`
	}
	e := &body.Error
	e.Code, e.Message, e.Status = httpStatus, st.Message(), code.Code(st.Code()).String()
	e.Message = e.Message[:min(len(e.Message), bounds.Problem)]
	left := bounds.Problem
	for _, d := range st.Proto().GetDetails() {
		if left -= len(d.GetValue()) + len(d.GetTypeUrl()) + 1; left < 0 {
			break
		}
		if raw, err := protojson.Marshal(d); err == nil {
			e.Details = append(e.Details, raw)
		}
	}
	raw, _ := json.Marshal(&body) // text and JSON have no way to fail
	return raw
}

// Codes of answers that came and cannot be read.
const (
	malformed = "malformed_answer"
	emptyBody = "empty_body"
)

// unread is the code for a message that came and that could not be read, "" if there is none. What gRPC itself finds has
// words only, and the codes that a service has for its own faults.
func (x *exchange) unread(st *status.Status) string {
	switch m := st.Message(); {
	case x.problem != "":
		return x.problem
	case strings.Contains(m, "larger than max") && strings.Contains(m, strconv.Itoa(x.most)):
		return string(bounds.TooLarge)
	case x.packed.Load() && x.local(st, "grpc: "),
		x.local(st, "grpc: received unexpected payload format"), x.local(st, "grpc: compressed flag set"):
		return malformed
	default:
		return ""
	}
}

// local reports whether gRPC found a fault in an answer whose header had come. Once a status of the service is there,
// it is taken for the service's own unless it could not have come otherwise: in the words and under the code that gRPC
// has for such a fault, and without any detail.
func (x *exchange) local(st *status.Status, words string) bool {
	return x.answered.Load() && st.Code() == codes.Internal && strings.HasPrefix(st.Message(), words) && len(st.Details()) == 0
}

// broken is for a call that ended without a word of the service.
func (r *reply) broken(st *status.Status) *llm.Error {
	x := r.exchange
	if e := foreign(st); e != nil {
		return e
	}
	code, cause := causeOf(st, r.conn.host)
	e := &llm.Error{Kind: llm.ErrConnection, Code: code, NotSent: !x.sent.Load(), Err: cause}
	if x.answered.Load() {
		e.Code = "body_cut"
		if r.stream {
			e.Kind, e.Code = llm.ErrInterrupted, "stream_cut"
		}
	}
	return e
}

// foreign is an answer that is not gRPC: a proxy's, most of the time. gRPC hands over its status and the beginning of
// its body in a text. nil: that is not what happened.
func foreign(st *status.Status) *llm.Error {
	text, ok := strings.CutPrefix(st.Message(), "unexpected HTTP status code received from server: ")
	if !ok {
		return nil
	}
	number, _, _ := strings.Cut(text, " ")
	httpStatus, _ := strconv.Atoi(number) // it is one: gRPC wrote it
	_, quoted, _ := strings.Cut(text, "\ndata: ")
	body, _ := strconv.Unquote(quoted)
	e := llm.HTTPError(httpStatus, nil, []byte(body))
	if httpStatus < http.StatusMultipleChoices {
		e = &llm.Error{Kind: llm.ErrBadOutput, Code: malformed, Status: httpStatus}
	}
	e.Err = callError{codes: st.Code()}
	return e
}

// callError stands for gRPC's error, whose text may echo a prompt or hold an address.
type callError struct {
	codes codes.Code
	cause error // nil, or what is known of the connection
}

// Error names the code.
func (e callError) Error() string { return fmt.Sprintf("vertexai: gRPC call failed with %s", e.codes) }

// Unwrap returns the cause.
func (e callError) Unwrap() error { return e.cause }

// GRPCStatus lets status.FromError and status.Code find the code.
func (e callError) GRPCStatus() *status.Status { return status.New(e.codes, e.Error()) }

// causes are what gRPC's words for a broken connection stand for, the narrower ones first.
var causes = []struct {
	words string
	err   error
	code  string
}{
	{"no such host", nil, httpx.CodeHostNotFound}, // see causeOf
	{"produced zero addresses", nil, httpx.CodeHostNotFound},
	{"first record does not look like a TLS handshake", tls.RecordHeaderError{Msg: "no TLS"}, httpx.CodeNotTLS},
	{"certificate signed by unknown authority", untrusted("x509: unknown authority"), httpx.CodeNotTrusted},
	{"x509: certificate has expired", untrusted("x509: expired or not yet valid"), httpx.CodeExpired},
	{"x509: certificate is valid for", untrusted("x509: for another host"), httpx.CodeWrongHost},
	{"x509: certificate is not valid for", untrusted("x509: for another host"), httpx.CodeWrongHost},
	{"x509: cannot validate certificate for", untrusted("x509: for another host"), httpx.CodeWrongHost},
	{"failed to verify certificate", untrusted("x509: not trusted"), httpx.CodeNotTrusted},
	{"remote error: tls", errors.New("tls: refused by the peer"), httpx.CodeTLSRefused},
	{"connection refused", syscall.ECONNREFUSED, httpx.CodeConnectionRefused},
	{"connection reset", syscall.ECONNRESET, httpx.CodeConnectionReset},
	{"network is unreachable", syscall.ENETUNREACH, httpx.CodeUnreachable},
	{"no route to host", syscall.EHOSTUNREACH, httpx.CodeUnreachable},
	{"broken pipe", syscall.EPIPE, httpx.CodeConnectionReset},
	{"i/o timeout", os.ErrDeadlineExceeded, httpx.CodeConnectTimeout},
	{"EOF", io.ErrUnexpectedEOF, httpx.CodeClosed},
	{"closed network connection", net.ErrClosed, ""},
}

func untrusted(text string) error {
	return &tls.CertificateVerificationError{Err: errors.New(text)}
}

// causeOf finds the cause of a broken connection, which gRPC keeps as text only, and the word for it.
func causeOf(st *status.Status, host string) (code string, cause error) {
	words, _, _ := strings.Cut(st.Message(), "received prior goaway") // what follows is the peer's
	for _, c := range causes {
		if !strings.Contains(words, c.words) {
			continue
		}
		if c.code == httpx.CodeHostNotFound {
			c.err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return c.code, callError{codes: st.Code(), cause: c.err}
	}
	return "", callError{codes: st.Code()}
}
