// Package deadline carries one execution deadline through a program and, as a number, from service to
// service.
//
// A run that is killed after a fixed window has to end its work inside it. Its main says so once, and all
// work under the context it gets ends in time:
//
//	ctx, cancel := deadline.With(ctx, 2*time.Minute, &deadline.Options{Margin: 10 * time.Second})
//	defer cancel()
//
// [With] starts the clock with a total that the program knows, [FromEnv] with one that the platform sets, and
// [Limit] makes an execution of a context that has a deadline already. From there [Remaining], [Elapsed],
// [Total] and [Share] are the figures to plan with, [Check] tells before each piece of work whether it is
// still worth starting, [Step] bounds one named step, and [Warned] tells in time to flush what must not be
// lost. Nesting can only shorten.
//
// Between processes only a number travels: how long the callee may take, relative, floored. [Transport] adds
// it to requests, [Middleware] obeys it, and a [Header] says how it is spelled. Package grpcdeadline does the same
// over gRPC. Limits that a program has chosen itself are told to nobody: see [Awaited].
//
// docs/deadlines.md has the whole picture, and what goes wrong most often.
//
// The package imports the standard library only and starts no goroutine. Everything in it is safe for
// concurrent use. Time spent is what the monotonic clock says.
package deadline
