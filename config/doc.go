// Package config turns a YAML file and the environment into a chain.
//
//	plans:
//	  default: {attempt: 60s}
//	  triage:  {attempt: 30s, targets: [mini, flash]}
//	targets:
//	  - {name: mini,  provider: azure,  endpoint: "https://…", deployment: gpt-4o-mini, api_key: "${AZURE_OPENAI_API_KEY}"}
//	  - {name: flash, provider: vertex, project: my-project, location: global, model: gemini-2.5-flash}
//
// [Load] reads and checks, [Config.Build] opens. Neither sends anything or starts a clock. docs/configuration.md has
// every key and variable; it is made from [File], as the schema is that editors use ([Schema]).
//
// Nothing is guessed: an unknown key, a duration without a unit or a name that nothing defines is an [*Error] with
// the line, the column and the nearest word. All errors of a file are told at once, and none of them holds a value
// that could be a secret.
package config
