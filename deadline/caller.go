package deadline

import "context"

// CallerKey is how a context says that its deadline is a limit that its own program has chosen, such as that of one
// attempt, and that no caller knows of: asked for the value of CallerKey{}, it answers with the context.Context that
// it was made from. What such a limit leaves is told to nobody, unless a deadline outside of it counts, too: see
// [Awaited].
type CallerKey struct{}

// Awaited reports whether the work under ctx has a deadline of its caller's or of an execution, one begun under a limit
// included: somebody waits for it until then and no longer. It is false for a context without a deadline, and for one
// whose only deadlines are limits of the program itself, as [CallerKey] says. Only where it is true [Header.Set] writes
// a header; how much is written then is what the nearest of all deadlines leaves.
func Awaited(ctx context.Context) bool {
	_, ends := left(ctx)
	caller, limited := ctx.Value(CallerKey{}).(context.Context)
	if !ends || !limited {
		return ends
	}
	begun := bounded(ctx)
	return begun != nil && begun != bounded(caller) || Awaited(caller)
}
