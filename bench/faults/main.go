// Command faults compares what a user could build around an LLM client with this SDK, on seven faults: three
// mock providers a row on loopback, the same calls with the same fates for every row, all rows side by side in
// one process. It is for a quiet machine: its figures are times.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/punctual-llm/punctual/bench/caller"
)

func main() { os.Exit(run()) }

// run is 0 when the tables can be compared with what is known, 1 when one of them cannot, 2 after an error.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	void, err := command(ctx, os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 2
	case void:
		return 1
	default:
		return 0
	}
}

// knownLength is how long the rounds of the known figures were.
const knownLength = 8

// defaultSeed was chosen on failsafe's row alone: see TestTheDefaultSeedMeetsTheKnownFigures.
const defaultSeed = 40

// command runs the tables that args ask for. void says that one of them cannot be compared with what is known.
func command(ctx context.Context, args []string, w io.Writer) (void bool, err error) {
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	rounds := flags.Int("rounds", 3, "rounds of each table")
	seconds := flags.Float64("seconds", knownLength, "length of a round")
	only := flags.String("only", "", "the tables to run, separated by commas: "+strings.Join(names(), " "))
	seed := flags.Uint64("seed", defaultSeed, "of arrivals, latencies and faults")
	first := flags.Float64("first", 0.3, "where in a streamed answer its first content comes, as a share of its latency")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	wanted := names()
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return false, fmt.Errorf("there is no table %q; there are: %s", name, strings.Join(names(), " "))
		}
	}
	if *rounds < 1 || *seconds <= 0 || *first < 0 || *first > 1 {
		return false, errors.New("rounds and seconds are above 0, first is from 0 to 1")
	}
	s := &settings{rounds: *rounds, length: time.Duration(*seconds * float64(time.Second)), seed: *seed, first: *first}
	fmt.Fprintf(w, "%s %s/%s, %d CPUs; %d rounds of %g s, seed %d, first content at %g of the latency\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.rounds, *seconds, s.seed, s.first)
	all := faults()
	for i := range all {
		f := &all[i]
		if !slices.Contains(wanted, f.name) {
			continue
		}
		near, err := s.table(ctx, f, w)
		if err != nil {
			return void, err
		}
		void = void || !near
	}
	if void {
		fmt.Fprintln(w, "VOID: the failsafe row is not what it was; run again on a quiet machine")
	}
	return void, nil
}

// table runs and judges one table.
func (s *settings) table(ctx context.Context, f *fault, w io.Writer) (near bool, err error) {
	results, err := s.run(ctx, f, caller.Rows())
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "**%s**\n\n", f.title)
	write(w, results)
	near = true
	if s.length == knownLength*time.Second {
		near = repeats(w, f, results)
	} else {
		fmt.Fprintln(w, "- the known figures are of rounds of 8 s: not compared")
	}
	compare(w, results)
	aims(w, f, results)
	fmt.Fprintln(w)
	return near, nil
}

func names() []string {
	var list []string
	for _, f := range faults() {
		list = append(list, f.name)
	}
	return list
}
