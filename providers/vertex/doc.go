// Package vertex answers through Google's Gemini models: on Vertex AI, and through the Gemini API.
//
//	provider, err := vertex.New(&vertex.Options{
//		Project:  "my-project",
//		Location: "global",
//		Model:    "gemini-2.5-flash",
//	})
//
// Without more it uses Application Default Credentials, which are looked for when the first call is made. A
// [Provider] is an llm.Generator for one model: it makes one attempt a call. Retries, time limits and fallback are
// the business of whoever calls it.
//
// # Engines
//
// The calls go through google.golang.org/genai. Another [Engine], vertexai.Engine of the folder below, carries them
// over gRPC with cloud.google.com/go/vertexai; nothing switches by itself. Requests and answers are this package's
// own JSON under either: the types of the SDKs lose integers above 2^53, parts that are newer than they are, and
// the text of arguments as the model wrote it. genai sees of an answer only how many pieces there were, and so has
// nothing to print to the log of the program, as it does when a stream breaks. One line is beyond our reach: New
// prints a warning of genai's when GOOGLE_API_KEY and GEMINI_API_KEY are both set. No variables but those of
// Application Default Credentials, and of the address where Options.Endpoint is empty, have an effect.
//
// # Requests
//
// What a request asks for and the wire cannot carry is an llm.ErrUnsupported that names the field; a setting that
// is dropped or changed is a Warning of the answer:
//
//   - Thinking.Effort is a level for Gemini 3 and later, and for older models the number of tokens that Google
//     documents for that effort. A model that cannot stop thinking gets its least for "none". When thinking is
//     asked for, summaries of the thoughts are too.
//   - Metadata becomes labels on Vertex AI, if it fits their rules.
//   - ToolChoice.Single is dropped: the wire has no such setting.
//   - CachePrefix and CachePoint need nothing: caching is automatic. A cache that was made by hand is named by
//     [Extra].CachedContent.
//   - Names of tools that the wire does not take are replaced and mapped back in the answer.
//   - Keywords of JSON schemas that Gemini does not know are left out. A schema nests at most 100 levels.
//   - A signature goes back only to the generation of models that made it; that those of others were left out, and
//     reasoning and opaque parts with them, is one Warning. An id of a call goes back only if the service made it.
//     Gemini 3 refuses calls without a signature; those of other models get the value that Google documents for them.
//   - The result of a tool that is a JSON object is sent as that, any other text as {"output": text}, or
//     {"error": text} with IsError.
//
// # Answers
//
// What a filter stopped, prompt or answer, is an llm.ErrContentFiltered, with the service's word for it as Code.
// Parts that this package does not know come as llm.Opaque of type [PartType] and go back as they were. Where the
// answer has them, what it is grounded on ([GroundingType]), whom it cites ([CitationsType]) and the pages it read
// ([URLContextType]) are opaque parts too, which are not sent back.
package vertex
