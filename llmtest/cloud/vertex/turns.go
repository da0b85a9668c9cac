package vertex

// turn is what counts of a content when turns are judged.
type turn struct {
	model            bool
	calls, responses int
	text             bool   // or anything else that a person may have said
	unsigned         string // name of the first function call, if that has no signature
}

func turnsOf(contents []message) []turn {
	turns := make([]turn, len(contents))
	for i, content := range contents {
		t := &turns[i]
		t.model = content.text("role") == "model"
		for _, part := range content.list("parts").messages() {
			switch kindOf(part) {
			case "functionCall":
				if t.calls++; t.calls == 1 && part.text("thoughtSignature") == "" {
					t.unsigned = part.message("functionCall").text("name")
				}
			case "functionResponse":
				t.responses++
			default:
				t.text = true
			}
		}
	}
	return turns
}

// checkTurns looks at who answers whom: a turn with function calls stands between one of the user, or one with the
// responses to other calls, and the one with the responses to its own, all of them. The texts are widely reported.
func (c *call) checkTurns() *refusal {
	turns := turnsOf(c.fields.list("contents").messages())
	open := 0 // calls of the turn before that wait for responses
	for i, t := range turns {
		switch {
		case t.responses > 0 && open == 0:
			return invalid("Please ensure that function response turn comes immediately after a function call turn.")
		case open != t.responses:
			return unequal()
		case t.calls > 0 && (i == 0 || !t.model || turns[i-1].model):
			return invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		open = t.calls
	}
	if open > 0 {
		return unequal()
	}
	return nil
}

func unequal() *refusal {
	return invalid("Please ensure that the number of function response parts is equal to the number of function call " +
		"parts of the function call turn.")
}

// checkSignatures: of the turns since the user last said something, each must have the signature of its first
// function call. Both texts are widely reported, and that older turns are not judged is documented.
func (c *call) checkSignatures() *refusal {
	if !c.signs() {
		return nil
	}
	turns := turnsOf(c.fields.list("contents").messages())
	last := 0
	for i, t := range turns {
		if !t.model && t.text && t.responses == 0 {
			last = i
		}
	}
	for i := last; i < len(turns); i++ {
		name := turns[i].unsigned
		if name == "" {
			continue
		}
		return c.either(invalid("Unable to submit request because function call `default_api:%s` in the %d. content block is "+
			"missing a `thought_signature`. Learn more: %s", name, i+1, learnSignatures),
			invalid("Function call is missing a thought_signature in functionCall parts. This is required for tools to work "+
				"correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "+
				"call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures "+
				"for more details.", name, i+1))
	}
	return nil
}
