package providers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// The row of Bedrock: Converse and ConverseStream.

var awsKeys = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
})

func openBedrock(rec *recording, server string, client *http.Client) (llm.Generator, error) {
	return bedrock.New(&bedrock.Options{
		Region: "us-east-1", Model: rec.Model, Endpoint: server, Credentials: awsKeys, HTTP: client,
	})
}

// converseAllowances are the leaves in which requests of Converse differ from the recorded ones.
var converseAllowances = []allowance{
	{
		"messages[*].content[*].toolResult.status", "success is the default and not sent: most families of models do not know it",
		func(recorded, sent any) bool { return recorded == "success" && sent == nil },
	},
}

func converseOutcome(rec *recording) (want expectation, unfit []string) {
	if rec.Kind == "error" {
		want.kind, want.status = llm.ErrUnknown, or(value[int](rec, "status"), 0)
		want.code = value[string](rec, "error_type")
		if m := value[string](rec, "error_message"); m != nil {
			want.message = new(cut(*m, 512))
		}
		want.retryAfter = time.Duration(or(value[float64](rec, "retry_after_seconds"), 0) * float64(time.Second))
		return want, nil
	}
	want, unfit = chatOutcome(rec)
	want.usage.Input += want.usage.CacheRead + want.usage.CacheWrite // which Bedrock counts apart
	if want.finish == "guardrail_intervened" || want.finish == "content_filtered" {
		want.kind = llm.ErrContentFiltered
	}
	if e := value[struct{ Type string }](rec, "stream_error"); e != nil && e.Type != "" {
		want.code = &e.Type
	}
	for _, c := range want.calls {
		if c.Type == "server_tool_use" {
			want.skipCalls = true
			unfit = append(unfit, "a call that the service makes itself is nobody's to run: it comes as an opaque part")
		}
	}
	return want, unfit
}

// converseFrames counts the messages of an AWS event stream.
func converseFrames(body []byte) (n int) {
	in, decoder := bytes.NewReader(body), eventstream.NewDecoder()
	for {
		if _, err := decoder.Decode(in, nil); err != nil {
			return n
		}
		n++
	}
}

// converseRequest builds the request that a recorded body of Converse means.
func converseRequest(rec *recording) (*llm.Request, error) {
	if !strings.Contains(rec.Request.Path, "/converse") {
		return nil, unfit("a body of InvokeModel, which is the model's own")
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(rec.Request.Body, &body); err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return &llm.Request{Messages: []llm.Message{llm.User("hello")}}, nil
	}
	c := converseConverter{
		req: new(llm.Request), from: llm.ModelRef{Provider: "bedrock", Model: rec.Model},
		extra: bedrock.Extra{Fields: map[string]json.RawMessage{}},
	}
	for name, raw := range body {
		if err := c.member(name, raw); err != nil {
			return nil, err
		}
	}
	if m := c.req.Messages; len(m) > 0 && m[0].Role == llm.RoleAssistant {
		return nil, unfit("a conversation that the assistant begins: a short text of the user's is put in front")
	}
	return c.req, c.extra.Set(c.req)
}

type converseConverter struct {
	req   *llm.Request
	from  llm.ModelRef
	extra bedrock.Extra
}

// member takes one member of the body: a field of the request if there is one for it, else a private field.
func (c *converseConverter) member(name string, raw json.RawMessage) error {
	taken := false
	switch name {
	case "messages":
		return c.messages(raw)
	case "system":
		taken = c.system(raw)
	case "inferenceConfig":
		taken = c.inference(raw)
	case "toolConfig":
		taken = c.tools(raw)
	case "requestMetadata":
		return json.Unmarshal(raw, &c.req.Metadata)
	case "outputConfig":
		taken = c.output(raw)
	case "additionalModelRequestFields":
		taken = c.thinking(raw)
	}
	if !taken {
		c.extra.Fields[name] = raw
	}
	return nil
}

func (c *converseConverter) system(raw json.RawMessage) bool {
	var blocks []map[string]json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil || len(blocks) != 1 {
		return false
	}
	return json.Unmarshal(blocks[0]["text"], &c.req.System) == nil
}

// inference leaves what says nothing, such as an empty list, to the private fields.
func (c *converseConverter) inference(raw json.RawMessage) bool {
	var i struct {
		MaxTokens         int
		Temperature, TopP *float64
		StopSequences     []string
	}
	if !known(raw, &i) || sameJSON(raw, []byte("{}")) {
		return false
	}
	c.req.MaxTokens, c.req.Temperature, c.req.TopP, c.req.Stop = i.MaxTokens, i.Temperature, i.TopP, i.StopSequences
	if i.StopSequences != nil && len(i.StopSequences) == 0 {
		c.extra.Fields["inferenceConfig"] = json.RawMessage(`{"stopSequences":[]}`)
	}
	return true
}

func (c *converseConverter) tools(raw json.RawMessage) bool {
	var config struct {
		Tools []struct {
			ToolSpec *struct {
				Name, Description string
				InputSchema       struct{ JSON json.RawMessage }
			}
		}
		ToolChoice struct {
			Auto, Any *struct{}
			Tool      struct{ Name string }
		}
	}
	if !known(raw, &config) {
		return false
	}
	for _, t := range config.Tools {
		if t.ToolSpec == nil {
			c.req.Tools = nil
			return false
		}
		c.req.Tools = append(c.req.Tools, llm.Tool{
			Name: t.ToolSpec.Name, Description: t.ToolSpec.Description, Parameters: t.ToolSpec.InputSchema.JSON,
		})
	}
	switch choice := config.ToolChoice; {
	case choice.Any != nil:
		c.req.ToolChoice.Mode = llm.ToolRequired
	case choice.Tool.Name != "":
		c.req.ToolChoice.Mode, c.req.ToolChoice.Name = llm.ToolNamed, choice.Tool.Name
	case choice.Auto != nil: // the default, said aloud
		c.extra.Fields["toolConfig"] = json.RawMessage(`{"toolChoice":{"auto":{}}}`)
	}
	return true
}

func (c *converseConverter) output(raw json.RawMessage) bool {
	var o struct {
		TextFormat struct {
			Type      string
			Structure struct {
				JSONSchema struct{ Name, Description, Schema string } `json:"jsonSchema"`
			}
		}
	}
	if !known(raw, &o) || o.TextFormat.Structure.JSONSchema.Name == "" {
		return false
	}
	s := o.TextFormat.Structure.JSONSchema
	c.req.Output = &llm.Schema{Name: s.Name, Description: s.Description, JSON: json.RawMessage(s.Schema)}
	return true
}

func (c *converseConverter) thinking(raw json.RawMessage) bool {
	var fields struct {
		Thinking struct {
			Type   string
			Budget int `json:"budget_tokens"`
		}
	}
	if !known(raw, &fields) || fields.Thinking.Type != "enabled" || !strings.Contains(c.from.Model, "anthropic") {
		return false
	}
	c.req.Thinking.MaxTokens = fields.Thinking.Budget
	return true
}

// known decodes raw into v, and is false if it has members that v has not.
func known(raw json.RawMessage, v any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v) == nil
}
