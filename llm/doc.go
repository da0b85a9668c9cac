// Package llm is the vocabulary of the SDK: requests, answers, streams and errors that name no vendor.
//
// Applications hold a [Client] and call [Client.Generate] or [Client.Stream]:
//
//	resp, err := client.Generate(ctx, &llm.Request{
//		Operation: llm.Triage,
//		Messages:  []llm.Message{llm.User("My invoice is wrong.")},
//	})
//
// # Errors
//
// Every error of a call is an [*Error]. Its [Kind] says what went wrong and is itself an error, so
// errors.Is(err, llm.ErrRateLimited) and a switch over [KindOf] both work. The set of kinds is open: keep a
// default case. Error() never contains a prompt, an answer, a credential or the provider's own words, so it
// may be logged; %+v, log/slog and encoding/json add no more than the trail. [Error.Detail] may echo a prompt
// and is for a person who looks.
//
// # For authors of providers and middleware
//
// A provider is a [Generator], an interface of one method, usually handed over in an [Endpoint] by a
// [Factory]. The rules of the method stand at [Generator]; llmtest/conformance checks every one of them.
// [HTTPError] and [RetryAfter] do the part of error mapping that HTTP providers have in common, and an
// [Accumulator] folds what was streamed into the Response.
//
// The package imports the standard library only.
package llm
