package bedrock_test

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/punctual-llm/punctual/internal/adaptertest"
	"github.com/punctual-llm/punctual/llm"
)

// announce is the beginning of a frame: its lengths, and their checksum.
func announce(total, headers uint32) string {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), headers)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func TestAFrameBeyondAllBoundsIsRefusedByItsLengths(t *testing.T) { //nolint:paralleltest // it measures memory
	const most, mostHeaders = 16 * mib, 128 << 10
	for name, c := range map[string]struct{ head, code string }{
		"4 GiB":                    {announce(1<<32-1, 0), "answer_too_large"},
		"200 MiB":                  {announce(200*mib, 0), "answer_too_large"},
		"a byte too many":          {announce(most+1, 0), "answer_too_large"},
		"4 GiB of headers":         {announce(1<<32-1, 1<<32-17), "answer_too_large"},
		"headers that overflow":    {announce(16, 1<<32-1), "answer_too_large"},
		"a header byte too many":   {announce(most, mostHeaders+1), "answer_too_large"},
		"headers beyond the frame": {announce(100, 85), "malformed_event"},
		"shorter than its lengths": {announce(15, 0), "malformed_event"},
		"nothing":                  {announce(0, 0), "malformed_event"},
	} {
		read := 0
		body := adaptertest.Pieces(func(i int) string {
			if read++; i == 0 {
				return begin() + text(0, "hi") + c.head
			}
			if i > 64 {
				return ""
			}
			return strings.Repeat("x", mib)
		})
		var resp *llm.Response
		var err error
		mibs := allocated(func() {
			resp, err = reading(t, eventStream, body).Generate(t.Context(), hello(), func(llm.Event) error { return nil })
		})
		e := failed(t, err, llm.ErrBadOutput)
		if e.Code != c.code || e.Partial != resp || resp.Text() != "hi" || read > 2 || mibs > 8 {
			t.Errorf("%s: %s after %d pieces and %d MiB: %v", name, e.Code, read, mibs, err)
		}
	}
}

func TestTheLengthsOfAFrameAreNoMatterBehindTheEndMark(t *testing.T) {
	t.Parallel()
	_, resp := streamed(t, events(begin(), text(0, "hi"), stop("end_turn"), announce(1<<32-1, 0)))
	if resp.Text() != "hi" || resp.Finish != llm.FinishStop {
		t.Errorf("%+v", resp)
	}
}

func TestAFrameWithinItsBoundsIsRead(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 15*mib)
	_, resp := streamed(t, events(begin(), text(0, large), stop("end_turn"), metadata()))
	if len(resp.Text()) != len(large) {
		t.Errorf("%d bytes", len(resp.Text()))
	}
}
