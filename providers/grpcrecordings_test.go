package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
	"github.com/punctual-llm/punctual/providers/vertex/vertexai"
)

// The recordings of Vertex AI and the Gemini API also go through engine vertexai: their JSON becomes the messages and
// statuses that gRPC would have brought. What there is no place for is counted; a recording that does not pass for it
// is named with what was lost, and any other that does not pass is a failure.
func TestRecordingsOverGRPC(t *testing.T) {
	var all []*recording
	for _, rec := range loadRecordings(t) {
		if rec.Provider == "vertex" || rec.Provider == "gemini" {
			all = append(all, rec)
		}
	}
	t.Run("the runner notices changes", func(t *testing.T) { checkGRPCRunner(t, all) })
	var passed int
	var notes, cannot, failed []string
	lost := map[string]int{}
	for _, rec := range all {
		t.Run(rec.ID, func(t *testing.T) {
			r := playGRPC(t, rec)
			for _, path := range r.wire.lost {
				lost[path]++
			}
			for _, note := range r.notes {
				notes = append(notes, rec.ID+": "+note)
			}
			switch {
			case len(r.problems) == 0:
				passed++
			case len(r.wire.excuses()) > 0:
				cannot = append(cannot, rec.ID+": "+strings.Join(r.problems, "; ")+"; lost: "+strings.Join(r.wire.excuses(), ", "))
			default:
				failed = append(failed, rec.ID)
				t.Errorf("%s", strings.Join(r.problems, "\n"))
			}
		})
	}
	for _, path := range slices.Sorted(maps.Keys(lost)) {
		fmt.Printf("engine vertexai: no place in the gRPC definitions: %s (%d times)\n", path, lost[path])
	}
	report("engine vertexai: the request", notes)
	report("engine vertexai: CANNOT PASS", cannot)
	report("engine vertexai: FAILED", failed)
	fmt.Printf("engine vertexai: %d of %d recordings\n", passed, len(all))
	const share = 0.9
	if float64(passed) < share*float64(len(all)) {
		t.Errorf("%d of %d recordings pass over gRPC", passed, len(all))
	}
}

// grpcResult is what engine vertexai made of a recording.
type grpcResult struct {
	wire     *grpcReply
	problems []string
	notes    []string // about the request
}

// playGRPC plays one recording.
func playGRPC(t *testing.T, rec *recording) *grpcResult {
	t.Helper()
	if err := canonical(rec); err != nil {
		t.Fatal(err)
	}
	wire := overGRPC(t, rec)
	r := &grpcResult{wire: wire}
	s := &recordedService{wire: wire}
	url := s.start(t)
	req, err := vertexRequest(rec)
	if why, ok := errors.AsType[unfit](err); ok {
		r.notes, req = append(r.notes, string(why)), nil
	} else if err != nil {
		t.Fatalf("request: %v", err)
	}
	got := new(result)
	if req != nil {
		got = s.ask(t, rec, url, req)
	}
	if req != nil && llm.KindOf(got.err) == llm.ErrUnsupported {
		field, _ := errors.AsType[*llm.FieldError](got.err)
		r.notes, req = append(r.notes, "unsupported: "+field.Error()), nil
	}
	if req == nil {
		got = s.ask(t, rec, url, &llm.Request{Messages: []llm.Message{llm.User("hello")}})
	} else {
		r.problems = append(r.problems, s.outgoing(t, rec)...)
	}
	want, _ := vertexOutcome(rec)
	if name, ok := wire.finish[want.finish]; ok {
		want.finish = name
	}
	r.problems = append(r.problems, want.differs(got)...)
	if n := len(s.seen); n != 1 {
		r.problems = append(r.problems, fmt.Sprintf("%d requests were sent, want 1", n))
	}
	return r
}

// recordedService answers with what a recording became.
type recordedService struct {
	aiplatformpb.UnimplementedPredictionServiceServer
	wire *grpcReply
	mu   sync.Mutex
	seen []*aiplatformpb.GenerateContentRequest
}

// start serves gRPC, and pages that are none, and returns the address.
func (s *recordedService) start(t *testing.T) string {
	t.Helper()
	g := grpc.NewServer()
	aiplatformpb.RegisterPredictionServiceServer(g, s)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.wire.page == nil {
			g.ServeHTTP(w, r)
			return
		}
		s.keep(nil)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(s.wire.status)
		_, _ = w.Write(s.wire.page)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() { g.Stop(); server.Close() })
	return server.URL
}

func (s *recordedService) keep(r *aiplatformpb.GenerateContentRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r)
}

// GenerateContent implements the service.
func (s *recordedService) GenerateContent(
	ctx context.Context, r *aiplatformpb.GenerateContentRequest,
) (*aiplatformpb.GenerateContentResponse, error) {
	s.keep(r)
	_ = grpc.SetTrailer(ctx, s.wire.header)
	if len(s.wire.messages) == 0 {
		return nil, s.wire.err
	}
	return s.wire.messages[0], s.wire.err
}

// StreamGenerateContent implements the service.
func (s *recordedService) StreamGenerateContent(
	r *aiplatformpb.GenerateContentRequest, stream aiplatformpb.PredictionService_StreamGenerateContentServer,
) error {
	s.keep(r)
	stream.SetTrailer(s.wire.header)
	for _, m := range s.wire.messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return s.wire.err
}

// ask makes the call that a recording means.
func (s *recordedService) ask(t *testing.T, rec *recording, url string, req *llm.Request) *result {
	t.Helper()
	path, _, _ := strings.Cut(rec.Request.Path, ":")
	elements := strings.Split(strings.Trim(path, "/"), "/")
	p, err := vertex.New(&vertex.Options{
		Project: "example-project", Model: elements[len(elements)-1], Endpoint: url, Engine: vertexai.Engine,
		TokenSource: func(context.Context) (string, error) { return "token", nil },
	})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = p.Close() }()
	got := new(result)
	var sink llm.Sink
	if rec.streams() {
		sink = func(e llm.Event) error { got.events = append(got.events, e); return nil }
	}
	got.resp, got.err = p.Generate(t.Context(), req, sink)
	got.frames = s.wire.frames()
	return got
}

// grpcAllowances are those of generateContent, and what differs because all recordings are played as Vertex AI's.
var grpcAllowances = append(slices.Clone(vertexAllowances), allowance{
	"cachedContent", "the name of a cache of the Gemini API becomes one of a project",
	func(recorded, sent any) bool { return strings.HasSuffix(fmt.Sprint(sent), "/"+fmt.Sprint(recorded)) },
})

// outgoing compares the message that was sent with the recorded request.
func (s *recordedService) outgoing(t *testing.T, rec *recording) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) != 1 || s.seen[0] == nil {
		return nil
	}
	sent, ok := proto.Clone(s.seen[0]).(*aiplatformpb.GenerateContentRequest)
	if !ok {
		return nil
	}
	sent.Model = ""
	body, err := protojson.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	got := &result{method: rec.Request.Method, path: rec.Request.Path, body: body}
	return outgoing(rec, got, grpcAllowances, map[string]int{})
}

// checkGRPCRunner changes a byte of a reply, and each value of expect, in one recording of each kind.
func checkGRPCRunner(t *testing.T, recordings []*recording) {
	t.Helper()
	tried := map[string]bool{}
	notices := func(changed *recording) bool { return len(playGRPC(t, changed).problems) > 0 }
	for _, rec := range recordings {
		if r := playGRPC(t, rec); len(r.problems) > 0 {
			continue
		}
		if !tried[rec.Kind] {
			all := changedReplies(t, rec)
			tried[rec.Kind] = len(all) > 0
			if len(all) > 0 && !slices.ContainsFunc(all, notices) {
				t.Errorf("%s: no change of one byte of the reply was noticed", rec.ID)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(rec.Expect)) {
			changed := changedExpect(rec, key)
			if name := rec.Kind + " " + key; changed != nil && !tried[name] {
				tried[name] = true
				if !notices(changed) {
					t.Errorf("%s: another %s in expect was not noticed", rec.ID, key)
				}
			}
		}
	}
}
