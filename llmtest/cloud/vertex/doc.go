// Package vertex is a simulated Google Vertex AI service, for tests that want the real wire protocol and no cloud.
//
// It serves generateContent and streamGenerateContent of Gemini models over REST, on the paths of Vertex AI (models
// and tuned endpoints of a project, and express mode) and of the Gemini API; and over gRPC, as the
// PredictionService of google.cloud.aiplatform.v1beta1, on the same port. A stream over REST is server-sent events
// with alt=sse and one JSON array without. Requests are checked as the services do, and refused as they refuse
// them; see [Options.Lenient]. Answers follow a script of steps, as in package llmtest:
//
//	cloud := vertex.Start(llmtest.Hang(), llmtest.Text("ok"))
//	defer cloud.Close()
//	// call cloud.URL; then look at cloud.Requests()
//
// URL is the Endpoint of a vertex.Provider with either engine. GRPC is the same host and port without a scheme, for gRPC
// clients of others.
//
// A step that fails becomes the service's own error of that kind; one that fails from PhaseBody on fails inside a
// 200. What the service does not report as an error, it reports here in its own way too: a filtered prompt is a
// promptFeedback without candidates (a 400 if the step wants a status), a filtered answer ends with SAFETY, and
// ErrBadOutput is the finish MALFORMED_FUNCTION_CALL, as are arguments of a tool call that are no JSON object. The
// phases connect and token, which come before a request, are played as headers.
//
// Models from 3 on sign their function calls and want the signatures back, and those from 3.5 on (on the Gemini API
// from 3 on) give calls their ids; older ones have neither.
//
// With [Options.Improvise] a step that has no answer of its own calls functions and keeps to schemas as the request
// asks, with values made from the schema.
//
// Exact bytes are a [Reply] (see [Server.Raw] and [RPC]). A [Turn] bends a step with a fault, and a client orders
// the same faults for its own request in the header X-Punctual-Fault: delay, hang, status, error, code, retry-after,
// at, cut, reset, gap, ping, drip, trickle, write, gzip, header and body, several between commas. For example
// "status=429,retry-after=2", "hang=stream,ping=50ms", "error=unavailable,at=stream", "cut=frame" or
// "trickle=8/50ms". One that does not exist is a 400 that says what does. A ping is a comment
// among events and blanks in an array.
//
// # Faults over gRPC
//
// An error is a gRPC status, with the details that REST has in its body, alone or behind the messages of a stream. A
// cut resets the HTTP/2 stream (RST_STREAM, INTERNAL_ERROR); a reset resets the whole connection, with every other
// call on it (over TLS the stream alone). Trickle and write cut frames of the wire, not messages. A ping is a message
// without content. Gzip compresses messages for clients that say that they can read them. A body comes as some proxy
// in between would send it, without gRPC around it, with its status. Without a form are a status below 400, which is
// ignored, and drip, which hangs behind the header instead.
//
// The texts of errors are those of recorded and publicly reported responses. Those that neither confirms are marked
// in the code as unverified.
package vertex
