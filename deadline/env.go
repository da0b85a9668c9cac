package deadline

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	variable  = "LLM_EXECUTION_TIME_LIMIT_SECONDS"
	envMargin = 10 * time.Second
)

// FromEnv is [With] for a total that the platform sets in the environment variable
// LLM_EXECUTION_TIME_LIMIT_SECONDS: seconds, fractions allowed. The clock starts now, so call it once per
// invocation, in main or in the handler of a platform, and nowhere else. A Margin of 0 is 10 s there, and
// one below zero is none.
//
// Without the variable, or with an empty one, the result has no deadline but those of ctx, and o.Caps still hold. A
// value that is no such number, or that [Options.Validate] refuses, is an error that names the variable and does not
// quote text. So are options that no value suits, with the variable or without it. With an error the context has
// already ended, so that a program which overlooks the error does not run without a limit. The CancelFunc is never nil.
func FromEnv(ctx context.Context, o *Options) (context.Context, context.CancelFunc, error) {
	opts := Options{}
	if o != nil {
		opts = *o
	}
	switch {
	case opts.Margin == 0:
		opts.Margin = envMargin
	case opts.Margin < 0:
		opts.Margin = 0
	}
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		if err := opts.validate(maxTotal); err != nil {
			err = fmt.Errorf("deadline: %s is not set, and the longest would not do: %w", variable, err)
			ctx, cancel := ended(ctx, err)
			return ctx, cancel, err
		}
		ctx, cancel := newExecution(ctx, time.Now(), time.Time{}, &opts)
		return ctx, cancel, nil
	}
	total, err := seconds(text)
	if err == nil {
		err = opts.validate(total)
	}
	if err != nil {
		err = fmt.Errorf("deadline: %s: %w", variable, err)
		ctx, cancel := ended(ctx, err)
		return ctx, cancel, err
	}
	ctx, cancel := With(ctx, total, &opts)
	return ctx, cancel, nil
}

// seconds reads digits with an optional fraction. Forms that strconv knows besides, such as 1e3, 0x1p4 and
// Inf, are more likely a mistake than a limit. An error describes the text and does not quote it.
func seconds(text string) (time.Duration, error) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("%d characters that are not all digits (give seconds as a plain number, such as 120 or 42.5)", len(text))
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case n > maxTotal.Seconds(): // infinity, too, with an error
		return 0, fmt.Errorf("is above %v (it is in seconds, not in milliseconds; a longer run needs deadline.With)", maxTotal.Seconds())
	case err != nil:
		return 0, fmt.Errorf("%d characters that are no number (give seconds as a plain number, such as 120 or 42.5)", len(text))
	case n == 0:
		return 0, fmt.Errorf("is zero (unset it for no limit, or give seconds from %v to %v)", minTotal.Seconds(), maxTotal.Seconds())
	}
	return time.Duration(math.Round(n * float64(time.Second))), nil
}
