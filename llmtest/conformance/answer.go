package conformance

import (
	"strings"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/llmtest"
)

func answerCases() []testCase {
	return []testCase{
		{
			"unary_text", "Without a sink the whole text comes back exactly as the model wrote it.",
			func(c *check) { c.wantText(c.open(llmtest.Text("  one two\n\n  three ")), "  one two\n\n  three ") },
		},
		{
			"response_author", "Response.Model is the model asked, and Message says that it wrote it: role assistant, From that model.",
			responseAuthor,
		},
		{"finish", "Finish says why the model stopped: stop, length or tool_call.", finish},
		{"finish_raw", "RawFinish is the provider's own word for why the model stopped.", finishRaw},
		{"usage", "Usage counts what the provider counted and says that it was reported.", usage},
		{"empty_answer", "An answer without a part is ErrBadOutput.", emptyAnswer},
		{
			"empty_answer_length", "An answer without a part is an answer when its finish is length.",
			emptyAnswerLength,
		},
		{
			"unicode", "Text in any script arrives as it was written, and no event ends inside a character.",
			unicodeText,
		},
		{"large_text", "An answer of 1 MB arrives whole, and so does one piece of 256 KB.", largeText},
		{"reasoning", "What the model thought comes as reasoning, never as text.", reasoning},
	}
}

// answering is a step that answers with parts.
func answering(parts ...llm.Part) llmtest.Step {
	return llmtest.Respond(&llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}})
}

func responseAuthor(c *check) {
	g := c.open(llmtest.Text("hello"))
	c.each(func(m mode) {
		_, resp := c.answer(g, hello(), m)
		if resp.Model.Provider == "" || resp.Model.Model == "" {
			c.Errorf("%s: Response.Model is %+v", m, resp.Model)
		}
		if resp.Message.Role != llm.RoleAssistant || resp.Message.From != resp.Model {
			c.Errorf("%s: the message is of role %q from %+v; want assistant, %+v",
				m, resp.Message.Role, resp.Message.From, resp.Model)
		}
	})
}

func finish(c *check) {
	cut := llmtest.Text("and so on and")
	cut.Response.Finish = llm.FinishLength
	for want, step := range map[llm.FinishReason]llmtest.Step{
		llm.FinishStop:     llmtest.Text("done"),
		llm.FinishLength:   cut,
		llm.FinishToolCall: llmtest.Calls(weather("call_1", "Paris")),
	} {
		g := c.open(step)
		c.each(func(m mode) {
			if _, resp := c.answer(g, withTools(), m); resp.Finish != want {
				c.Errorf("%s: Finish is %q, want %q", m, resp.Finish, want)
			}
		})
	}
}

func finishRaw(c *check) {
	g := c.open(llmtest.Text("done"))
	c.each(func(m mode) {
		if _, resp := c.answer(g, hello(), m); resp.RawFinish == "" {
			c.Errorf("%s: RawFinish is empty", m)
		}
	})
}

// usage looks at unary answers only: stream_equals_unary does the rest.
func usage(c *check) {
	step := llmtest.Text("done")
	step.Response.Usage = llm.Usage{Input: 120, Output: 40, Reported: true}
	_, resp := c.answer(c.open(step), hello(), unary)
	if got := resp.Usage; got.Input != 120 || got.Output != 40 || !got.Reported {
		c.Errorf("want 120 tokens in and 40 out, reported; got %+v", got)
	}
}

func emptyAnswer(c *check) {
	g := c.open(answering())
	c.each(func(m mode) {
		if _, _, err := c.fails(g, hello(), m); llm.KindOf(err) != llm.ErrBadOutput {
			c.Errorf("%s: want ErrBadOutput, got %v", m, err)
		}
	})
}

func emptyAnswerLength(c *check) {
	step := answering()
	step.Response.Finish = llm.FinishLength
	g := c.open(step)
	c.each(func(m mode) {
		if _, resp := c.answer(g, hello(), m); len(resp.Message.Parts) != 0 {
			c.Errorf("%s: want no part, got %s", m, outline(resp))
		}
	})
}

func unicodeText(c *check) {
	const want = "naïve 日本語テキスト, שלום, 👩‍👩‍👧‍👦🏴‍☠️ e\u0301 a\u2028b \u00a0 \\\"quoted\\\" \t𝔘."
	g := c.open(llmtest.Text(want))
	c.each(func(m mode) {
		events, resp := c.answer(g, hello(), m)
		if resp.Text() != want {
			c.Errorf("%s: want %q, got %q", m, want, resp.Text())
		}
		for i, e := range events.events {
			if !strings.Contains(want, e.Delta) || strings.ToValidUTF8(e.Delta, "") != e.Delta {
				c.Errorf("event %d is no whole piece of the text: %q", i, e.Delta)
			}
		}
	})
}

// largeText has words of 256 KB, each more than the line that many decoders take, and many small ones.
func largeText(c *check) {
	want := strings.Repeat(strings.Repeat("a", 256<<10-1)+" ", 3) + strings.Repeat(strings.Repeat("b", 1023)+" ", 256) + "."
	g := c.open(llmtest.Text(want))
	c.each(func(m mode) {
		if _, resp := c.answer(g, hello(), m); resp.Text() != want {
			c.Errorf("%s: want %s, got %s", m, short(want), short(resp.Text()))
		}
	})
}

func reasoning(c *check) {
	step := answering(llm.Reasoning{Text: "Let me think about it."}, llm.Text{Text: "Yes."})
	g := c.open(step)
	c.each(func(m mode) {
		events, resp := c.answer(g, hello(), m)
		if got, want := outline(resp), outline(step.Response); got != want {
			c.Errorf("%s: want\n%sgot\n%s", m, want, got)
		}
		if got := outline(events.fold()); m == stream && got != outline(step.Response) {
			c.Errorf("the events come to\n%s", got)
		}
	})
}
