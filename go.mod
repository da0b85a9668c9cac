module github.com/punctual-llm/punctual

go 1.26

require (
	github.com/sashabaranov/go-openai v1.43.0
	github.com/urfave/cli/v3 v3.14.0
	go.uber.org/goleak v1.3.0
)
