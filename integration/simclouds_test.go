package integration_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// The paths of the three clouds, and what a request to each of them says.
const (
	bedrockPath = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"
	vertexPath  = "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:generateContent"
	geminiPath  = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"

	bedrockHello = `{"messages":[{"role":"user","content":[{"text":"` + prompt + `"}]}]}`
	vertexHello  = `{"contents":[{"role":"user","parts":[{"text":"` + prompt + `"}]}]}`
	openAIHello  = `{"model":"gpt-4o","messages":[{"role":"user","content":"` + prompt + `"}]}`
)

// tell sends a request over one version of HTTP and returns the response with its whole body.
func tell(t *testing.T, http2 bool, url, body string, header map[string]string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, all
}

var bearer = map[string]string{"Authorization": "Bearer a-token-of-a-test"}

// TestSimServesThreeCloudsOnOnePort: over both versions of HTTP, with one log and one count.
func TestSimServesThreeCloudsOnOnePort(t *testing.T) {
	t.Parallel()
	s := startSim(t)
	sent := 0
	for _, http2 := range []bool{false, true} {
		for _, tt := range []struct {
			path, body string
			header     map[string]string
			status     int
			says       string
		}{
			{"/openai/v1/chat/completions", openAIHello, bearer, 200, "Hello from a simulated Azure OpenAI account."},
			{"/v1/chat/completions", openAIHello, bearer, 200, "Hello from a simulated Azure OpenAI account."},
			{bedrockPath, bedrockHello, bearer, 200, "Hello from a simulated Bedrock account."},
			{vertexPath, vertexHello, bearer, 200, "Hello from a simulated Vertex AI account."},
			{geminiPath, vertexHello, map[string]string{"X-Goog-Api-Key": "k"}, 200, "data: {"},
			{bedrockPath, bedrockHello, nil, 403, "Missing Authentication Token"},
			{vertexPath, vertexHello, nil, 401, "CREDENTIALS_MISSING"},
			{bedrockPath, bedrockHello, map[string]string{"Authorization": "Bearer t", "X-Punctual-Fault": "status=503"}, 503, "message"},
			{"/model/x/invoke", "{}", map[string]string{"Authorization": "AWS4-HMAC-SHA256 Credential=x"}, 200, "UnknownOperationException"},
			{"/v1beta/models/x:countTokens", "{}", map[string]string{"X-Goog-Api-Client": "x"}, 404, "404"},
			{"/nowhere", "{}", bearer, 404, `{"error":{"code":"404","message": "Resource not found"}}`},
			{"/v1/models/x:predict", "{}", bearer, 404, `{"error":{"code":"404","message": "Resource not found"}}`},
		} {
			resp, body := tell(t, http2, s.url+tt.path, tt.body, tt.header)
			sent++
			if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.says) {
				t.Errorf("%s: %d %s, want %d with %q", tt.path, resp.StatusCode, body, tt.status, tt.says)
			}
		}
	}
	s.stop(t)
	if got := s.log(t); len(got) != sent {
		t.Errorf("the log has %d requests, want %d", len(got), sent)
	}
	var numbers []int // a line is written when its request has ended, which the client may know before
	for _, m := range regexp.MustCompile(`: request (\d+) at `).FindAllStringSubmatch(s.stderr.String(), -1) {
		numbers = append(numbers, number(m[1]))
	}
	slices.Sort(numbers)
	if len(numbers) != sent || numbers[0] != 1 || numbers[sent-1] != sent || len(slices.Compact(numbers)) != sent {
		t.Errorf("the %d requests have the numbers %d", sent, numbers)
	}
	for _, secret := range []string{"a-token-of-a-test", prompt} {
		if strings.Contains(s.said(), secret) {
			t.Errorf("the log repeats %q", secret)
		}
	}
}

// overRPC asks Vertex AI over gRPC, for a stream, and returns its text.
func overRPC(t *testing.T, url string) (string, error) {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer t")
	stream, err := aiplatformpb.NewPredictionServiceClient(conn).StreamGenerateContent(ctx, &aiplatformpb.GenerateContentRequest{
		Model: "projects/p/locations/global/publishers/google/models/gemini-2.5-flash",
		Contents: []*aiplatformpb.Content{{
			Role: "user", Parts: []*aiplatformpb.Part{{Data: &aiplatformpb.Part_Text{Text: prompt}}},
		}},
	})
	if err != nil {
		return "", err
	}
	for text := ""; ; {
		m, err := stream.Recv()
		if err == io.EOF { //nolint:errorlint // as gRPC has it
			return text, nil
		}
		if err != nil {
			return text, err
		}
		for _, part := range m.GetCandidates()[0].GetContent().GetParts() {
			text += part.GetText()
		}
	}
}

func TestSimAnswersOverGRPC(t *testing.T) {
	t.Parallel()
	s := startSim(t)
	if text, err := overRPC(t, s.url); err != nil || text != "Hello from a simulated Vertex AI account." {
		t.Errorf("%q, %v", text, err)
	}
	s.stop(t)
	if got := s.log(t); len(got) != 1 || !strings.HasSuffix(got[0], "/StreamGenerateContent 200") {
		t.Errorf("the log has %q", got)
	}
}

// TestSimReplaysOnEveryPath: a recording is the answer byte for byte, whatever is asked; over gRPC its messages are.
func TestSimReplaysOnEveryPath(t *testing.T) {
	t.Parallel()
	frames := []byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 194, 72, 235, 125, 152, 200, 255}
	stream := "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"4\"}]}}]}\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"2\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n"
	for contentType, body := range map[string][]byte{
		"application/vnd.amazon.eventstream": frames, "text/event-stream": []byte(stream),
	} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "recording.json")
			data := fmt.Sprintf(`{"response": {"status": 203, "headers": {"content-type": %q}, "body_base64": %q}}`,
				contentType, base64.StdEncoding.EncodeToString(body))
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			s := startSim(t, "-replay", file)
			for _, path := range []string{bedrockPath, vertexPath, geminiPath, "/v1/chat/completions", "/nowhere"} {
				for _, http2 := range []bool{false, true} {
					resp, got := tell(t, http2, s.url+path, "{}", nil)
					if resp.StatusCode != 203 || !bytes.Equal(got, body) || resp.Header.Get("Content-Type") != contentType {
						t.Errorf("%s: %d %q", path, resp.StatusCode, got)
					}
				}
			}
			for path, want := range map[string]string{bedrockPath: "Too many requests", vertexPath: "RESOURCE_EXHAUSTED", "/v1/chat/completions": "rate_limit_exceeded"} {
				resp, got := tell(t, false, s.url+path, "{}", map[string]string{"X-Punctual-Fault": "status=429"})
				if resp.StatusCode != 429 || !strings.Contains(string(got), want) {
					t.Errorf("%s, throttled: %d %s, want %s", path, resp.StatusCode, got, want)
				}
			}
			if contentType == "text/event-stream" {
				if text, err := overRPC(t, s.url); err != nil || text != "42" {
					t.Errorf("over gRPC: %q, %v", text, err)
				}
			}
			s.stop(t)
		})
	}
}

// TestSimReplaysRealRecordings asks what was asked of a real account and gets what it answered, of every provider.
func TestSimReplaysRealRecordings(t *testing.T) {
	t.Parallel()
	dir, given := recordings()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		if given {
			t.Fatalf("PUNCTUAL_RECORDINGS is set, but there is no recording in %s", dir)
		}
		t.Skipf("no recordings in %s, and PUNCTUAL_RECORDINGS is not set", dir)
	}
	replayed := map[string]int{}
	for _, file := range files { // one after the other: each is a process
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Provider string
			Request  struct {
				Path string
				Body json.RawMessage
			}
			Response struct {
				Status     int
				Body       string
				BodyBase64 []byte `json:"body_base64"`
			}
		}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if replayed[r.Provider] == 3 { // a few of each are enough: all are played through the adapters in providers
			continue
		}
		replayed[r.Provider]++
		want := r.Response.BodyBase64
		if want == nil {
			want = []byte(r.Response.Body)
		}
		s := startSim(t, "-replay", file)
		resp, got := tell(t, false, s.url+r.Request.Path, string(r.Request.Body), nil)
		if resp.StatusCode != r.Response.Status || !bytes.Equal(got, want) {
			t.Errorf("%s: status %d, %d bytes that are not the %d recorded", file, resp.StatusCode, len(got), len(want))
		}
		s.stop(t)
	}
	t.Logf("replayed %v", replayed)
	if providers := slices.Sorted(maps.Keys(replayed)); given && len(providers) < 3 {
		t.Errorf("there are recordings of %q only", providers)
	}
}
