// Package conformance is the contract of llm.Generator as a test suite. A provider passes it like this:
//
//	func TestContract(t *testing.T) {
//		t.Parallel()
//		conformance.Run(t, conformance.Harness{
//			New: func(t *testing.T, script ...llmtest.Step) llm.Generator {
//				server := cloud.Start(script...) // plays the script over the real wire protocol
//				t.Cleanup(server.Close)
//				return myprovider.New(server.URL)
//			},
//			Skip: map[string]string{"parts_interleaved": "the wire has one text per answer, before its tool calls"},
//		})
//	}
//
// Every case is a subtest and stands for one sentence of the contract, which it prints when it fails:
//
//	go test -run 'TestContract/cancel_stream' -v
//
// The tests of this package break each rule on purpose, one at a time, and prove that its case notices.
//
// # Time
//
// A call must return within 100 ms of the end of its context. Such a case has three tries and passes if one
// of them is in time, since a loaded machine is late now and then, and a generator that does not listen is
// late always. The cases run in parallel and wait for tens of milliseconds at most.
//
// # What is compared
//
// Arguments are compared as JSON, for some wires carry them as a structure. Everything else is compared as it
// was scripted.
package conformance
