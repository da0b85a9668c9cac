package bedrock

import (
	"errors"
	"testing"

	"github.com/punctual-llm/punctual/llm"
)

// TestWhatTheSDKRefusesIsNoMatterOfTheNetwork: it never came to the transport, and waiting does not help.
func TestWhatTheSDKRefusesIsNoMatterOfTheNetwork(t *testing.T) {
	t.Parallel()
	ctx, w := onWire(t.Context(), nil, new(session))
	a := &answer{ctx: ctx, wire: w}
	sdk := errors.New("endpoint rule error")
	for asked, kind := range map[bool]llm.Kind{false: llm.ErrUnsupported, true: llm.ErrConnection} {
		w.asked = asked
		_, err := a.refused(sdk)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != kind || !e.NotSent || !errors.Is(err, sdk) {
			t.Errorf("%+v", err)
		}
	}
}
