package llm_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"strconv"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// transient is the whole set of kinds, and whether the same call may succeed later.
var transient = map[llm.Kind]bool{
	llm.ErrInvalid: false, llm.ErrUnsupported: false, llm.ErrAuth: false, llm.ErrNotFound: false,
	llm.ErrContextTooLong: false, llm.ErrContentFiltered: false, llm.ErrRateLimited: true,
	llm.ErrQuotaExceeded: false, llm.ErrUnavailable: true, llm.ErrConnection: true, llm.ErrTimeout: true,
	llm.ErrDeadlineExceeded: true, llm.ErrCanceled: false, llm.ErrCircuitOpen: true, llm.ErrBadOutput: true,
	llm.ErrInterrupted: true, llm.ErrUnknown: false,
}

// constants are the values of the constants of a string type of the package.
func constants(t *testing.T, typ string) (values []string) {
	t.Helper()
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if id, ok := v.Type.(*ast.Ident); !ok || id.Name != typ {
					continue
				}
				s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, s)
			}
		}
	}
	return values
}

func TestKinds(t *testing.T) {
	t.Parallel()
	kinds := constants(t, "Kind")
	if len(kinds) != len(transient) {
		t.Errorf("%d kinds in the source, %d in the table", len(kinds), len(transient))
	}
	for _, s := range kinds {
		k := llm.Kind(s)
		want, ok := transient[k]
		if !ok || k.Transient() != want || k.Error() != s {
			t.Errorf("%s: Transient %v (in the table: %v %v), Error %q", s, k.Transient(), want, ok, k.Error())
		}
		e := &llm.Error{Kind: k}
		if e.Temporary() != want || e.Timeout() != (k == llm.ErrTimeout || k == llm.ErrDeadlineExceeded) {
			t.Errorf("%s: Temporary %v, Timeout %v", s, e.Temporary(), e.Timeout())
		}
		for other := range transient {
			if errors.Is(e, other) != (k == other) {
				t.Errorf("%s is %s: %v", k, other, errors.Is(e, other))
			}
		}
	}
	if llm.Kind("of later").Transient() || llm.Kind("").Transient() {
		t.Error("an unknown kind is transient")
	}
}

// The words that design and other packages rely on.
func TestWordsOfOpenSets(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{
		"Bound":        "[caller execution total end attempt connect first_content idle]",
		"StopReason":   "[final deadline total tries retry_tokens targets content emergency]",
		"SkipReason":   "[open cooling unsupported no_time no_tokens route]",
		"EventKind":    "[text reasoning tool_call tool_arguments done]",
		"FinishReason": "[stop length tool_call other]",
		"ToolMode":     "[ none required named]",
		"Role":         "[user assistant tool]",
		"Operation":    "[triage orchestration generation]",
	} {
		if got := fmt.Sprint(constants(t, typ)); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	limited := &llm.Error{Kind: llm.ErrRateLimited, Err: context.Canceled}
	tests := []struct {
		name string
		err  error
		want llm.Kind
	}{
		{"nil", nil, ""},
		{"error", limited, llm.ErrRateLimited},
		{"wrapped", fmt.Errorf("a: %w", fmt.Errorf("b: %w", limited)), llm.ErrRateLimited},
		{"joined", errors.Join(io.EOF, limited), llm.ErrRateLimited},
		{"joined behind a context error", errors.Join(context.Canceled, limited), llm.ErrRateLimited},
		{"joined behind a kind", errors.Join(llm.ErrAuth, limited), llm.ErrRateLimited},
		{"two errors: the first", errors.Join(&llm.Error{Kind: llm.ErrAuth}, limited), llm.ErrAuth},
		{"outer before inner", &llm.Error{Kind: llm.ErrTimeout, Err: limited}, llm.ErrTimeout},
		{"zero error", &llm.Error{}, llm.ErrUnknown},
		{"zero error with a cause", &llm.Error{Err: context.Canceled}, llm.ErrUnknown},
		{"nil error", (*llm.Error)(nil), llm.ErrUnknown},
		{"wrapped nil error", fmt.Errorf("a: %w", (*llm.Error)(nil)), llm.ErrUnknown},
		{"kind", llm.ErrAuth, llm.ErrAuth},
		{"wrapped kind", fmt.Errorf("a: %w", llm.ErrAuth), llm.ErrAuth},
		{"kind of later", llm.Kind("later"), "later"},
		{"zero kind", llm.Kind(""), llm.ErrUnknown},
		{"canceled", context.Canceled, llm.ErrCanceled},
		{"deadline", fmt.Errorf("a: %w", context.DeadlineExceeded), llm.ErrDeadlineExceeded},
		{"foreign", io.EOF, llm.ErrUnknown},
	}
	for _, tt := range tests {
		if got := llm.KindOf(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
