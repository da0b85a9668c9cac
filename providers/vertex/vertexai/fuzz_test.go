package vertexai

import (
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// FuzzDecode reads any message that a service may send.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{"name":"f","args":{"n":"NaN"}}}]},"finishReason":"STOP"}]}`,
		`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"totalTokenCount":3}}`,
		`{"candidates":[{"content":{"parts":[{"executableCode":{"code":"1"}},{}]},"finishReason":77}]}`,
	} {
		m := new(aiplatformpb.GenerateContentResponse)
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := new(aiplatformpb.GenerateContentResponse)
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		r := decode(m)
		if all := m.GetCandidates(); len(all) > 0 && len(r.Candidates[0].Content.Parts.Items) != len(all[0].GetContent().GetParts()) {
			t.Errorf("%d parts of %d", len(r.Candidates[0].Content.Parts.Items), len(all[0].GetContent().GetParts()))
		}
	})
}

// FuzzEncode makes a message of any request, or an error that says what has no place in it.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{
		`{"contents":[{"role":"user","parts":[{"text":"hi"},{"vertexaiPart":"CAE="}]}]}`,
		`{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"},"seed":12345678901234567890}}`,
		`{"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"maximum":9007199254740993}}]}],"labels":{"a":"b"}}`,
		`{"contents":[{"parts":[{"vertexaiPart":"CAE="}],"parts":[]}],"contents":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := encode(body, "m")
		if (req == nil) == (err == nil) || err != nil && !err.NotSent {
			t.Errorf("got %v and %v", req, err)
		}
	})
}
