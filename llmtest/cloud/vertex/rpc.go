package vertex

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // for the details of a status
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/internal/cloud"
	"github.com/punctual-llm/punctual/llmtest"
)

// The wire of gRPC is written here rather than by a server of grpc-go: each message with five bytes in front, and the
// status behind them in the trailer. So all that can happen to an answer over HTTP can happen to this one.
const (
	rpcType    = "application/grpc"
	rpcService = "/google.cloud.aiplatform.v1beta1.PredictionService/"
)

// isRPC reports whether a request is one of gRPC.
func isRPC(r *http.Request) bool {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return r.ProtoMajor == 2 && (media == rpcType || strings.HasPrefix(media, rpcType+"+"))
}

// openRPC reads a request over gRPC. It is checked as the same request over REST is.
func (c *call) openRPC() {
	c.surface = rpc
	switch method := strings.TrimPrefix(c.x.R.URL.Path, rpcService); method {
	case "GenerateContent":
	case "StreamGenerateContent":
		c.stream = true
	default:
		c.surface = rpcOther
		return
	}
	for accepted := range strings.SplitSeq(c.x.R.Header.Get("Grpc-Accept-Encoding"), ",") {
		c.unzips = c.unzips || strings.TrimSpace(accepted) == "gzip"
	}
	req := new(aiplatformpb.GenerateContentRequest)
	data, err := unframe(c.x.Body)
	if err == nil {
		err = proto.Unmarshal(data, req)
	}
	if err != nil {
		c.bad = refuse("INTERNAL", "%s", err.Error()) // as gRPC's own servers do
		return
	}
	c.resource = req.GetModel()
	c.name()
	if at := locate(c.resource); at != project && at != express {
		c.bad = invalid("Invalid resource field value in the request.").
			reason("RESOURCE_PROJECT_INVALID", "googleapis.com", c.method())
	}
	body, err := protojson.Marshal(req)
	if err != nil {
		c.bad = refuse("INTERNAL", "%s", err.Error())
		return
	}
	var readable bytes.Buffer
	_ = json.Compact(&readable, body) // protojson varies its blanks
	c.x.SetBody(readable.Bytes())
	if c.bad == nil {
		c.read(body)
	}
}

// unframe is the one message of a body.
func unframe(body []byte) ([]byte, error) {
	if len(body) < 5 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		return nil, fmt.Errorf("grpc: a body of %d bytes is not one message", len(body))
	}
	if body[0] == 0 {
		return body[5:], nil
	}
	zip, err := gzip.NewReader(bytes.NewReader(body[5:]))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(zip, maxBody))
}

// rpcWire is gRPC's.
type rpcWire struct{ c *call }

func (w rpcWire) header() http.Header {
	h := http.Header{"Content-Type": {rpcType}, http.TrailerPrefix + "Grpc-Status": {"0"}}
	if w.c.zip {
		h.Set("Grpc-Encoding", "gzip")
	}
	return h
}

func (w rpcWire) whole(r response) []byte { return w.event(r) }
func (rpcWire) end() []byte               { return nil }

// event is the message of a response. What the published definitions do not have is left out.
func (w rpcWire) event(r response) []byte {
	data, err := frame(marshal(r), w.c.zip)
	if err != nil { // a part of the script that cannot be one
		data, _ = frame([]byte("{}"), w.c.zip)
	}
	return data
}

func (rpcWire) fail(h http.Header, no *refusal) []byte {
	for name, values := range no.trailer() {
		h[http.TrailerPrefix+name] = values
	}
	return nil
}

// frame is the message of a response in JSON, with gRPC's five bytes in front.
func frame(response []byte, zip bool) ([]byte, error) {
	m := new(aiplatformpb.GenerateContentResponse)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(response, m); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	var head [5]byte
	if zip {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(data)
		_ = z.Close()
		head[0], data = 1, packed.Bytes()
	}
	binary.BigEndian.PutUint32(head[1:], uint32(len(data)))
	return append(head[:], data...), nil
}

// trailer is a status as gRPC sends it.
func (r *refusal) trailer() http.Header {
	code := codes.Unknown
	for _, s := range statuses() {
		if s.word == r.status {
			code = s.grpc
		}
	}
	h := http.Header{"Grpc-Status": {strconv.Itoa(int(code))}, "Grpc-Message": {percent(r.message)}}
	for name, values := range r.header {
		h[name] = values
	}
	if len(r.details) == 0 {
		return h
	}
	p := new(statuspb.Status)
	body := marshal(map[string]any{"code": int(code), "message": r.message, "details": r.details})
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, p); err != nil {
		return h // a detail of no known type
	}
	data, _ := proto.Marshal(p)
	h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(data))
	return h
}

// percent encodes a message for the header.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] >= ' ' && s[i] <= '~' && s[i] != '%' {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// rpcReply is the refusal alone.
func (r *refusal) rpcReply(c *call) cloud.Reply {
	w := rpcWire{c}
	reply := cloud.Reply{Header: w.header()}
	w.fail(reply.Header, r)
	return reply
}

// bend takes out of a fault what has no form over gRPC.
func (c *call) bend(f *cloud.Fault) {
	if !c.grpc() {
		return
	}
	c.zip, f.Gzip = c.unzips && f.Gzip, false
	if f.Drip.Bytes > 0 {
		f.Drip, f.Hang = cloud.Drip{}, llmtest.PhaseBody
	}
	if f.Status > 0 && f.Status < http.StatusBadRequest && f.Body == nil {
		f.Status = 0
	}
}

// unwrap takes gRPC off a reply whose body a fault has replaced.
func (c *call) unwrap(r cloud.Reply) cloud.Reply {
	if c.grpc() && r.Header != nil && r.Status != cloud.NoStatus && r.Header.Get("Content-Type") != rpcType {
		for name := range r.Header {
			if strings.Contains(name, "Grpc-") {
				delete(r.Header, name)
			}
		}
		c.status = r.Status
	}
	return r
}
