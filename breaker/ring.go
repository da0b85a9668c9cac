package breaker

import "time"

const (
	ringBuckets  = 12
	bucketLength = 10 * time.Second
)

// ring adds up the calls of the last two minutes by the time at which they ended. The zero ring is empty.
type ring [ringBuckets]bucket

type bucket struct {
	tick int64 // which ten seconds it holds
	sums
}

// sums are of calls and of their weights in thousandths.
type sums struct{ calls, weight, wire int64 }

func (s *sums) add(o sums) {
	s.calls += o.calls
	s.weight += o.weight
	s.wire += o.wire
}

// add counts one call that ended at the given age of the ring.
func (r *ring) add(age time.Duration, f failure) {
	tick := int64(age / bucketLength)
	b := &r[tick%ringBuckets]
	if b.tick != tick {
		*b = bucket{tick: tick}
	}
	b.add(f.sums())
}

// total is over the bucket of the given age and the eleven before it.
func (r *ring) total(age time.Duration) sums {
	oldest := int64(age/bucketLength) - ringBuckets + 1
	var total sums
	for i := range r {
		if r[i].tick >= oldest {
			total.add(r[i].sums)
		}
	}
	return total
}

// sums is one call with this verdict; the zero failure is a success.
func (f failure) sums() sums {
	s := sums{calls: 1, weight: f.weight}
	if f.wire {
		s.wire = f.weight
	}
	return s
}
