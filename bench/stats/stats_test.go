package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/punctual-llm/punctual/bench/stats"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, test := range []struct {
		values  []float64
		p, want float64
	}{
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
		{[]float64{7}, 0.99, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
	} {
		if got := stats.Percentile(test.values, test.p); got != test.want {
			t.Errorf("p%g of %d values = %g, want %g", 100*test.p, len(test.values), got, test.want)
		}
	}
	if got := stats.Percentile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing = %g, want NaN", got)
	}
}

func TestASpreadIsOfTheRoundsThatHaveTheFigure(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, test := range []struct {
		rounds   []float64
		decimals int
		want     string
	}{
		{[]float64{3, 1, 2}, 0, "2 (1–3)"},
		{[]float64{4, 1, 2, 3}, 1, "2.5 (1.0–4.0)"},
		{[]float64{1.004, 1.001, 1.002}, 2, "1.00"},
		{[]float64{nan, 5, nan}, 0, "5"},
		{[]float64{nan, nan}, 0, "–"},
		{nil, 0, "–"},
	} {
		if got := stats.Over(test.rounds).Format(test.decimals); got != test.want {
			t.Errorf("%v = %s, want %s", test.rounds, got, test.want)
		}
	}
}

func TestArrivalsAreAPoissonProcess(t *testing.T) {
	t.Parallel()
	const perSecond, seconds = 40, 1000
	at := stats.Arrivals(rand.New(rand.NewPCG(1, 2)), perSecond, seconds*time.Second)
	if n := len(at); math.Abs(float64(n)-perSecond*seconds) > 4*math.Sqrt(perSecond*seconds) {
		t.Errorf("%d arrivals, want about %d", n, perSecond*seconds)
	}
	long, last := 0, time.Duration(0)
	for _, a := range at {
		if a < last {
			t.Fatalf("%v comes after %v", a, last)
		}
		if a-last > time.Second/perSecond {
			long++
		}
		last = a
	}
	if share := float64(long) / float64(len(at)); math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("%.3f of the gaps are longer than the mean, want 1/e", share)
	}
}

func TestLognormalHasItsMedianAndItsTail(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	draws := make([]float64, 50_000)
	for i := range draws {
		draws[i] = stats.Lognormal(r, 300*time.Millisecond, 0.6).Seconds()
	}
	for p, want := range map[float64]float64{0.5: 0.300, 0.95: 0.805, 0.99: 1.211} {
		if got := stats.Percentile(draws, p); math.Abs(got-want) > want/25 {
			t.Errorf("p%g = %.3f s, want %.3f s", 100*p, got, want)
		}
	}
}
