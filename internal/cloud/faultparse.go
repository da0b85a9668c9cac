package cloud

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

// ParseFault reads a fault: names, most with a value, between commas, such as "status=429,retry-after=2".
// Values are percent-decoded, durations are Go's ("500ms").
//
//	delay=DUR             waits before the status line
//	hang[=PHASE]          stops at headers (default), body, first, stream or end, and keeps the connection open
//	status=NNN            the vendor's error of that status
//	error=KIND            the vendor's error of that kind, in llm's words ("rate_limited")
//	code=WORD             the code of that error
//	retry-after=SECONDS   asks, with that error, for a pause; fractions and durations are allowed
//	at=PHASE              where that error comes; from body on it comes inside a 200
//	cut[=PLACE]           closes the connection at start (no status line), half (default), frame (inside one),
//	reset[=PLACE]         or end (all content, no end mark); reset does it with a TCP reset
//	gap=DUR               pause between two events of a stream
//	ping=DUR[/DUR]        a frame without content (a blank, where no events come) each DUR, for so long before the
//	                      answer; with hang=body and later, for ever
//	drip=BYTES/DUR        the header, then so many blanks each DUR, for ever
//	trickle=BYTES/DUR     the whole answer in pieces of so many bytes, one each DUR
//	write=BYTES           the whole answer in pieces of so many bytes
//	gzip                  the answer compressed, flushed after each event
//	header=NAME:VALUE     a header field of the answer; may be repeated
//	body=TEXT             this body, as JSON, with the given status or 200
//
// The empty text is the zero Fault. Refused is what could not do what it says: an item that is given twice, that
// lacks the one it goes with, or that another one rules out.
func ParseFault(text string) (Fault, error) {
	var f Fault
	if strings.TrimSpace(text) == "" {
		return f, nil
	}
	items := map[string]string{} // by name
	for item := range strings.SplitSeq(text, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(item), "=")
		decoded, err := url.PathUnescape(value)
		if err != nil {
			return Fault{}, faultError(item, "is not percent-encoded")
		}
		name = strings.ToLower(name)
		if err := f.set(name, decoded, given); err != nil {
			return Fault{}, faultError(item, err.Error())
		}
		if _, twice := items[name]; twice && name != "header" {
			return Fault{}, faultError(item, "is the second "+name+"; give it once")
		}
		items[name] = item
	}
	for _, r := range faultRules() {
		if item, ok := items[r.name]; ok && f.holds(r.when, items) {
			return Fault{}, faultError(item, r.problem)
		}
	}
	return f, nil
}

func faultError(item, problem string) error {
	return fmt.Errorf("fault %q %s", strings.TrimSpace(item), problem)
}

func (f *Fault) set(name, value string, given bool) (err error) {
	switch name {
	case "delay":
		f.Delay, err = duration(value)
	case "gap":
		f.Gap, err = duration(value)
	case "hang":
		f.Hang, err = phase(value, given)
	case "at":
		f.At, err = phase(value, given)
	case "status":
		f.Status, err = number(value, 100, 599)
	case "error":
		f.Kind, err = kind(value)
	case "code":
		f.Code = value
	case "retry-after":
		f.RetryAfter, err = seconds(value)
	case "cut":
		err = f.cut(value, given, EndCut)
	case "reset":
		err = f.cut(value, given, EndReset)
	default:
		err = f.setBytes(name, value, given)
	}
	return err
}

// setBytes reads the faults that are a matter of bytes.
func (f *Fault) setBytes(name, value string, given bool) (err error) {
	switch name {
	case "ping":
		every, length, limited := strings.Cut(value, "/")
		if f.Ping.Every, err = duration(every); err == nil && limited {
			f.Ping.For, err = duration(length)
		}
		if err == nil && f.Ping.For/f.Ping.Every > 10_000 {
			err = errors.New("is more than 10000 pings")
		}
	case "drip":
		f.Drip.Bytes, f.Drip.Every, err = rate(value)
	case "trickle":
		f.WriteSize, f.WriteEvery, err = rate(value)
	case "write":
		f.WriteSize, err = number(value, 1, 1<<20)
	case "gzip":
		f.Gzip = true
		if given {
			err = errors.New("takes no value")
		}
	case "body":
		f.Body = &value
	case "header":
		field, content, ok := strings.Cut(value, ":")
		if !ok || field == "" {
			return errors.New("is not of the form header=NAME:VALUE")
		}
		if f.Header == nil {
			f.Header = http.Header{}
		}
		f.Header.Add(field, strings.TrimSpace(content))
	default:
		err = errors.New("is unknown; known are delay, hang, status, error, code, retry-after, at, cut, reset, " +
			"gap, ping, drip, trickle, write, gzip, header and body")
	}
	return err
}

func (f *Fault) cut(value string, given bool, end End) error {
	f.End = end
	switch {
	case !given:
		f.Cut = CutHalf
	case value == "end":
		f.CutEnd = true
	case slices.Contains([]Place{CutStart, CutHalf, CutFrame}, Place(value)):
		f.Cut = Place(value)
	default:
		return errors.New("is not one of start, half, frame and end")
	}
	return nil
}

func duration(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, errors.New("needs a duration such as 500ms")
	}
	return d, nil
}

func seconds(value string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := duration(value)
	if err != nil {
		return 0, errors.New("needs seconds such as 2 or 0.5")
	}
	return d, nil
}

func number(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("needs a number from %d to %d", least, most)
	}
	return n, nil
}

// rate reads BYTES/DUR.
func rate(value string) (n int, every time.Duration, err error) {
	bytes, pause, ok := strings.Cut(value, "/")
	n, numberErr := number(bytes, 1, 1<<20)
	every, pauseErr := duration(pause)
	if !ok || numberErr != nil || pauseErr != nil {
		return 0, 0, errors.New("needs bytes and a pause such as 8/50ms")
	}
	return n, every, nil
}

func phase(value string, given bool) (llmtest.Phase, error) {
	if !given {
		return llmtest.PhaseHeaders, nil
	}
	p := llmtest.Phase(value)
	if !slices.Contains([]llmtest.Phase{
		llmtest.PhaseHeaders, llmtest.PhaseBody, llmtest.PhaseFirst, llmtest.PhaseStream, llmtest.PhaseEnd,
	}, p) {
		return "", errors.New("is not one of headers, body, first, stream and end")
	}
	return p, nil
}

// kind reads the kinds that a provider can cause.
func kind(value string) (llm.Kind, error) {
	k := llm.Kind(value)
	if !slices.Contains([]llm.Kind{
		llm.ErrInvalid, llm.ErrAuth, llm.ErrNotFound, llm.ErrContextTooLong, llm.ErrContentFiltered,
		llm.ErrRateLimited, llm.ErrQuotaExceeded, llm.ErrUnavailable, llm.ErrConnection, llm.ErrTimeout,
		llm.ErrBadOutput, llm.ErrInterrupted,
	}, k) {
		return "", errors.New("is not a kind of failure that a provider can cause, such as rate_limited")
	}
	return k, nil
}
