module github.com/punctual-llm/punctual/bench

go 1.26.0

replace github.com/punctual-llm/punctual => ../

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/punctual-llm/punctual v0.0.0-00010101000000-000000000000
	github.com/sashabaranov/go-openai v1.43.0
	github.com/sony/gobreaker/v2 v2.4.0
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect
