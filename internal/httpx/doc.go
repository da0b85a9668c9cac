// Package httpx holds the HTTP shims that every adapter puts under its SDK.
//
// SDKs differ in what they do to the wire and in what they hide from it.
// [Client] returns an http.Client that gives all of them the same ground:
//
//   - The request body is in memory, replayable and of known length. An SDK that
//     closes its body early (smithy does, as soon as response headers arrive)
//     cannot break the connection under its own response any more.
//   - What the SDK does not report is kept: an adapter calls [WithExchange],
//     makes its SDK call, and reads status, headers, error body and more from
//     the [Exchange], whatever the SDK made of them.
//   - The body of an error is read within bounds of size and time, so that a
//     server which trickles or hangs inside its error cannot hold the call.
//   - A 2xx body that stops before its end fails with a [CutError], never with
//     the io.ErrUnexpectedEOF that some SDKs take for a clean end.
//   - Redirects stay on the host and keep the method, or are not followed.
//   - Event streams are normalised by package sse, on demand.
//
// Nothing here starts a goroutine for a call or sets a limit on one: limits are
// the caller's context.
package httpx
