// Package bounds has what the adapters hold every provider to: how large a request and an answer may be, how many
// parts an answer may have, and how long its end may take. No healthy call comes near; a hostile one would cost memory
// and time for long after its end.
package bounds
