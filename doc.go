// Package punctual opens a ready client for Azure OpenAI, AWS Bedrock and Google Vertex from one file.
//
//	client, err := punctual.Open(ctx, "llm.yaml", nil) // "": the environment alone
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	resp, err := client.Generate(ctx, &llm.Request{
//		Operation: llm.Triage,
//		System:    "Answer urgent, normal or spam.",
//		Messages:  []llm.Message{llm.User(body)},
//	})
//
// It puts together what lies below it: package config reads the file, the packages under providers make the targets,
// package fallback runs a call over them, and package llm has the words for requests, answers and errors. A program
// that wants a part of this, or less of it in its binary, uses those.
//
// # The file
//
// A file names targets in the order in which they are asked, and the limits of each operation. docs/configuration.md
// has every key, `punctual init` writes one to begin with, `punctual check` says what one comes to. Without a file the
// targets are those that the environment names.
//
// # While it runs
//
// [Client.Reload] reads the file again without ending a call, [Client.Health] tells a load balancer whether anything
// can be asked, and [Client.Close] lets calls end before it cancels them. [Options].Logger hears of what nobody called
// for: warnings of the file, breakers that open and close, names of operations that have no plan. Neither a prompt nor
// an answer nor a credential is ever logged.
package punctual
