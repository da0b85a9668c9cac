package breaker_test

import (
	"errors"
	"fmt"

	"github.com/punctual-llm/punctual/breaker"
)

// Two timeouts and two failures without a success between them open a breaker.
func Example() {
	set := breaker.NewSet(&breaker.Options{
		OnChange: func(c breaker.Change) { fmt.Printf("%s: from %s to %s\n", c.Name, c.From, c.To) },
	})
	for _, weight := range []float64{0.5, 0, 0.5, 1, -1, 0.5, 1, 0} {
		permit, err := set.Allow("azure")
		if e, ok := errors.AsType[*breaker.OpenError](err); ok {
			fmt.Println("refused:", e.Name)
			continue
		}
		permit.Settle(breaker.Outcome{Weight: weight})
		fmt.Println("weight", weight, "score", set.Status("azure").Score)
	}
	// Output:
	// weight 0.5 score 0.5
	// weight 0 score 0
	// weight 0.5 score 0.5
	// weight 1 score 1.5
	// weight -1 score 1.5
	// weight 0.5 score 2
	// azure: from closed to open
	// weight 1 score 3
	// refused: azure
}
