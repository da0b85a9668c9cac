// Package stats has the few figures that a fault table needs.
package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Percentile is the nearest-rank percentile of values, which it sorts: the smallest value that at least p of
// them do not exceed. NaN if there are none.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	rank := int(math.Ceil(p * float64(len(values))))
	return values[min(max(rank, 1), len(values))-1]
}

// Spread is one figure over several rounds.
type Spread struct{ Median, Min, Max float64 }

// Over is the spread of the rounds' figures. Rounds without one (NaN) are left out; without any it is all NaN.
func Over(rounds []float64) Spread {
	known := slices.DeleteFunc(slices.Clone(rounds), math.IsNaN)
	if len(known) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(known)
	middle := len(known) / 2
	median := known[middle]
	if len(known)%2 == 0 {
		median = (known[middle-1] + median) / 2
	}
	return Spread{Median: median, Min: known[0], Max: known[len(known)-1]}
}

// Known reports whether any round had the figure.
func (s Spread) Known() bool { return !math.IsNaN(s.Median) }

// Format writes "median (min–max)" with the given number of decimals, the range only where it shows, and "–"
// for no figure.
func (s Spread) Format(decimals int) string {
	if !s.Known() {
		return "–"
	}
	digits := func(v float64) string { return fmt.Sprintf("%.*f", decimals, v) }
	text := digits(s.Median)
	if low, high := digits(s.Min), digits(s.Max); low != high {
		text += fmt.Sprintf(" (%s–%s)", low, high)
	}
	return text
}

// Arrivals draws the times of a Poisson process of so many calls a second until end.
func Arrivals(r *rand.Rand, perSecond float64, end time.Duration) []time.Duration {
	var at []time.Duration
	for t := 0.0; ; {
		t += r.ExpFloat64() / perSecond
		d := time.Duration(t * float64(time.Second))
		if d >= end {
			return at
		}
		at = append(at, d)
	}
}

// Lognormal draws a duration.
func Lognormal(r *rand.Rand, median time.Duration, sigma float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
}
