package deadline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The bounds of Validate.
const (
	minTotal  = time.Second
	maxTotal  = 15 * time.Minute
	maxMargin = 30 * time.Second
)

// Options say how an execution uses its time. The zero value keeps no margin, has no caps, and stops
// starting work when min(5 s, a tenth) is left. Options are copied: changing them later changes nothing.
type Options struct {
	// Margin is kept for the shutdown of whoever set the total: work ends that long before. 0 is none, for
	// [FromEnv] 10 s; there a negative Margin is none.
	Margin time.Duration
	// FailFast is the time below which nothing is started: with less left, [Check] fails. 0 is 5 s or a tenth
	// of the execution's time, whichever is less.
	FailFast time.Duration
	// Caps names the steps of the execution and says how long each may take at most, see [Step]. A step whose
	// cap is 0 is known and has no cap of its own. Without caps those of the execution outside hold.
	Caps map[string]time.Duration
	// Warn is the time left at which the channel of [Warned] is closed. 0 is the FailFast in force.
	Warn time.Duration
}

// Validate reports the first setting that makes no sense for an execution of that total, by the name of its
// field. The total has to be between 1 s and 15 min, Margin between 0 and 30 s and below the total,
// FailFast and Warn at least 0 and below what the margin leaves of it, and every cap named, at least 0 and below the total.
// o may be nil; then only the total is judged.
//
// [FromEnv] validates by itself. With and Limit do not, since the time that a caller gives may be short
// without any mistake; call Validate where the figures are configured.
func (o *Options) Validate(total time.Duration) error {
	if err := o.validate(total); err != nil {
		return fmt.Errorf("deadline: %w", err)
	}
	return nil
}

func (o *Options) validate(total time.Duration) error {
	if total < minTotal || total > maxTotal {
		return fmt.Errorf("total: %v is not between %v and %v", total, minTotal, maxTotal)
	}
	if o == nil {
		return nil
	}
	if o.Margin > maxMargin {
		return fmt.Errorf("Options.Margin: %v is above %v", o.Margin, maxMargin)
	}
	if err := below("Options.Margin", o.Margin, total, total.String()); err != nil {
		return err
	}
	within := total.String()
	if o.Margin > 0 {
		within = fmt.Sprintf("%v less the margin of %v", total, o.Margin)
	}
	if err := below("Options.FailFast", o.FailFast, total-o.Margin, within); err != nil {
		return err
	}
	if err := below("Options.Warn", o.Warn, total-o.Margin, within); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Caps)) {
		if name == "" {
			return errors.New(`Options.Caps[""]: a step has a name (give one, it is in its errors)`)
		}
		if err := below(fmt.Sprintf("Options.Caps[%q]", name), o.Caps[name], total, total.String()); err != nil {
			return err
		}
	}
	return nil
}

// below refuses a length that is negative or not below most, which the error calls the total of within.
func below(field string, d, most time.Duration, within string) error {
	switch {
	case d < 0:
		return fmt.Errorf("%s: %v is below zero", field, d)
	case d >= most:
		return fmt.Errorf("%s: %v is not below the total of %s (lower it or raise the total)", field, d, within)
	default:
		return nil
	}
}

// failFast is FailFast with its default, for an execution of that total.
func (o *Options) failFast(total time.Duration) time.Duration {
	if o.FailFast > 0 {
		return o.FailFast
	}
	return min(5*time.Second, total/10)
}

// warn is Warn with its default.
func (o *Options) warn(failFast time.Duration) time.Duration {
	if o.Warn > 0 {
		return o.Warn
	}
	return failFast
}

// caps is a copy of Caps, nil if there are none.
func (o *Options) caps() map[string]time.Duration {
	if len(o.Caps) == 0 {
		return nil
	}
	return maps.Clone(o.Caps)
}
