package vertexai_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/vertex"
)

// packed is n zeros, compressed.
func packed(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range n / len(zeros) {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is small on the wire and large in memory is refused before it is. No other test runs beside this one, so that
// what is allocated is its own.
func TestBombsAreNotUnpacked(t *testing.T) { //nolint:paralleltest // it measures
	if adaptertest.RaceEnabled {
		t.Skip("it takes long with the race detector, which allocates, too")
	}
	for name, c := range map[string]struct {
		frame []byte
		most  uint64
	}{
		"empty parts": {framed(0, bomb(16_000_000)), 256 << 20},
		"zeros":       {framed(1, packed(t, 256<<20)), 160 << 20},
	} {
		for _, stream := range []bool{false, true} {
			url := overHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Grpc-Encoding", "gzip")
				w.Header().Set("Trailer", "Grpc-Status")
				_, _ = w.Write(c.frame)
				w.Header().Set("Grpc-Status", "0")
			})
			p := new(server).provider(t, func(o *vertex.Options) { o.Endpoint = url })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := ask(t, p, hello(), stream)
			runtime.ReadMemStats(&after)
			if e := failed(t, err, llm.ErrBadOutput); e.Code != "answer_too_large" || e.Status != http.StatusOK {
				t.Errorf("%s: %+v", name, e)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > c.most {
				t.Errorf("%s of %d bytes took %d MiB", name, len(c.frame), used>>20)
			}
		}
	}
}

// A long answer with the odds of every token is none.
func TestALongHealthyAnswerIsNoBomb(t *testing.T) {
	t.Parallel()
	long := chunk(stop)
	for range 60_000 {
		long.Candidates[0].Content.Parts = append(long.Candidates[0].Content.Parts, text("a"))
	}
	if got := serve(t, answers(long)).answered(t, hello(), true); len(got.Text()) != 60_000 {
		t.Errorf("%d bytes", len(got.Text()))
	}
}
