package vertexai_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

func arguments(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The SDK's types make text of thoughts, and lose signatures, ids of calls, the count of cached tokens, the version
// of the model and the id of the answer.
func TestWhatTheSDKsTypesLoseArrives(t *testing.T) {
	t.Parallel()
	thought := &pbPart{Thought: true, ThoughtSignature: []byte("s1"), Data: &aiplatformpb.Part_Text{Text: "hm"}}
	called := &pbPart{ThoughtSignature: []byte("s2"), Data: &aiplatformpb.Part_FunctionCall{FunctionCall: &aiplatformpb.FunctionCall{
		Id: "id-7", Name: "weather", Args: arguments(t, map[string]any{"b": "<x>", "a": 3}),
	}}}
	m := chunk(stop, thought, text("hi"), called)
	m.UsageMetadata = &aiplatformpb.GenerateContentResponse_UsageMetadata{
		PromptTokenCount: 10, CandidatesTokenCount: 4, ThoughtsTokenCount: 2, CachedContentTokenCount: 6, TotalTokenCount: 16,
	}
	s := serve(t, answers(m))
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		r := s.answered(t, hello(), stream)
		want := llm.Parts{
			llm.Reasoning{Text: "hm", Signature: []byte("s1")},
			llm.Text{Text: "hi"},
			llm.ToolCall{ID: "id-7", Name: "weather", Arguments: `{"a":3,"b":"<x>"}`, Signature: []byte("s2")},
		}
		if !reflect.DeepEqual(r.Message.Parts, want) {
			t.Errorf("want %+v, got %+v", want, r.Message.Parts)
		}
		usage := llm.Usage{Input: 10, Output: 6, CacheRead: 6, Reasoning: 2, Reported: true}
		if r.Usage != usage || r.ModelVersion != "m-1" || r.ID != "r1" || r.Finish != llm.FinishToolCall {
			t.Errorf("got %+v", r)
		}
	})
}

// withUnknown adds a field that the definitions do not have.
func withUnknown[M proto.Message](m M, number protowire.Number, value []byte) M {
	raw := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	m.ProtoReflect().SetUnknown(raw)
	return m
}

// The SDK panics on each of these parts. They come as opaque parts, and go back as they were.
func TestPartsThatMakeTheSDKPanicComeAndGoBack(t *testing.T) {
	t.Parallel()
	code := &pbPart{Data: &aiplatformpb.Part_ExecutableCode{ExecutableCode: &aiplatformpb.ExecutableCode{
		Language: aiplatformpb.ExecutableCode_PYTHON, Code: "1+1",
	}}}
	all := map[string]*pbPart{
		"code":                     code,
		"code with something new":  {Data: &aiplatformpb.Part_ExecutableCode{ExecutableCode: withUnknown(&aiplatformpb.ExecutableCode{Code: "2"}, 77, []byte("new"))}},
		"result of code":           {Data: &aiplatformpb.Part_CodeExecutionResult{CodeExecutionResult: &aiplatformpb.CodeExecutionResult{Output: "2"}}},
		"function response":        {Data: &aiplatformpb.Part_FunctionResponse{FunctionResponse: &aiplatformpb.FunctionResponse{Name: "f"}}},
		"of no known type":         withUnknown(&pbPart{Thought: true}, 99, []byte("payload")),
		"empty text with new data": withUnknown(text(""), 99, []byte("payload")),
	}
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answers(chunk(stop, p)))
			r := s.answered(t, hello(), true)
			if o, ok := r.Message.Parts[0].(llm.Opaque); !ok || o.Type != vertex.PartType || !json.Valid(o.Data) {
				t.Fatalf("want an opaque part in JSON, got %+v", r.Message.Parts)
			}
			req := &llm.Request{Messages: []llm.Message{llm.User("a"), r.Message, llm.User("b")}}
			s.answered(t, req, false)
			if back := s.last(t).request.GetContents()[1].GetParts()[0]; !proto.Equal(back, p) {
				t.Errorf("want %v, got %v", p, back)
			}
		})
	}
}

// A part with nothing but a signature, or with nothing at all, makes the SDK panic too.
func TestPartsWithNothingInThem(t *testing.T) {
	t.Parallel()
	s := serve(t, answers(chunk(none, text("hi"), &pbPart{}), chunk(stop, &pbPart{ThoughtSignature: []byte("s")})))
	r := s.answered(t, hello(), true)
	if want := (llm.Parts{llm.Text{Text: "hi", Signature: []byte("s")}}); !reflect.DeepEqual(r.Message.Parts, want) {
		t.Errorf("want %+v, got %+v", want, r.Message.Parts)
	}
}

// The SDK makes an error of a filtered answer, and loses it with its tokens.
func TestAFilteredAnswerIsData(t *testing.T) {
	t.Parallel()
	m := counted(chunk(aiplatformpb.Candidate_SAFETY))
	m.Candidates[0].SafetyRatings = []*aiplatformpb.SafetyRating{{
		Category: aiplatformpb.HarmCategory_HARM_CATEGORY_HARASSMENT, Probability: aiplatformpb.SafetyRating_HIGH, Blocked: true,
	}}
	s := serve(t, answers(chunk(none, text("half")), m))
	_, r, err := ask(t, s.provider(t), hello(), true)
	e := failed(t, err, llm.ErrContentFiltered)
	if r.Text() != "half" || r.Usage.Input != 5 || !slices.Equal(e.Filtered, []string{"harassment (high)"}) || e.Code != "SAFETY" {
		t.Errorf("got %+v with %+v", e, r)
	}
}

// The SDK takes any promptFeedback for a blocked prompt.
func TestOnlyABlockReasonBlocksAPrompt(t *testing.T) {
	t.Parallel()
	harmless := counted(chunk(stop, text("hi")))
	harmless.PromptFeedback = &aiplatformpb.GenerateContentResponse_PromptFeedback{}
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		if r := serve(t, answers(harmless)).answered(t, hello(), stream); r.Text() != "hi" {
			t.Errorf("got %+v", r)
		}
	})
	both(t, func(t *testing.T, stream bool) {
		t.Helper()
		blocked := counted(&message{PromptFeedback: &aiplatformpb.GenerateContentResponse_PromptFeedback{
			BlockReason: 6, BlockReasonMessage: "because",
		}})
		_, _, err := ask(t, serve(t, answers(blocked)).provider(t), hello(), stream)
		e := failed(t, err, llm.ErrContentFiltered)
		if e.Code != "JAILBREAK" || e.Message != "because" || e.Partial == nil || e.Partial.Usage.Input != 5 {
			t.Errorf("got %+v", e)
		}
	})
}

func TestFinishReasonsThatAreNewer(t *testing.T) {
	t.Parallel()
	for number, want := range map[aiplatformpb.Candidate_FinishReason]string{15: "UNEXPECTED_TOOL_CALL", 9: "MALFORMED_FUNCTION_CALL"} {
		m := chunk(number)
		m.Candidates[0].Content = nil
		_, _, err := ask(t, serve(t, answers(m)).provider(t), hello(), true)
		if e := failed(t, err, llm.ErrBadOutput); e.Code != want {
			t.Errorf("want %s, got %s", want, e.Code)
		}
	}
	if r := serve(t, answers(chunk(99, text("hi")))).answered(t, hello(), false); r.RawFinish != "99" || r.Finish != llm.FinishOther {
		t.Errorf("want the number, got %q and %s", r.RawFinish, r.Finish)
	}
}

// The message of an answer has no field for the tokens of tools that the service ran; on the wire they are there.
func TestTokensOfToolsThatTheServiceRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		total int32
		input int64
	}{"part of the total": {15, 12}, "something else": {8, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := counted(chunk(stop, text("hi")))
			m.UsageMetadata.TotalTokenCount = c.total
			m.UsageMetadata.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 13, protowire.VarintType), 7))
			if r := serve(t, answers(m)).answered(t, hello(), false); r.Usage.Input != c.input {
				t.Errorf("want %d, got %+v", c.input, r.Usage)
			}
		})
	}
}

func TestGroundingCitationsAndPagesAreJSONAsOverREST(t *testing.T) {
	t.Parallel()
	m := chunk(stop, text("hi"))
	m.Candidates[0].GroundingMetadata = &aiplatformpb.GroundingMetadata{WebSearchQueries: []string{"q"}}
	m.Candidates[0].CitationMetadata = &aiplatformpb.CitationMetadata{Citations: []*aiplatformpb.Citation{{Uri: "u", EndIndex: 3}}}
	m.Candidates[0].UrlContextMetadata = &aiplatformpb.UrlContextMetadata{UrlMetadata: []*aiplatformpb.UrlMetadata{{RetrievedUrl: "r"}}}
	r := serve(t, answers(m)).answered(t, hello(), true)
	var got []string
	for _, p := range r.Message.Parts[1:] {
		o, _ := p.(llm.Opaque)
		got = append(got, o.Type+string(o.Data))
	}
	want := []string{
		vertex.GroundingType + `{"webSearchQueries":["q"]}`, vertex.CitationsType + `{"citations":[{"endIndex":3,"uri":"u"}]}`,
		vertex.URLContextType + `{"urlMetadata":[{"retrievedUrl":"r"}]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("want %s\ngot %s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

func TestMediaArrives(t *testing.T) {
	t.Parallel()
	m := chunk(stop,
		&pbPart{Data: &aiplatformpb.Part_InlineData{InlineData: &aiplatformpb.Blob{MimeType: "image/png", Data: []byte{1, 2}}}},
		&pbPart{Data: &aiplatformpb.Part_FileData{FileData: &aiplatformpb.FileData{MimeType: "text/plain", FileUri: "gs://b/o"}}})
	r := serve(t, answers(m)).answered(t, hello(), false)
	want := llm.Parts{llm.Media{MediaType: "image/png", Data: []byte{1, 2}}, llm.Media{MediaType: "text/plain", URI: "gs://b/o"}}
	if !reflect.DeepEqual(r.Message.Parts, want) {
		t.Errorf("want %+v, got %+v", want, r.Message.Parts)
	}
}
