package cases_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/punctual-llm/punctual/internal/cloud"
	bedrockcloud "github.com/punctual-llm/punctual/llmtest/cloud/bedrock"
	vertexcloud "github.com/punctual-llm/punctual/llmtest/cloud/vertex"
)

func header(contentType string) http.Header { return http.Header{"Content-Type": {contentType}} }

// render makes the bytes and times of a reply to q.
func (f *fake) render(r *reply, q *request) cloud.Reply {
	out := f.content(r, q)
	switch {
	case r.Status != 0:
		out.Status = r.Status
	case r.onlyEnds():
		out.Status = cloud.NoStatus
	}
	if out.Header == nil {
		out.Header = http.Header{}
	}
	now := time.Now().UTC()
	out.Header.Set("Date", now.Format(http.TimeFormat)) // what a date in the reply is compared with
	for name, value := range r.Headers {
		out.Header.Set(name, f.tokens(value, now))
	}
	out.End = cloud.End(r.End)
	out.WriteSize = r.WriteSize
	out.Gzip = r.zips()
	if r.Drip != nil {
		out.Drip = cloud.Drip{Bytes: r.Drip.Bytes, Every: ms(r.Drip.EveryMS)}
	}
	if r.Ping != nil {
		out.Ping = cloud.Ping{Text: f.tokens(r.Ping.Text, now), Every: ms(r.Ping.EveryMS), For: ms(r.Ping.ForMS)}
	}
	if r.CutInsideFrame {
		out.Chunks = append(out.Chunks, f.halfFrame(q, out.Chunks))
	}
	if q.rpc {
		out = vertexcloud.RPC(out)
		if r.CutInsideFrame && len(out.Chunks) > 0 {
			last := &out.Chunks[len(out.Chunks)-1]
			last.Data = last.Data[:len(last.Data)/2]
		}
	}
	out.Wait = firstWait
	if r.WaitMS != nil {
		out.Wait = ms(*r.WaitMS)
		if *r.WaitMS < 0 {
			out.Wait = cloud.Never
		}
	}
	return out
}

// onlyEnds reports whether a reply is a connection that is lost before anything is said.
func (r *reply) onlyEnds() bool {
	return (r.End == "cut" || r.End == "reset") && r.OK == nil && !r.ToolUseEcho && len(r.Headers) == 0 && len(r.Body) == 0 &&
		r.BodyRaw == nil && r.SSE == nil && r.ES == nil && r.GStream == nil && r.Drip == nil && r.Ping == nil
}

// content is the body of a reply in the provider's form.
func (f *fake) content(r *reply, q *request) cloud.Reply {
	switch {
	case r.OK != nil:
		return f.healthy(q, said{text: f.tokens(*r.OK, time.Now())})
	case r.ToolUseEcho:
		return f.healthy(q, said{tool: q.firstTool()})
	case r.SSE != nil:
		var out cloud.Reply
		for _, e := range r.SSE {
			out.Chunks = append(out.Chunks, f.pieces(e)...)
		}
		return out
	case r.ES != nil:
		return cloud.Reply{Chunks: f.frames(r.ES)}
	case r.GStream != nil:
		return f.gstream(q, r)
	case r.BodyRaw != nil:
		return cloud.Reply{Body: []byte(*r.BodyRaw)}
	}
	return f.body(r, q)
}

// body is a whole body: JSON, or a text as it is.
func (f *fake) body(r *reply, q *request) cloud.Reply {
	var text string
	switch raw := bytes.TrimSpace(r.Body); {
	case len(raw) == 0:
		return cloud.Reply{}
	case json.Unmarshal(raw, &text) == nil:
		return cloud.Reply{Body: []byte(f.tokens(text, time.Now()))}
	case f.provider == "vertex":
		return cloud.Reply{Header: header("application/json"), Body: q.enums([]byte(f.tokens(string(raw), time.Now())))}
	default:
		return cloud.Reply{Header: header("application/json"), Body: []byte(f.tokens(string(raw), time.Now()))}
	}
}

// frames are events and exceptions of AWS.
func (f *fake) frames(events []esEvent) (chunks []cloud.Chunk) {
	for _, e := range events {
		payload := []byte(f.tokens(string(e.payload), time.Now()))
		var text string
		if json.Unmarshal(payload, &text) == nil {
			payload = []byte(text)
		}
		frame := bedrockcloud.Event
		if e.kind == "exception" {
			frame = bedrockcloud.Exception
		}
		chunks = append(chunks, cloud.Chunk{At: e.at, Data: frame(e.name, payload)})
	}
	return chunks
}

// gstream are answers of Gemini over time, in the form that was asked for.
func (f *fake) gstream(q *request, r *reply) cloud.Reply {
	sse := strings.Contains(q.query, "alt=sse")
	out := cloud.Reply{Header: header("application/json")}
	if sse {
		out.Header = header("text/event-stream")
	}
	for i, e := range r.GStream {
		text := f.tokens(string(e.object), time.Now())
		var bare string
		if json.Unmarshal([]byte(text), &bare) == nil {
			text = bare // the token was the whole object
		}
		data := q.enums([]byte(text))
		switch {
		case q.rpc:
		case sse:
			data = append(append([]byte("data: "), data...), "\r\n\r\n"...)
		case i == 0:
			data = append([]byte("["), data...)
		default:
			data = append([]byte(",\r\n"), data...)
		}
		if !q.rpc && !sse && i == len(r.GStream)-1 && (r.End == "" || r.End == "eof") {
			data = append(data, ']')
		}
		out.Chunks = append(out.Chunks, cloud.Chunk{At: e.at, Data: data})
	}
	return out
}

// halfFrame is the first half of one frame more.
func (f *fake) halfFrame(q *request, chunks []cloud.Chunk) cloud.Chunk {
	var data []byte
	piece := encode(delta(f.provider, "and then there was no more"))
	switch {
	case q.rpc: // halved once it is a message
		data = piece
	case f.provider == "bedrock":
		data = bedrockcloud.Event("contentBlockDelta", piece)
		data = data[:len(data)/2]
	case f.provider == "vertex" && !strings.Contains(q.query, "alt=sse"):
		data = append([]byte(","), piece[:len(piece)/2]...)
	default:
		data = append([]byte("data: "), piece[:len(piece)/2]...)
	}
	at := time.Duration(0)
	if len(chunks) > 0 {
		at = chunks[len(chunks)-1].At
	}
	return cloud.Chunk{At: at, Data: data}
}

const splitToken = "{{split:after_cr}}"

// splitPause makes two reads of two writes.
const splitPause = 5 * time.Millisecond

// pieces are the writes of one event.
func (f *fake) pieces(e sseEvent) []cloud.Chunk {
	before, rest, ok := strings.Cut(e.text, splitToken)
	if !ok {
		return []cloud.Chunk{{At: e.at, Data: []byte(f.tokens(e.text, time.Now()))}}
	}
	cr := strings.IndexByte(rest, '\r') + 1
	tail := f.pieces(sseEvent{at: e.at + splitPause, text: rest[cr:]})
	return append([]cloud.Chunk{{At: e.at, Data: []byte(f.tokens(before+rest[:cr], time.Now()))}}, tail...)
}

var (
	dateToken = regexp.MustCompile(`\{\{http_date:([+-]?[0-9.]+(?:ms|s|m|h))\}\}`)
	textToken = regexp.MustCompile(`\{\{text_chunk:([0-9]+)\}\}`)
)

// tokens replaces the tokens of a text.
func (f *fake) tokens(s string, now time.Time) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	s = dateToken.ReplaceAllStringFunc(s, func(token string) string {
		ahead, _ := time.ParseDuration(strings.TrimPrefix(dateToken.FindStringSubmatch(token)[1], "+"))
		return now.UTC().Truncate(time.Second).Add(ahead).Format(http.TimeFormat)
	})
	for {
		at := textToken.FindStringSubmatchIndex(s)
		if at == nil {
			return s
		}
		n, _ := strconv.Atoi(s[at[2]:at[3]])
		letters := strings.Repeat("x", n)
		piece := string(encode(delta(f.provider, letters)))
		before, after := s[:at[0]], s[at[1]:]
		line := before[strings.LastIndexAny(before, "\r\n")+1:]
		switch {
		case strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`) && len(s) == at[1]-at[0]+2: // the whole value
			before, after = before[:len(before)-1], after[1:]
		case strings.HasSuffix(before, `"`): // inside a string of JSON
			piece = letters
		case f.provider == "azure" && !strings.HasPrefix(line, "data:"): // the whole event
			piece = "data: " + piece
			if !strings.HasPrefix(after, "\n") && !strings.HasPrefix(after, "\r") {
				piece += "\n\n"
			}
		}
		s = before + piece + after
	}
}

// newer are the numbers of words that the published messages lack, by the names of the enums.
var newer = map[protoreflect.Name]map[string]int{
	"FinishReason": {"IMAGE_SAFETY": 11, "UNEXPECTED_TOOL_CALL": 15, "NO_IMAGE": 16},
}

// enums writes the enums of an answer as the request wants them: as words, or as numbers over gRPC, where there are no
// others, and for clients that ask for it.
func (q *request) enums(data []byte) []byte {
	numbers := strings.Contains(q.query, "enum-encoding=int") || strings.Contains(q.query, "enum-encoding%3Dint")
	if !q.rpc && !numbers {
		return data
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return data
	}
	object, ok := value.(map[string]any)
	if !ok {
		return data
	}
	if _, failed := object["error"]; failed {
		return data
	}
	known(object, answerMessage)
	if !numbers {
		return encode(object)
	}
	m := new(aiplatformpb.GenerateContentResponse)
	if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(encode(object), m) != nil {
		return encode(object)
	}
	raw, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
	if err != nil {
		return encode(object)
	}
	return raw
}

// answerMessage describes an answer of Gemini.
var answerMessage = new(aiplatformpb.GenerateContentResponse).ProtoReflect().Descriptor()

// known replaces words of enums that the messages do not have by numbers, and returns those that have none.
func known(object map[string]any, message protoreflect.MessageDescriptor) (without []string) {
	if strings.HasPrefix(string(message.FullName()), "google.protobuf.") {
		return nil
	}
	for name, value := range object {
		field := message.Fields().ByJSONName(name)
		if field == nil {
			continue
		}
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for i, one := range list {
			switch one := one.(type) {
			case string:
				if field.Enum() == nil || field.Enum().Values().ByName(protoreflect.Name(one)) != nil {
					continue
				}
				if n, ok := newer[field.Enum().Name()][one]; ok {
					list[i] = n
				} else {
					without = append(without, one)
				}
			case map[string]any:
				if field.Message() != nil && !field.IsMap() {
					without = append(without, known(one, field.Message())...)
				}
			}
		}
		if !isList {
			object[name] = list[0]
		}
	}
	return without
}

// wordless are the words of a reply that have no number over gRPC.
func (r *reply) wordless() (all []string) {
	bodies := []json.RawMessage{r.Body}
	for _, e := range r.GStream {
		bodies = append(bodies, e.object)
	}
	for _, raw := range bodies {
		var object map[string]any
		if json.Unmarshal(raw, &object) == nil {
			all = append(all, known(object, answerMessage)...)
		}
	}
	return all
}

// noRPC says why a reply has no form over gRPC, "" if it has one.
func (r *reply) noRPC() string {
	failed := r.Status >= http.StatusBadRequest
	switch {
	case r.Else != nil && r.Else.noRPC() != "":
		return r.Else.noRPC()
	case bytes.HasPrefix(bytes.TrimSpace(r.Body), []byte("[")):
		return "a body that is a list"
	case r.SSE != nil, r.ES != nil:
		return "the events of another protocol"
	case r.BodyRaw != nil, !failed && bytes.HasPrefix(bytes.TrimSpace(r.Body), []byte(`"`)):
		return "a body of bytes"
	case r.Drip != nil:
		return "a body that drips"
	case r.Ping != nil:
		return "a ping within a stream"
	case r.zips():
		return "a compressed body"
	case failed && r.End != "" && r.End != "eof":
		return "an error whose body does not end"
	case r.Status != 0 && r.Status < http.StatusBadRequest && r.Status != http.StatusOK:
		return "another status than 200 without an error"
	}
	if words := r.wordless(); len(words) > 0 {
		return "the word " + words[0] + ", which is newer than the messages"
	}
	for name := range r.Expect {
		switch name {
		case "path_has", "path_ends", "configured_host":
			return "the address of a request"
		}
	}
	return ""
}
