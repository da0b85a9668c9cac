// Package entra gets tokens of Microsoft Entra ID for deployments of Azure OpenAI and Azure AI, by Microsoft's own
// library (azidentity), so that no key has to be kept.
//
//	source, err := entra.Token(nil) // the identity of this machine, a service principal, or az login
//	provider, err := azure.New(&azure.Options{Endpoint: …, Deployment: "gpt-4o", Token: source})
//
// In a configuration, `auth: entra` in place of api_key does the same, once [Auth] was given to azure.Factory.
// Package azure never imports this one: who does not use it does not link it.
//
// The library keeps a token and renews it before it expires, so that a call waits for one only at the start. It tries
// a request to the token service again by itself, within the time of the call that needs the token: nobody else would.
//
// # Errors
//
// All of them are [*llm.Error]s of calls, with nothing sent to the model:
//
//   - llm.ErrAuth with code no_credentials: no credential was found. The text says where they are looked for.
//   - llm.ErrAuth with code no_token: Entra ID refused the credential. The text has its own word, such as
//     invalid_client.
//   - llm.ErrUnavailable or llm.ErrConnection with code token_service: Entra ID did not answer, or not with a token.
package entra
