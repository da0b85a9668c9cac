// Package llmtest tests agents without a provider.
//
// A [Fake] is a scripted llm.Generator: call n plays step n of its script, and the last step repeats. It
// keeps time by timers, so under testing/synctest a script with minutes of waiting runs in an instant.
//
//	fake := llmtest.New(llmtest.Hang(), llmtest.Text("ok"))
//
// The same steps drive the simulated clouds under llmtest/cloud, which play them over real wire protocols,
// and the suite of llmtest/conformance, which a provider passes to prove the contract of llm.Generator.
package llmtest
