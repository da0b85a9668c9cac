// Package vertexai is the second engine of package vertex: cloud.google.com/go/vertexai, over gRPC.
//
//	provider, err := vertex.New(&vertex.Options{
//		Project: "my-project", Location: "us-central1", Model: "gemini-2.5-flash",
//		Engine:  vertexai.Engine,
//	})
//
// In a configuration it is `engine: vertexai`, where the program passes [Engine] to vertex.Factory. Nothing switches
// to it by itself, and package vertex does not import it: it makes a program about 13 MiB larger,
// see docs/weight.md.
//
// # What it is for
//
// It is for those who want gRPC or this library; a stream also allocates a quarter less than with the default
// engine. The library itself is at its end: Google deprecated it on 24 June 2025 and announced its removal for
// 24 June 2026; it still builds, and gets no fixes. Its types hold less than the wire: thoughts become text,
// signatures, ids and cached tokens are lost, and parts it does not know make it panic. So interceptors put our own
// message into each of its calls and take the answer from the wire, and the library sees empty answers. Requests,
// answers and errors come out as they do with the default engine.
//
// # What it cannot carry
//
// The published gRPC definitions trail the REST API by half a year. What they lack is an llm.ErrUnsupported that
// names the field, before anything is sent: levels of thinking (Thinking.Effort with Gemini 3 and later), service
// tiers, the resolution of single media, tools and enum values that are newer, and integers that need more than 53
// bits in arguments, results and schemas, which gRPC carries as floating point. When a provider is opened, these are
// refused: an API key (and so express mode and the Gemini API), an HTTP client, and an endpoint with a path or with
// another version than v1beta1. gRPC needs a way to the service that leaves HTTP/2 as it is, which TLS-inspecting
// proxies often do not; HTTPS_PROXY is obeyed.
//
// JSON objects have no order on this wire: the properties of a schema, and the arguments of a call, may come in
// another. What is newer than the definitions in an answer is kept where it has a place: parts that are not known
// come as llm.Opaque with their bytes, and go back through this engine; the default one
// leaves them out, with a Warning.
//
// # Connections
//
// A provider opens one connection, when the first call is made; calls share it. Close closes it once the last call
// that uses it has ended, and a later call opens a new one. An endpoint that begins with http:// is used without
// TLS, for tests and local proxies.
//
// The library prints three lines to the log of the program (package log) when its client is made. We know no clean
// way against that. There is one client for the whole program, which the first call makes, so they come once at most.
package vertexai
