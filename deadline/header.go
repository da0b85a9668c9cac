package deadline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultName is the name of a [Header] that names none.
const DefaultName = "X-Deadline-Ms"

// Header says how the time that a callee has is spelled in an HTTP header. The value is that time, all the
// callee's own retries included, as a whole number of units, rounded down. It is relative, so clocks need not
// agree.
//
// The zero value and a nil Header are X-Deadline-Ms in milliseconds, the form that two services which use
// this package agree on without a word. A gateway that has a header of its own is fed by naming it:
//
//	&deadline.Header{Name: "X-Gateway-Timeout-Seconds", Unit: time.Second, Max: 895 * time.Second}
//
// A Header is not changed by its methods and may be used by several goroutines.
type Header struct {
	Name string        // "" is DefaultName; not one that HTTP or gRPC write themselves, such as Host or grpc-timeout
	Unit time.Duration // what the number counts; 0, and less, is a millisecond
	// Hop is taken off by Set, once per hop, for the way there and back: the callee has to answer before the
	// caller gives up. 0 is nothing. Get takes nothing off.
	Hop time.Duration
	// Max is the most that Set hands on, and that Get accepts. 0 is no limit. With less than a Unit Set never writes
	// anything.
	Max time.Duration
}

// spelled is h with its defaults.
func (h *Header) spelled() Header {
	var s Header
	if h != nil {
		s = *h
	}
	if s.Name == "" {
		s.Name = DefaultName
	}
	if s.Unit <= 0 {
		s.Unit = time.Millisecond
	}
	s.Hop = max(s.Hop, 0)
	return s
}

// Set writes into to how long the callee may take: the time to the nearest of the execution's end and ctx's
// own deadline, less Hop, at most Max, rounded down to whole units. A number that stands there already is
// lowered and never raised; of several the lowest counts, and what cannot be read is replaced. The case of a
// name makes no difference. Call it again for every attempt: less is left then.
//
// When nobody waits for the work under ctx, as [Awaited] says, nothing is changed. When less than one unit is
// left the header is omitted, and removed if it was there, since it would promise more than there is.
func (h *Header) Set(ctx context.Context, to http.Header) {
	s := h.spelled()
	if !Awaited(ctx) {
		return
	}
	remaining, _ := left(ctx)
	remaining -= s.Hop
	if s.Max > 0 {
		remaining = min(remaining, s.Max)
	}
	n := int64(remaining / s.Unit)
	nothing := n < 1
	for key, values := range to {
		if !strings.EqualFold(key, s.Name) {
			continue
		}
		for _, value := range values {
			if there, err := s.parse(value); err == nil {
				n = min(n, there)
			}
		}
		delete(to, key)
	}
	if nothing {
		return
	}
	to.Set(s.Name, strconv.FormatInt(n, 10))
}

// Get reads how long the caller waits, at most Max. It is false without an error when the header is absent.
// It refuses everything but digits, repeats that differ, and what no duration can hold; 0 is an error that is
// context.DeadlineExceeded. An error names the header and never quotes the value. Do not go on as if a
// refused header were absent: somebody has a deadline that you do not know.
func (h *Header) Get(from http.Header) (left time.Duration, ok bool, err error) {
	s := h.spelled()
	values := s.values(from)
	if len(values) == 0 {
		return 0, false, nil
	}
	n, err := s.parse(values[0])
	if err == nil && n == 0 {
		err = fmt.Errorf("no time is left: %w", context.DeadlineExceeded)
	}
	for _, other := range values[1:] {
		if err == nil && other != values[0] {
			err = errors.New("stands there more than once, with different values (send one)")
		}
	}
	if err != nil {
		return 0, false, fmt.Errorf("deadline: header %s: %w", s.Name, err)
	}
	left = time.Duration(n) * s.Unit
	if s.Max > 0 {
		left = min(left, s.Max)
	}
	return left, true, nil
}

// values are those of the header in all spellings of its name: a map may hold other ones than the canonical, and they
// are one on the wire.
func (h *Header) values(from http.Header) []string {
	values := from.Values(h.Name)
	canonical := http.CanonicalHeaderKey(h.Name)
	for key, more := range from {
		if key != canonical && strings.EqualFold(key, h.Name) {
			values = append(slices.Clip(values), more...)
		}
	}
	return values
}

// parse reads a number of units that a duration can hold.
func (h *Header) parse(value string) (int64, error) {
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, fmt.Errorf("want digits only, got %d bytes that are something else (send a whole number, in units of %v)", len(value), h.Unit)
	}
	most := math.MaxInt64 / int64(h.Unit)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("the number of %d digits is too large (send at most %d, in units of %v)", len(value), most, h.Unit)
	}
	return n, nil
}
