package vertex

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llmtest"
)

func TestCut(t *testing.T) {
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Cut("a b")}}})
	for _, http2 := range []bool{false, true} {
		for _, path := range []string{ssePath, arrayPath} {
			got := request{path: path, http2: http2}.to(t, s).Outcome(t)
			if got.Err == nil || digests(t, got.Body) != `"a " | "b"` {
				t.Errorf("stream: %+v", got)
			}
		}
		resp, body, err := request{http2: http2}.to(t, s).Answer(t)
		if err == nil || resp.ContentLength <= int64(len(body)) || body == "" {
			t.Errorf("unary: %v, %d of %d bytes", err, len(body), resp.ContentLength)
		}
		if !http2 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("unary: %v", err)
		}
	}
	for _, r := range []rpcRequest{{stream: true}, {}} {
		if got, err := r.answer(t, s); ending(err) != "Internal" || r.stream && got != `"a " | "b"` {
			t.Errorf("over gRPC: %q, %v", got, err)
		}
	}
}

// TestPauses: Delay is before the first content, Gap between two events.
func TestPauses(t *testing.T) {
	const pause = 40 * time.Millisecond
	s := start(t, &Options{Script: []Turn{{Step: llmtest.Text("a b").After(pause).Every(pause)}}})
	begin := time.Now()
	resp, err := request{path: ssePath}.to(t, s).Send(t)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	seen, times := "", map[string]time.Duration{}
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = resp.Body.Read(buf)
		seen += string(buf[:n])
		for _, mark := range []string{`"a "`, `"b"`, "STOP"} {
			if strings.Contains(seen, mark) && times[mark] == 0 {
				times[mark] = time.Since(begin)
			}
		}
	}
	if !errors.Is(err, io.EOF) || times[`"a "`] < pause || times[`"b"`] < 2*pause || times["STOP"] < 3*pause {
		t.Errorf("%v, %v", err, times)
	}
	begin = time.Now()
	if got := (request{}).to(t, s).Outcome(t); got.Status != http.StatusOK || time.Since(begin) < pause {
		t.Errorf("unary: %+v", got)
	}
}
