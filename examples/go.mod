module github.com/punctual-llm/punctual/examples

go 1.26.0

replace github.com/punctual-llm/punctual => ../

require github.com/punctual-llm/punctual v0.0.0-00010101000000-000000000000

require (
	github.com/sashabaranov/go-openai v1.43.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
)
