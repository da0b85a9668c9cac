package providers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/genproto/googleapis/rpc/code"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails" // the details of a status
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// grpcReply is a recorded reply as gRPC brings it.
type grpcReply struct {
	messages []*aiplatformpb.GenerateContentResponse
	header   metadata.MD
	err      error // the status behind the messages
	page     []byte
	status   int      // of the page
	lost     []string // what has no place in the definitions
	finish   map[string]string
}

// frames counts what arrives.
func (w *grpcReply) frames() int {
	n := len(w.messages)
	if w.err != nil && n > 0 {
		n++
	}
	return n
}

// excuses are the losses that what is expected of a reply may depend on: those of content, of its end, and of an error.
func (w *grpcReply) excuses() (all []string) {
	for _, path := range w.lost {
		if strings.HasPrefix(path, "candidates.content") || strings.HasPrefix(path, "candidates.finishReason") ||
			strings.HasPrefix(path, "promptFeedback") || strings.HasPrefix(path, "error") {
			all = append(all, path)
		}
	}
	return all
}

// overGRPC converts a recorded reply.
func overGRPC(t *testing.T, rec *recording) *grpcReply {
	t.Helper()
	w := &grpcReply{header: metadata.MD{}, status: rec.Response.Status, finish: map[string]string{}}
	for name, value := range rec.Response.Headers {
		if name = strings.ToLower(name); !strings.HasPrefix(name, "content-") && !strings.HasPrefix(name, "grpc-") {
			w.header.Set(name, value)
		}
	}
	values := jsonValues(rec.body(t))
	if len(values) == 0 {
		w.page = rec.body(t)
		return w
	}
	for _, raw := range values {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var value map[string]any
		if err := dec.Decode(&value); err != nil {
			w.page = rec.body(t)
			return w
		}
		if e, ok := value["error"].(map[string]any); ok {
			w.err = w.statusOf(e)
			continue
		}
		w.messages = append(w.messages, w.message(t, value))
	}
	if w.err == nil && w.status >= http.StatusBadRequest {
		w.page, w.messages = rec.body(t), nil
	}
	return w
}

// jsonValues are the values of a body: one, those of a list, or those of an event stream.
func jsonValues(body []byte) (values []json.RawMessage) {
	body = bytes.TrimSpace(body)
	if json.Unmarshal(body, &values) == nil {
		return values
	}
	if json.Valid(body) {
		return []json.RawMessage{body}
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
	var rest []byte // an error stands behind the events as it is
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			values = append(values, json.RawMessage(data))
		} else {
			rest = append(rest, lines.Bytes()...)
		}
	}
	if rest = bytes.TrimSpace(rest); len(rest) > 0 && json.Valid(rest) {
		values = append(values, jsonValues(rest)...)
	}
	return values
}

// statusOf converts an error. Details of types that nobody knows are lost.
func (w *grpcReply) statusOf(e map[string]any) error {
	word, _ := e["status"].(string)
	p := &statuspb.Status{Code: int32(codes.Unknown)}
	if n, ok := code.Code_value[word]; ok {
		p.Code = n
	}
	p.Message, _ = e["message"].(string)
	details, _ := e["details"].([]any)
	for _, d := range details {
		raw, _ := json.Marshal(d) // it was JSON
		one := new(statuspb.Status)
		if protojson.Unmarshal(append(append([]byte(`{"details":[`), raw...), `]}`...), one) != nil {
			w.lost = append(w.lost, "error.details")
			continue
		}
		p.Details = append(p.Details, one.GetDetails()...)
	}
	return status.ErrorProto(p)
}

// message converts a response.
func (w *grpcReply) message(t *testing.T, value map[string]any) *aiplatformpb.GenerateContentResponse {
	t.Helper()
	m := new(aiplatformpb.GenerateContentResponse)
	toolUse := w.takeToolUse(value)
	w.prune(value, m.ProtoReflect().Descriptor(), "")
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(raw, m); err != nil {
		t.Fatalf("the recorded reply is no message: %v", err)
	}
	if toolUse > 0 {
		unknown := protowire.AppendVarint(protowire.AppendTag(nil, toolUseNumber(), protowire.VarintType), toolUse)
		m.GetUsageMetadata().ProtoReflect().SetUnknown(unknown)
	}
	return m
}

// toolUseNumber is the number of toolUsePromptTokenCount where v1beta1 has it. The message of an answer lacks it, so
// there it arrives as a field that is not known.
func toolUseNumber() protowire.Number {
	return new(aiplatformpb.UsageMetadata).ProtoReflect().Descriptor().Fields().ByName("tool_use_prompt_token_count").Number()
}

func (w *grpcReply) takeToolUse(value map[string]any) uint64 {
	usage, _ := value["usageMetadata"].(map[string]any)
	n, ok := usage["toolUsePromptTokenCount"].(json.Number)
	if !ok {
		return 0
	}
	delete(usage, "toolUsePromptTokenCount")
	w.lost = append(w.lost, "usageMetadata.toolUsePromptTokenCount (as a field that is not known)")
	count, _ := strconv.ParseUint(string(n), 10, 31)
	return count
}

// newerFinish are the numbers that v1 has for finish reasons that v1beta1 lacks.
var newerFinish = map[string]int{"IMAGE_SAFETY": 11, "UNEXPECTED_TOOL_CALL": 15, "NO_IMAGE": 16}

// prune removes what a message has no place for.
func (w *grpcReply) prune(object map[string]any, message protoreflect.MessageDescriptor, path string) {
	if strings.HasPrefix(string(message.FullName()), "google.protobuf.") {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		inner := strings.TrimPrefix(path+"."+name, ".")
		field := message.Fields().ByJSONName(name)
		if field == nil {
			w.lost = append(w.lost, inner)
			delete(object, name)
			continue
		}
		list, ok := object[name].([]any)
		if !ok {
			list = []any{object[name]}
		}
		for i, one := range list {
			if text, ok := one.(string); ok && field.Enum() != nil && field.Enum().Values().ByName(protoreflect.Name(text)) == nil {
				w.lost = append(w.lost, inner+" "+text+" (as a number)")
				list[i] = newerFinish[text]
			} else if n, ok := one.(json.Number); ok && field.Enum() != nil {
				w.number(field.Enum(), n)
			} else if inside, ok := one.(map[string]any); ok && field.Message() != nil && !field.IsMap() {
				w.prune(inside, field.Message(), inner)
			}
		}
		if !field.IsList() {
			object[name] = list[0]
		}
	}
}

// number remembers the name of an enum that the recorder asked for as a number: on this wire it is the same.
func (w *grpcReply) number(enum protoreflect.EnumDescriptor, n json.Number) {
	if i, err := n.Int64(); err == nil && enum.Name() == "FinishReason" {
		if v := enum.Values().ByNumber(protoreflect.EnumNumber(i)); v != nil {
			w.finish[string(n)] = string(v.Name())
		}
	}
}
