// Package gemini is what the engines of providers/vertex share: the vocabulary of generateContent as it is on the
// wire, and the contract between the provider, which knows llm, and an engine, which knows the way to the service.
//
// The provider encodes a request as JSON and reads [Response] values; an engine carries both, over HTTP or over
// gRPC, and turns what goes wrong into an [llm.Error]. It decides nothing about content.
package gemini
