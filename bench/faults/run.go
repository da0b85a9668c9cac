package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/punctual-llm/punctual/bench/caller"
	"github.com/punctual-llm/punctual/bench/mock"
	"github.com/punctual-llm/punctual/bench/stats"
)

const (
	providers  = 3
	perSecond  = 40
	deadline   = 3 * time.Second
	leftOpenIn = 300 * time.Millisecond // after the last call has returned
)

// settings are what the flags say.
type settings struct {
	rounds int
	length time.Duration
	seed   uint64
	first  float64
}

// figures are those of one row in one round.
type figures struct {
	inDeadline, p50, p99, perAnswer, toPrimary, overrun, leftOpen float64
}

// result is one row over all rounds.
type result struct {
	row    caller.Row
	rounds []figures
}

func (r *result) spread(of func(*figures) float64) stats.Spread {
	values := make([]float64, len(r.rounds))
	for i := range r.rounds {
		values[i] = of(&r.rounds[i])
	}
	return stats.Over(values)
}

// course is what every row meets in one round: the same calls at the same times with the same fates, in every
// table.
type course struct {
	arrivals []time.Duration
	fates    [providers]mock.Fates
}

func (s *settings) course(round int) course {
	var c course
	source := func(stream int) *rand.Rand {
		return rand.New(rand.NewPCG(s.seed, uint64(round)<<8|uint64(stream)))
	}
	c.arrivals = stats.Arrivals(source(0), perSecond, s.length)
	for i := range c.fates {
		c.fates[i] = mock.Draw(source(i+1), len(c.arrivals))
	}
	return c
}

// run measures all rows under one fault, side by side.
func (s *settings) run(ctx context.Context, f *fault, rows []caller.Row) ([]result, error) {
	results := make([]result, len(rows))
	for i, row := range rows {
		results[i].row = row
	}
	for round := range s.rounds {
		c := s.course(round)
		if len(c.arrivals) == 0 {
			return nil, errors.New("no call arrives in so short a time")
		}
		runtime.GC()
		figs, err := s.round(ctx, f, rows, &c)
		if err != nil {
			return nil, err
		}
		for i := range results {
			results[i].rounds = append(results[i].rounds, figs[i])
		}
	}
	return results, nil
}

// round runs all rows once.
func (s *settings) round(ctx context.Context, f *fault, rows []caller.Row, c *course) ([]figures, error) {
	lanes := make([]*lane, 0, len(rows))
	defer func() {
		for _, l := range lanes {
			l.close()
		}
	}()
	for _, row := range rows {
		l, err := open(ctx, f, row, c, s.first)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l)
	}
	figs := make([]figures, len(lanes))
	var all sync.WaitGroup
	for i, l := range lanes {
		all.Go(func() { figs[i] = l.run(ctx, c.arrivals) })
	}
	all.Wait()
	return figs, ctx.Err()
}

// lane is one row in one round, with mocks of its own.
type lane struct {
	caller  caller.Caller
	servers []*mock.Server
}

func open(ctx context.Context, f *fault, row caller.Row, c *course, firstContent float64) (*lane, error) {
	l := &lane{}
	var urls []string
	for place := range providers {
		server, err := mock.Start(ctx, f.options(place, c.fates[place], firstContent))
		if err != nil {
			l.close()
			return nil, err
		}
		l.servers = append(l.servers, server)
		urls = append(urls, server.URL)
	}
	var err error
	if l.caller, err = row.New(urls); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lane) close() {
	if l.caller != nil {
		l.caller.Close()
	}
	for _, s := range l.servers {
		_ = s.Close()
	}
}

// run makes the calls and says how they went.
func (l *lane) run(ctx context.Context, arrivals []time.Duration) figures {
	outcomes := make([]outcome, len(arrivals))
	start := time.Now()
	var calls sync.WaitGroup
	for i, at := range arrivals {
		if !sleep(ctx, at-time.Since(start)) {
			break
		}
		calls.Go(func() { outcomes[i] = l.call(ctx, i) })
	}
	calls.Wait()
	sleep(ctx, leftOpenIn)
	asked, open := 0, 0
	for _, s := range l.servers {
		asked += s.Asked()
		open += s.Open()
	}
	figs := sum(outcomes, asked)
	figs.toPrimary = percent(l.servers[0].Asked(), len(outcomes))
	figs.leftOpen = float64(open)
	return figs
}

// outcome is how one call ended.
type outcome struct {
	took     time.Duration
	answered bool
}

func (l *lane) call(ctx context.Context, number int) outcome {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := l.caller.Call(ctx, number)
	took := time.Since(begun)
	return outcome{took: took, answered: err == nil && took <= deadline}
}

// sum makes the figures of a round from its calls and the number of requests that the providers saw.
func sum(outcomes []outcome, asked int) figures {
	var answered []float64
	late := time.Duration(0)
	for _, o := range outcomes {
		late = max(late, o.took-deadline)
		if o.answered {
			answered = append(answered, milliseconds(o.took))
		}
	}
	figs := figures{
		inDeadline: percent(len(answered), len(outcomes)),
		p50:        stats.Percentile(answered, 0.5),
		p99:        stats.Percentile(answered, 0.99),
		perAnswer:  math.NaN(),
		overrun:    milliseconds(late),
	}
	if len(answered) > 0 {
		figs.perAnswer = float64(asked) / float64(len(answered))
	}
	return figs
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// sleep reports whether ctx is still alive after d.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
