// Package bedrock answers through Amazon Bedrock's Converse and ConverseStream.
//
//	provider, err := bedrock.New(&bedrock.Options{
//		Region: "us-east-1",
//		Model:  "us.anthropic.claude-sonnet-4-5-20250929-v1:0", // or the ARN of an inference profile
//	})
//
// A [Provider] is an llm.Generator for one model: it makes one attempt a call. Retries, time limits and fallback
// are the business of whoever calls it. Credentials come from [Options].BearerToken, else from Options.Credentials,
// else from AWS_BEARER_TOKEN_BEDROCK, else from AWS's standard chain, which is asked at the first call and never
// for longer than a call may take. An expired credential is renewed once, if its source can.
//
// Of the variables for AWS's SDKs those for credentials, profile and region are heard, and those for the address where
// Options.Endpoint is empty: AWS_ENDPOINT_URL_BEDROCK_RUNTIME, AWS_ENDPOINT_URL and
// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS. `punctual sim -- COMMAND` sets them.
//
// # Requests
//
// The calls go through bedrockruntime, which finds the endpoint and signs; the body is this package's own, because
// the SDK's documents turn raw JSON into lists of bytes and lose digits of large integers. What a request asks for
// and Converse cannot carry is an llm.ErrUnsupported that names the field; a setting that is dropped or changed is a
// Warning of the answer:
//
//   - Messages of one role in a row become one, results of tools go in front of it in the order of their calls, and
//     text that is empty or blank is left out, for the service refuses all of that otherwise.
//   - ToolChoice none leaves the tools out, unless the history has calls: then the service wants them declared.
//   - ToolChoice.Single is kept here: further calls of an answer are left out.
//   - Thinking becomes what the model's family understands: thinking with budget_tokens or adaptive (Claude),
//     reasoningConfig (Nova 2), reasoning_effort (gpt-oss), reasoning_config (Qwen).
//   - Output with a schema is outputConfig; any object without a schema is asked for in the system prompt.
//   - CachePrefix and CachePoint become cache points for Claude and Nova; other models have none, and say so in a Warning.
//   - Names of tools, ids of calls of other providers and names of documents that the service does not take are
//     replaced; names of tools are mapped back in the answer.
//   - Reasoning and opaque parts go back only to the family of models that made them, reasoning only with its
//     signature.
//
// # Answers
//
// A filtered answer, by a guardrail or by the model's maker, is an llm.ErrContentFiltered. Citations are an opaque
// part behind the text that they belong to: see [Citations]. Every other block that llm has no part for is kept as
// it is, redacted reasoning too, in a part of type [BlockType].
package bedrock
