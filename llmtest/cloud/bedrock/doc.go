// Package bedrock is a simulated AWS Bedrock runtime, for tests that want the real wire protocol and no cloud.
//
// It serves Converse and ConverseStream (POST /model/ID/converse and /converse-stream, ID percent-encoded), whole
// as JSON and as a stream in AWS event-stream frames with their checksums. It verifies signatures of version 4 and
// bearer tokens, checks requests as the service does and refuses what it refuses, with its status, exception and
// text; see [Options.Lenient]. Answers follow a script of steps, as in package llmtest:
//
//	cloud := bedrock.Start(llmtest.Hang(), llmtest.Text("ok"))
//	defer cloud.Close()
//	// call cloud.URL; then look at cloud.Requests()
//
// A step that fails becomes the service's own exception of that kind; one that fails from PhaseBody on fails
// inside a 200, in a stream as an exception frame. The phases connect and token, which come before a request, are
// played as headers. ErrContentFiltered is no error here: the answer stops with content_filtered, or with
// guardrail_intervened if the request names a guardrail. A part of type Opaque is a content block: its Data is
// the whole block, such as {"reasoningContent":{"redactedContent":"…"}}.
//
// With [Options.Improvise] a step that has no answer of its own calls tools and keeps to schemas as the request
// asks, with values made from the schema.
//
// Exact bytes are a [Reply] (see [Server.Raw]; [Event] and [Exception] make frames). A [Turn] bends a step with a
// fault, and a client orders the same faults for its own request in the header X-Punctual-Fault: delay, hang,
// status, error, code, retry-after, at, cut, reset, gap, ping, drip, trickle, write, gzip, header and body,
// several between commas. For example "status=429,retry-after=2", "hang=stream,ping=50ms",
// "error=unavailable,at=stream", "code=ExpiredTokenException,status=403", "cut=frame" or "trickle=8/50ms". One
// that does not exist is a 400 that says what does. A ping is an event of a type that no client knows, since the
// service has none.
//
// The texts of errors are those of recorded and publicly reported responses. Those that neither confirms are
// marked in the code as unverified.
package bedrock
