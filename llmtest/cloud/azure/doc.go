// Package azure is a simulated Azure OpenAI service, for tests that want the real wire protocol and no cloud.
//
// It serves chat completions, whole and as a stream, on the paths of Azure OpenAI (deployments and v1), Azure
// AI (/models) and OpenAI itself. It checks requests as the services do and refuses what they refuse, with
// their status and error body; see [Options.Lenient]. Answers follow a script of steps, as in package llmtest:
//
//	cloud := azure.Start(llmtest.Hang(), llmtest.Text("ok"))
//	defer cloud.Close()
//	// call cloud.URL; then look at cloud.Requests()
//
// With [Options.Improvise] a step that has no answer of its own calls tools and keeps to schemas as the request
// asks, with values made from the schema.
//
// A step that fails becomes the service's own error of that kind; one that fails from PhaseBody on fails inside
// a 200. The phases connect and token, which come before a request, are played as headers.
//
// Exact bytes are a [Reply] (see [Server.Raw]). A [Turn] bends a step with a fault, and a client orders the same
// faults for its own request in the header X-Punctual-Fault: delay, hang, status, error, code, retry-after, at,
// cut, reset, gap, ping, drip, trickle, write, gzip, header and body, several between commas. For example
// "status=429,retry-after=2", "hang=stream,ping=50ms", "error=unavailable,at=stream", "cut=frame" or
// "trickle=8/50ms". One that does not exist, or cannot do what it says, is a 400 that tells why.
//
// The texts of errors are those of recorded and publicly reported responses. Those that neither confirms are
// marked in the code as unverified.
package azure
