package providers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/sashabaranov/go-openai"
	"google.golang.org/genai"

	"github.com/punctual-llm/punctual/deadline"
	"github.com/punctual-llm/punctual/fallback"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/bedrock"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// Where nobody waits until a deadline, a request through a chain is that of the bare SDK without a context's end: the
// request line and the headers byte for byte, and the body as a value, for bodies are our own (docs/design.md).

// gatewayHint is the form of a gateway whose header counts seconds, as configured.
func gatewayHint() *deadline.Header {
	return &deadline.Header{Name: "X-UiPath-LLMGateway-TimeoutSeconds", Unit: time.Second, Max: 895 * time.Second}
}

// bareCall is one provider: with its own SDK alone, and with our adapter.
type bareCall struct {
	name string
	bare func(ctx context.Context, t *testing.T, url string, stream bool) // makes the call; the answer does not matter
	ours func(url string, h *deadline.Header) (closer, error)
}

// The request of all of them.
func bareRequest() *llm.Request {
	return &llm.Request{System: "be short", Messages: []llm.Message{llm.User("hello <ü>")}, MaxTokens: 100, Temperature: new(0.5)}
}

var bareCalls = []bareCall{
	{"azure", bareAzure, func(url string, h *deadline.Header) (closer, error) {
		return azure.New(&azure.Options{Endpoint: url, Deployment: "gpt-4o", APIVersion: "2024-10-21", Key: "key", Hint: h})
	}},
	{"compatible", bareOpenAI, func(url string, h *deadline.Header) (closer, error) {
		return azure.Compatible(&azure.CompatibleOptions{BaseURL: url + "/v1", Model: "gpt-4o", Key: "key", Hint: h})
	}},
	{"bedrock", bareBedrock, func(url string, h *deadline.Header) (closer, error) {
		return bedrock.New(&bedrock.Options{Region: "us-east-1", Model: nova, Endpoint: url, Credentials: signing, Hint: h})
	}},
	{"vertex", bareVertex, func(url string, h *deadline.Header) (closer, error) {
		return vertex.New(&vertex.Options{Project: "p", Location: "global", Model: "gemini-2.5-flash", Endpoint: url, TokenSource: simulatedToken, Hint: h})
	}},
	{"gemini", bareGemini, func(url string, h *deadline.Header) (closer, error) {
		return vertex.New(&vertex.Options{Model: "gemini-2.5-flash", Endpoint: url, APIKey: "key", Hint: h})
	}},
}

func bareAzure(ctx context.Context, _ *testing.T, url string, stream bool) {
	c := openai.DefaultAzureConfig("key", url)
	c.APIVersion = "2024-10-21"
	askOpenAI(ctx, openai.NewClientWithConfig(c), stream)
}

func bareOpenAI(ctx context.Context, _ *testing.T, url string, stream bool) {
	c := openai.DefaultConfig("key")
	c.BaseURL = url + "/v1"
	askOpenAI(ctx, openai.NewClientWithConfig(c), stream)
}

func askOpenAI(ctx context.Context, c *openai.Client, stream bool) {
	req := openai.ChatCompletionRequest{
		Model:               "gpt-4o",
		Messages:            []openai.ChatCompletionMessage{{Role: "system", Content: "be short"}, {Role: "user", Content: "hello <ü>"}},
		MaxCompletionTokens: 100, Temperature: 0.5,
	}
	if stream {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		_, _ = c.CreateChatCompletionStream(ctx, req)
		return
	}
	_, _ = c.CreateChatCompletion(ctx, req)
}

func bareBedrock(ctx context.Context, _ *testing.T, url string, stream bool) {
	c := bedrockruntime.New(bedrockruntime.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: signing, Retryer: aws.NopRetryer{}})
	system := []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: "be short"}}
	messages := []types.Message{{Role: "user", Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "hello <ü>"}}}}
	config := &types.InferenceConfiguration{MaxTokens: aws.Int32(100), Temperature: aws.Float32(0.5)}
	if stream {
		_, _ = c.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(nova), System: system, Messages: messages, InferenceConfig: config})
		return
	}
	_, _ = c.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: aws.String(nova), System: system, Messages: messages, InferenceConfig: config})
}

type staticToken struct{}

// Token implements auth.TokenProvider.
func (staticToken) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: "token", Type: "Bearer"}, nil
}

func bareVertex(ctx context.Context, t *testing.T, url string, stream bool) {
	t.Helper()
	askGenai(ctx, t, stream, &genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: "p", Location: "global", HTTPOptions: genai.HTTPOptions{BaseURL: url + "/"},
		Credentials: auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: staticToken{}}),
	})
}

func bareGemini(ctx context.Context, t *testing.T, url string, stream bool) {
	t.Helper()
	askGenai(ctx, t, stream, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "key", HTTPOptions: genai.HTTPOptions{BaseURL: url + "/"},
	})
}

func askGenai(ctx context.Context, t *testing.T, stream bool, config *genai.ClientConfig) {
	t.Helper()
	c, err := genai.NewClient(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	o := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("be short", genai.RoleUser), MaxOutputTokens: 100, Temperature: new(float32(0.5)),
	}
	if stream {
		for _, err := range c.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("hello <ü>"), o) {
			_ = err
			break
		}
		return
	}
	_, _ = c.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("hello <ü>"), o)
}

// rawServer refuses every request and keeps what came over the connection, byte for byte.
type rawServer struct {
	url  string
	date time.Duration // its clock, before ours

	mu   sync.Mutex
	seen []string
}

func startRaw(t *testing.T, date time.Duration) *rawServer {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{url: "http://" + l.Addr().String(), date: date}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return s
}

// serve reads the one request of a connection.
func (s *rawServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var raw bytes.Buffer
	req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &raw)))
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, raw.String())
	s.mu.Unlock()
	date := time.Now().Add(s.date).UTC().Format(http.TimeFormat)
	_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nDate: "+date+"\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
}

// take returns what has come since the last take.
func (s *rawServer) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// What is new in every request, and the length of a body that is the same value in another order.
var fresh = regexp.MustCompile(`(?m)^(Content-Length|Amz-Sdk-Invocation-Id|X-Amz-Date|Host): [^\r]*|/\d{8}/|Signature=\w+`)

// head is the request line and the headers, without what is new in every request.
func head(raw string) string {
	h, _, _ := strings.Cut(raw, "\r\n\r\n")
	h = strings.Replace(h, "X-Goog-User-Project: \r\n", "", 1) // empty, from genai, for credentials that name no project to bill
	return fresh.ReplaceAllString(h, "$1")
}

// bodyValue is the body as a value. What an SDK writes although it is the default is left out.
func bodyValue(t *testing.T, raw string) map[string]any {
	t.Helper()
	_, body, _ := strings.Cut(raw, "\r\n\r\n")
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("the body is no JSON: %v\n%s", err, raw)
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	return v
}

// through makes one call through a chain of its own and returns what was sent.
func (c *bareCall) through(ctx context.Context, t *testing.T, s *rawServer, h *deadline.Header, stream bool) []string {
	t.Helper()
	p, err := c.ours(s.url, h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	client := chainOf(t, p)
	for range 2 { // the first answer teaches an SDK something: the clock of the server
		if _, err := callOnce(ctx, client, stream); llm.KindOf(err) != llm.ErrInvalid {
			t.Fatalf("the call ended with %v", err)
		}
	}
	return s.take()
}

func chainOf(t *testing.T, g llm.Generator) *llm.Client {
	t.Helper()
	client, err := fallback.NewClient([]fallback.Target{{Name: "a", Generator: g, Prompt: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func callOnce(ctx context.Context, client *llm.Client, stream bool) (*llm.Response, error) {
	if stream {
		s := client.Stream(ctx, bareRequest())
		for _, err := range s.Text() {
			if err != nil {
				return nil, err
			}
		}
		return s.Response()
	}
	return client.Generate(ctx, bareRequest())
}

func TestWithoutADeadlineARequestIsTheSDKsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range bareCalls {
		for _, stream := range []bool{false, true} {
			name := map[bool]string{false: "whole", true: "streamed"}[stream]
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := startRaw(t, 10*time.Second)
				c.bare(context.WithoutCancel(t.Context()), t, s.url, stream)
				bare := s.take()
				if len(bare) != 1 {
					t.Fatalf("the SDK sent %d requests", len(bare))
				}
				for what, h := range map[string]*deadline.Header{"without a hint": nil, "with a hint": gatewayHint()} {
					sent := c.through(context.WithoutCancel(t.Context()), t, s, h, stream)
					if len(sent) != 2 {
						t.Fatalf("%s: %d requests", what, len(sent))
					}
					for _, raw := range sent {
						if head(raw) != head(bare[0]) {
							t.Errorf("%s: sent\n%s\nthe SDK alone sends\n%s", what, raw, bare[0])
						}
						if !reflect.DeepEqual(bodyValue(t, raw), bodyValue(t, bare[0])) {
							t.Errorf("%s: sent the body\n%s\nthe SDK alone sends\n%s", what, raw, bare[0])
						}
					}
				}
			})
		}
	}
}

// TestWithADeadlineOneHeaderIsAdded: a caller's deadline adds the hint, floored, and nothing else but Google's own
// header, which is then floored, too.
func TestWithADeadlineOneHeaderIsAdded(t *testing.T) {
	t.Parallel()
	for _, c := range bareCalls {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startRaw(t, 0)
			free := head(c.through(t.Context(), t, s, nil, false)[0])
			for what, open := range map[string]func() (context.Context, context.CancelFunc){
				"a caller's deadline": func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), 43*time.Second-time.Millisecond)
				},
				"an execution": func() (context.Context, context.CancelFunc) {
					return deadline.With(t.Context(), 43*time.Second-time.Millisecond, nil)
				},
			} {
				ctx, cancel := open()
				added := added(free, head(c.through(ctx, t, s, gatewayHint(), false)[0]))
				cancel()
				want := []string{"X-Uipath-Llmgateway-Timeoutseconds: 42"}
				if c.name == "vertex" || c.name == "gemini" {
					want = append([]string{"X-Server-Timeout: 42"}, want...)
				}
				if !slices.Equal(added, want) {
					t.Errorf("%s: added %q, want %q", what, added, want)
				}
			}
		})
	}
}

// added are the lines of b that a has not.
func added(a, b string) []string {
	lines := strings.Split(a, "\r\n")
	return slices.DeleteFunc(strings.Split(b, "\r\n"), func(line string) bool { return slices.Contains(lines, line) })
}
