// Package azure answers through Azure OpenAI and Azure AI, and through any server that speaks OpenAI's chat
// completions.
//
//	provider, err := azure.New(&azure.Options{
//		Endpoint:   "https://my-resource.openai.azure.com",
//		Deployment: "gpt-4o",
//		APIVersion: "2024-10-21", // leave it out for the v1 path
//		Key:        os.Getenv("AZURE_OPENAI_API_KEY"),
//	})
//
// [Compatible] does the same for OpenAI itself, vLLM, llama.cpp, routers and gateways. A [Provider] is an
// llm.Generator for one deployment: it makes one attempt a call. Retries, time limits and fallback are the
// business of whoever calls it.
//
// # Requests
//
// The calls go through github.com/sashabaranov/go-openai, but the body is this package's own: the SDK cannot
// send a temperature of 0, audio, documents or Azure's data sources, leaves out empty content, and refuses
// deployments for their names before anything is sent. What a request asks for and the wire cannot carry is an
// llm.ErrUnsupported that names the field; a setting that is dropped or changed is a Warning of the answer:
//
//   - Thinking.MaxTokens becomes the nearest effort.
//   - Metadata is sent only when [Extra].Store is set, for OpenAI refuses it otherwise.
//   - CachePrefix and CachePoint need nothing: caching is automatic.
//   - A tool or an output is sent as strict when its schema keeps the rules of strict mode and Lenient is not
//     set; other schemas are sent without it, as the service would refuse them.
//   - Names of tools that the wire does not take are replaced and mapped back in the answer, and ids of calls
//     from other providers that are too long are shortened.
//   - Reasoning, signatures and opaque parts of other providers are left out, with one Warning for them all.
//   - A request holds at most 64 MiB of content, media as base64; one that holds more is an llm.ErrUnsupported.
//
// # Answers
//
// A filtered prompt or answer is an llm.ErrContentFiltered. A refusal in the model's own words is an answer: a
// part of type [RefusalType], read with [Refusal], and no text. So is a call of a custom tool
// ([CustomToolType]), whose input is no JSON.
//
// An answer, whole or streamed, has at most 32 MiB and 1,024 tool calls; beyond that it is an llm.ErrBadOutput
// with the code answer_too_large or too_many_tool_calls. No two calls of an answer have the same id: where the
// service gives none, or one twice, an id is made up.
package azure
