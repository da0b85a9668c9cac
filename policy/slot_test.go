package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/policy"
)

// refused is what wait says of a slot that must not be asked.
const refused = -1 * s

func TestPick(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		slots              []policy.Slot
		wait               []time.Duration // beside ReadyAt; shorter than slots: nothing
		now, left, minimum time.Duration
		want               int
		sleep              time.Duration
		unfit              bool
	}{
		{name: "no slots", want: -1},
		{name: "the first of equals", slots: []policy.Slot{{}, {}, {}}, want: 0},
		{name: "the fewest tries", slots: []policy.Slot{{Tries: 2}, {Tries: 1}, {Tries: 1}}, want: 1},
		{name: "a ready one before one with fewer tries", slots: []policy.Slot{{ReadyAt: 9 * s}, {Tries: 3}}, want: 1},
		{name: "ready at this very instant", slots: []policy.Slot{{Tries: 1, ReadyAt: 5 * s}, {Tries: 2}}, now: 5 * s, want: 0},
		{name: "reserve comes last", slots: []policy.Slot{{Reserve: true}, {Tries: 3}}, want: 1},
		{name: "reserve comes after one that is not ready", slots: []policy.Slot{{Reserve: true}, {Tries: 3, ReadyAt: 4 * s}}, want: 1, sleep: 4 * s},
		{name: "of two in reserve the ready one", slots: []policy.Slot{{Reserve: true, ReadyAt: 2 * s, Tries: 1}, {Reserve: true, Tries: 2}}, want: 1},
		{name: "of two in reserve the fewest tries", slots: []policy.Slot{{Reserve: true, Tries: 2}, {Reserve: true, Tries: 1}}, want: 1},
		{name: "reserve when the others are dead", slots: []policy.Slot{{Dead: true}, {Reserve: true}}, want: 1},
		{name: "reserve when the others are refused", slots: []policy.Slot{{}, {Reserve: true}}, wait: []time.Duration{refused}, want: 1},
		{name: "reserve when the others do not fit", slots: []policy.Slot{{ReadyAt: 59 * s}, {Reserve: true}}, want: 1},
		{name: "the one that is ready soonest", slots: []policy.Slot{{ReadyAt: 9 * s}, {ReadyAt: 3 * s, Tries: 4}, {ReadyAt: 6 * s}}, now: s, want: 1, sleep: 2 * s},
		{name: "the first of two that are ready together", slots: []policy.Slot{{ReadyAt: 3 * s, Tries: 2}, {ReadyAt: 3 * s}}, want: 0, sleep: 3 * s},
		{name: "the longer of two waits", slots: []policy.Slot{{ReadyAt: 3 * s}}, wait: []time.Duration{5 * s}, want: 0, sleep: 5 * s},
		{name: "the longer of two waits, the other way", slots: []policy.Slot{{ReadyAt: 7 * s}}, wait: []time.Duration{5 * s}, want: 0, sleep: 7 * s},
		{name: "a wait that just leaves the minimum", slots: []policy.Slot{{ReadyAt: 58 * s}}, want: 0, sleep: 58 * s},
		{name: "a wait that leaves less is not worth it", slots: []policy.Slot{{ReadyAt: 58*s + 1}}, want: -1, unfit: true},
		{name: "a ready one needs no minimum", slots: []policy.Slot{{}}, left: s, want: 0},
		{name: "another fits", slots: []policy.Slot{{ReadyAt: 59 * s}, {ReadyAt: 20 * s}}, want: 1, sleep: 20 * s},
		{name: "a rest that ends before the back-off of another", slots: []policy.Slot{{ReadyAt: 8 * s, Tries: 1}, {}}, wait: []time.Duration{0, 3 * s}, want: 1, sleep: 3 * s},
		{name: "a back-off that ends before the rest of another", slots: []policy.Slot{{}, {ReadyAt: 2 * s, Tries: 1}}, wait: []time.Duration{3 * s, 0}, want: 1, sleep: 2 * s},
		{name: "both at the same instant", slots: []policy.Slot{{}, {ReadyAt: 3 * s, Tries: 1}}, wait: []time.Duration{3 * s, 0}, want: 1, sleep: 3 * s},
		{name: "a rest with a longer back-off of its own", slots: []policy.Slot{{ReadyAt: 8 * s}, {ReadyAt: 9 * s}}, wait: []time.Duration{0, 3 * s}, want: 0, sleep: 8 * s},
		{name: "nobody waits for a rest while one is ready", slots: []policy.Slot{{}, {Tries: 3}}, wait: []time.Duration{1, 0}, want: 1},
		{name: "not even while a reserve is ready", slots: []policy.Slot{{}, {Tries: 3, Reserve: true}}, wait: []time.Duration{1, 0}, want: 1},
		{name: "the back-off of a reserve that ends before a rest", slots: []policy.Slot{{}, {ReadyAt: 2 * s, Reserve: true}}, wait: []time.Duration{3 * s, 0}, want: 1, sleep: 2 * s},
		{name: "a rest that ends before the back-off of a reserve", slots: []policy.Slot{{}, {ReadyAt: 4 * s, Reserve: true}}, wait: []time.Duration{3 * s, 0}, want: 0, sleep: 3 * s},
		{name: "the rest of a reserve that ends before the back-off of a reserve", slots: []policy.Slot{{Reserve: true}, {ReadyAt: 4 * s, Reserve: true}}, wait: []time.Duration{3 * s, 0}, want: 0, sleep: 3 * s},
		{name: "a reserve does not come before one that is usable", slots: []policy.Slot{{Reserve: true}, {ReadyAt: 4 * s}}, wait: []time.Duration{3 * s, 0}, want: 1, sleep: 4 * s},
		{name: "a rest beside a usable one and a reserve", slots: []policy.Slot{{ReadyAt: 8 * s}, {ReadyAt: s, Reserve: true}, {}, {Reserve: true}}, wait: []time.Duration{0, 0, 4 * s, 2 * s}, want: 2, sleep: 4 * s},
		{name: "of several rests the one that ends first, reserve or not", slots: []policy.Slot{{}, {Reserve: true}, {}}, wait: []time.Duration{9 * s, 3 * s, 6 * s}, want: 1, sleep: 3 * s},
		{name: "of two that end together not the reserve", slots: []policy.Slot{{Reserve: true}, {}}, wait: []time.Duration{3 * s, 3 * s}, want: 1, sleep: 3 * s},
		{name: "a rest when the back-offs do not fit", slots: []policy.Slot{{ReadyAt: 59 * s}, {}}, wait: []time.Duration{0, 50 * s}, want: 1, sleep: 50 * s},
		{name: "a rest that does not fit", slots: []policy.Slot{{ReadyAt: 57 * s}, {}}, wait: []time.Duration{0, 59 * s}, want: 0, sleep: 57 * s},
		{name: "neither fits", slots: []policy.Slot{{ReadyAt: 59 * s}, {}}, wait: []time.Duration{0, 59 * s}, want: -1, unfit: true},
		{name: "all dead", slots: []policy.Slot{{Dead: true}, {Dead: true, ReadyAt: 99 * s}}, want: -1},
		{name: "all refused is not for want of time", slots: []policy.Slot{{}, {ReadyAt: 99 * s}}, wait: []time.Duration{refused, refused}, want: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.left == 0 {
				tt.left = 60 * s
			}
			if tt.minimum == 0 {
				tt.minimum = 2 * s
			}
			wait := func(i int) time.Duration {
				if tt.slots[i].Dead {
					t.Error("a dead slot was asked for its wait")
				}
				if i < len(tt.wait) {
					return tt.wait[i]
				}
				return 0
			}
			i, sleep, unfit := policy.Pick(tt.slots, wait, tt.now, tt.left, tt.minimum)
			if i != tt.want || sleep != tt.sleep || unfit != tt.unfit {
				t.Errorf("got %d after %v, unfit %v; want %d after %v, unfit %v", i, sleep, unfit, tt.want, tt.sleep, tt.unfit)
			}
		})
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		slots []policy.Slot
		gone  int // not usable; -1: none
		i     int
		want  int
	}{
		{"all that were not tried", []policy.Slot{{}, {}, {}}, -1, 0, 3},
		{"not the dead", []policy.Slot{{}, {Dead: true}, {}}, -1, 0, 2},
		{"not those that hung", []policy.Slot{{Tries: 1, Reserve: true}, {}, {}}, -1, 1, 2},
		{"not those that were tried more often", []policy.Slot{{Tries: 1}, {}, {}}, -1, 1, 2},
		{"those that were tried as often", []policy.Slot{{Tries: 1}, {Tries: 1}, {Tries: 1}}, -1, 2, 3},
		{"not those that are refused", []policy.Slot{{}, {}, {}}, 2, 0, 2},
		{"those that must wait a little", []policy.Slot{{}, {ReadyAt: 5 * s}}, -1, 0, 2},
		{"itself, whatever it is", []policy.Slot{{Reserve: true, Tries: 9}}, 0, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			usable := func(i int) bool {
				if tt.slots[i].Dead {
					t.Error("a dead slot was asked for")
				}
				return i != tt.gone
			}
			if got := policy.Live(tt.slots, tt.i, usable); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSlotCost(t *testing.T) {
	t.Parallel()
	for want, slot := range map[int]policy.Slot{
		0:  {Throttled: true},
		10: {Tries: 1},
		5:  {Tries: 1, Throttled: true},
	} {
		if got := slot.Cost(); got != want {
			t.Errorf("%+v costs %d, want %d", slot, got, want)
		}
	}
}

// TestSlotFailed: what a failed try makes of a slot, under the rule of its Kind.
func TestSlotFailed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		slot    policy.Slot
		kind    llm.Kind
		no      bool // no retries just now
		never   bool // asking again cannot help
		want    policy.Slot
		because llm.StopReason
	}{
		{name: "may be asked again", slot: policy.Slot{Tries: 1}, kind: llm.ErrUnavailable, want: policy.Slot{Tries: 1}},
		{name: "the last try", slot: policy.Slot{Tries: 4}, kind: llm.ErrUnavailable, want: policy.Slot{Tries: 4, Dead: true}, because: llm.StopTries},
		{name: "a hang goes to the reserve", slot: policy.Slot{Tries: 1}, kind: llm.ErrTimeout, want: policy.Slot{Tries: 1, Reserve: true}},
		{name: "a throttled one, too, and is cheaper", slot: policy.Slot{Tries: 1}, kind: llm.ErrRateLimited, want: policy.Slot{Tries: 1, Reserve: true, Throttled: true}},
		{name: "and stays there", slot: policy.Slot{Tries: 2, Reserve: true, Throttled: true}, kind: llm.ErrUnavailable, want: policy.Slot{Tries: 2, Reserve: true}},
		{name: "an interruption once", slot: policy.Slot{Tries: 1}, kind: llm.ErrInterrupted, want: policy.Slot{Tries: 1, OnceSpent: true}},
		{name: "and not twice", slot: policy.Slot{Tries: 2, OnceSpent: true}, kind: llm.ErrBadOutput, want: policy.Slot{Tries: 2, OnceSpent: true, Dead: true}},
		{name: "another fault after it is another matter", slot: policy.Slot{Tries: 2, OnceSpent: true}, kind: llm.ErrUnavailable, want: policy.Slot{Tries: 2, OnceSpent: true}},
		{name: "a refused key is no matter of tries", slot: policy.Slot{Tries: 1}, kind: llm.ErrAuth, want: policy.Slot{Tries: 1, Dead: true}},
		{name: "asking again cannot help", slot: policy.Slot{Tries: 1}, kind: llm.ErrUnavailable, never: true, want: policy.Slot{Tries: 1, Dead: true}},
		{name: "in an emergency", slot: policy.Slot{Tries: 1}, kind: llm.ErrUnavailable, no: true, want: policy.Slot{Tries: 1, Dead: true}, because: llm.StopEmergency},
		{name: "an emergency is no reason where the rule says no", slot: policy.Slot{Tries: 1}, kind: llm.ErrInvalid, no: true, want: policy.Slot{Tries: 1, Dead: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.slot
			reason := got.Failed(tt.kind, policy.RuleFor(tt.kind, false, policy.Plan{}), 4, !tt.no, !tt.never)
			if got != tt.want || reason != tt.because {
				t.Errorf("got %+v because of %q, want %+v because of %q", got, reason, tt.want, tt.because)
			}
		})
	}
}

// The first target hung, the second is backing off: the third is asked now, and the one that hung only when
// nobody else can be.
func ExamplePick() {
	slots := []policy.Slot{
		{Tries: 1, Reserve: true},
		{Tries: 1, ReadyAt: 31 * time.Second},
		{},
	}
	usable := func(int) time.Duration { return 0 }
	now, left := 30*time.Second, 60*time.Second
	for range 3 {
		i, sleep, _ := policy.Pick(slots, usable, now, left, 2*time.Second)
		fmt.Println("ask", i, "after", sleep)
		slots[i].Dead = true
	}
	// Output:
	// ask 2 after 0s
	// ask 1 after 1s
	// ask 0 after 0s
}
