package bedrock

import (
	"fmt"
	"strings"
	"testing"
)

// refused is a request that the service refuses, and how.
type refused struct {
	name      string
	path      string // unaryPath
	fields    string // JSON members beside messages, or with it in place of it
	exception string // ValidationException
	message   string
}

// body puts the fields around a harmless message, unless they bring messages of their own.
func (r refused) body() string {
	members := []string{}
	if r.fields != "" {
		members = append(members, r.fields)
	}
	if !strings.Contains(r.fields, `"messages"`) {
		members = append(members, `"messages":[{"role":"user","content":[{"text":"hi"}]}]`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func testRefusals(t *testing.T, tests []refused) {
	t.Helper()
	s, lenient := start(t, nil), start(t, &Options{Lenient: true})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request{path: test.path, body: test.body()}
			resp, body, err := r.to(t, s).Answer(t)
			if err != nil {
				t.Fatal(err)
			}
			want := except(test.exception, "")
			if test.exception == "" {
				want = except("ValidationException", "")
			}
			if got := messageOf(t, body); resp.StatusCode != want.status || got != test.message || exceptionOf(resp) != want.exception {
				t.Errorf("%d %s %s\nwant %d %s %q", resp.StatusCode, exceptionOf(resp), body, want.status, want.exception, test.message)
			}
			if resp.Header.Get("X-Amzn-Requestid") == "" || resp.Header.Get("Content-Type") != jsonType {
				t.Errorf("header %v", resp.Header)
			}
			if got := r.to(t, lenient).Outcome(t); got.Status != 200 {
				t.Errorf("a lenient server says %d %s", got.Status, got.Body)
			}
		})
	}
}

// path is that of a model, for Converse or ConverseStream.
func path(model string, stream bool) string {
	p := "/model/" + strings.ReplaceAll(model, ":", "%3A") + "/converse"
	if stream {
		p += "-stream"
	}
	return p
}

// constraint is a complaint of the service's model of a request.
func constraint(at, must string) string {
	return "1 validation error detected: " + at + " failed to satisfy constraint: Member must " + must
}

const saysTheModel = "The model returned the following errors: "

func TestRefusesParameters(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat(`"x",`, 2501), ",")
	testRefusals(t, []refused{
		{"maxTokens 0", "", `"inferenceConfig":{"maxTokens":0}`, "", constraint("Value '0' at 'inferenceConfig.maxTokens'", "have value greater than or equal to 1")},
		{"maxTokens too large", "", `"inferenceConfig":{"maxTokens":64001}`, "", "The maximum tokens you requested exceeds the model limit of 64000. Try again with a maximum tokens value that is lower than 64000."},
		{"maxTokens is no integer", "", `"inferenceConfig":{"maxTokens":1.5}`, "SerializationException", "NUMBER_VALUE can not be converted to an Integer"},
		{"maxTokens is text", "", `"inferenceConfig":{"maxTokens":"1"}`, "SerializationException", "STRING_VALUE can not be converted to an Integer"},
		{"temperature too high", "", `"inferenceConfig":{"temperature":1.5}`, "", constraint("Value '1.5' at 'inferenceConfig.temperature'", "have value less than or equal to 1")},
		{"temperature too low", "", `"inferenceConfig":{"temperature":-0.5}`, "", constraint("Value '-0.5' at 'inferenceConfig.temperature'", "have value greater than or equal to 0")},
		{"temperature is text", "", `"inferenceConfig":{"temperature":"1"}`, "SerializationException", "STRING_VALUE can not be converted to a Float"},
		{"topP", "", `"inferenceConfig":{"topP":1.01}`, "", constraint("Value '1.01' at 'inferenceConfig.topP'", "have value less than or equal to 1")},
		{"too many stops", "", `"inferenceConfig":{"stopSequences":[` + long + `]}`, "", constraint("Value '["+strings.TrimSuffix(strings.Repeat("x ", 2501), " ")+"]' at 'inferenceConfig.stopSequences'", "have length less than or equal to 2500")},
		{"an empty stop", "", `"inferenceConfig":{"stopSequences":["a",""]}`, "", constraint("Value '' at 'inferenceConfig.stopSequences.2.member'", "have length greater than or equal to 1")},
		{"a stop is a number", "", `"inferenceConfig":{"stopSequences":[1]}`, "SerializationException", "NUMBER_VALUE can not be converted to a String"},
		{"messages is text", "", `"messages":"hi"`, "SerializationException", "Unexpected field type"},
		{"text is an object", "", `"messages":[{"role":"user","content":[{"text":{"a":1}}]}]`, "SerializationException", "Start of structure or map found where not expected."},
		{"fields for the model are text", "", `"additionalModelRequestFields":"x"`, "", "The format of the value at additionalModelRequestFields is invalid. Provide a json object for the field and try again."},
		{"latency", "", `"performanceConfig":{"latency":"fast"}`, "", constraint("Value 'fast' at 'performanceConfig.latency'", "satisfy enum value set: [standard, optimized]")},
		{"tier", "", `"serviceTier":{"type":"gold"}`, "", constraint("Value 'gold' at 'serviceTier.type'", "satisfy enum value set: [priority, default, flex, reserved]")},
		{"metadata without key", "", `"requestMetadata":{"":"x"}`, "", constraint("Value '' at 'requestMetadata'", "have length greater than or equal to 1")},
		{"metadata too long", "", `"requestMetadata":{"a":"` + strings.Repeat("x", 257) + `"}`, "", constraint("Value '"+strings.Repeat("x", 257)+"' at 'requestMetadata.a'", "have length less than or equal to 256")},
		{"output without structure", "", `"outputConfig":{"textFormat":{"type":"json_schema"}}`, "", constraint("Value null at 'outputConfig.textFormat.structure'", "not be null")},
		{"output of another type", "", `"outputConfig":{"textFormat":{"type":"xml","structure":{"jsonSchema":{"schema":"{}"}}}}`, "", constraint("Value 'xml' at 'outputConfig.textFormat.type'", "satisfy enum value set: [json_schema]")},
		{"output without schema", "", `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{}}}}`, "", constraint("Value null at 'outputConfig.textFormat.structure.jsonSchema.schema'", "not be null")},
		{"output of no known structure", "", `"outputConfig":{"textFormat":{"type":"json_schema","structure":{}}}`, "", "OutputFormatStructure object at outputConfig.textFormat.structure must set one of the following keys: jsonSchema."},
		{"output schema is an object", "", `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":{}}}}}`, "SerializationException", "Start of structure or map found where not expected."},
		{"guardrail without id", "", `"guardrailConfig":{"guardrailVersion":"1"}`, "", constraint("Value null at 'guardrailConfig.guardrailIdentifier'", "not be null")},
		{"guardrail without version", "", `"guardrailConfig":{"guardrailIdentifier":"abc"}`, "", constraint("Value null at 'guardrailConfig.guardrailVersion'", "not be null")},
		{"guardrail version", "", `"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"v1"}`, "", constraint("Value 'v1' at 'guardrailConfig.guardrailVersion'", "satisfy regular expression pattern: (|([1-9][0-9]{0,7})|(DRAFT))")},
		{"guardrail trace", "", `"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"1","trace":"on"}`, "", constraint("Value 'on' at 'guardrailConfig.trace'", "satisfy enum value set: [enabled, disabled, enabled_full]")},
		{"guardrail mode", path("us.anthropic.claude-sonnet-4-20250514-v1:0", true), `"guardrailConfig":{"guardrailIdentifier":"abc","guardrailVersion":"1","streamProcessingMode":"x"}`, "", constraint("Value 'x' at 'guardrailConfig.streamProcessingMode'", "satisfy enum value set: [sync, async]")},
		{"guardrail id", "", `"guardrailConfig":{"guardrailIdentifier":"My Guardrail","guardrailVersion":"1"}`, "", "The provided guardrail identifier is invalid."},
		{"blank system", "", `"system":[{"text":"be brief"},{"text":" "}]`, "", "The text field in the SystemContentBlock object at system.1 is blank. Add text to the text field, and try again."},
		{"system of nothing", "", `"system":[{"txt":"be brief"}]`, "", "SystemContentBlock object at system.0 must set one of the following keys: text, guardContent, cachePoint."},
		{"system cache point", "", `"system":[{"cachePoint":{"type":"ephemeral"}}]`, "", constraint("Value 'ephemeral' at 'system.1.member.cachePoint.type'", "satisfy enum value set: [default]")},
		{"cache point without type", "", `"system":[{"cachePoint":{}}]`, "", constraint("Value null at 'system.1.member.cachePoint.type'", "not be null")},
		{"cache point for too long", "", `"system":[{"cachePoint":{"type":"default","ttl":"2h"}}]`, "", constraint("Value '2h' at 'system.1.member.cachePoint.ttl'", "satisfy enum value set: [5m, 1h]")},
	})
}

// talk is messages of alternating roles, from the contents of each.
func talk(contents ...string) string {
	var all []string
	for i, content := range contents {
		role := []string{"user", "assistant"}[i%2]
		all = append(all, `{"role":"`+role+`","content":[`+content+`]}`)
	}
	return `"messages":[` + strings.Join(all, ",") + `]`
}

const (
	hi      = `{"text":"hi"}`
	use     = `{"toolUse":{"toolUseId":"a","name":"f","input":{}}}`
	useB    = `{"toolUse":{"toolUseId":"b","name":"f","input":{}}}`
	result  = `{"toolResult":{"toolUseId":"a","content":[{"text":"r"}]}}`
	resultB = `{"toolResult":{"toolUseId":"b","content":[{"text":"r"}]}}`
	tools   = `"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},`
)

func TestRefusesMessages(t *testing.T) {
	const start = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
	const alternate = "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
	const union = "ContentBlock object at messages.0.content.0 must set one of the following keys: text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent, citationsContent, searchResult."
	long := strings.Repeat("x", 65)
	testRefusals(t, []refused{
		{"none", "", `"messages":null`, "", start},
		{"empty", "", `"messages":[]`, "", start},
		{"assistant first", "", `"messages":[{"role":"assistant","content":[{"text":"hi"}]}]`, "", start},
		{"user twice", "", `"messages":[{"role":"user","content":[` + hi + `]},{"role":"user","content":[` + hi + `]}]`, "", alternate},
		{"no role", "", `"messages":[{"content":[` + hi + `]}]`, "", constraint("Value at 'messages.1.member.role'", "not be null")},
		{"role", "", `"messages":[{"role":"system","content":[` + hi + `]}]`, "", constraint("Value at 'messages.1.member.role'", "satisfy enum value set: [user, assistant]")},
		{"no content", "", `"messages":[{"role":"user"}]`, "", constraint("Value at 'messages.1.member.content'", "not be null")},
		{"empty content", "", talk(hi, ""), "", "The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content field and try again."},
		{"blank text", "", talk(`{"text":""}`), "", "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try again."},
		{"text of blanks", "", talk(hi, hi, hi+`,{"text":" \n"}`), "", "The text field in the ContentBlock object at messages.2.content.1 is blank. Add text to the text field, and try again."},
		{"block of nothing", "", talk(`{}`), "", union},
		{"block of something new", "", talk(`{"smell":"of roses"}`), "", union},
		{"block of two", "", talk(`{"text":"hi","cachePoint":{"type":"default"}}`), "", union},
		{"use by the user", "", tools + talk(use), "", "This model doesn't support the toolUse field for user messages. Remove toolUse and try again."},
		{"result by the assistant", "", tools + talk(hi, result), "", "This model doesn't support the toolResult field for assistant messages. Remove toolResult and try again."},
		{"image by the assistant", "", talk(hi, `{"image":{"format":"png","source":{"bytes":"AAAA"}}}`), "", "This model doesn't support the image field for assistant messages. Remove image and try again."},
		{"document by the assistant", "", talk(hi, `{"document":{"name":"d","source":{"bytes":"AAAA"}}}`), "", "This model doesn't support the document field for assistant messages. Remove document and try again."},
		{"video by the assistant", "", talk(hi, `{"video":{"format":"mp4","source":{"bytes":"AAAA"}}}`), "", "This model doesn't support the video field for assistant messages. Remove video and try again."},
		{"thought by the user", "", talk(`{"reasoningContent":{"reasoningText":{"text":"x"}}}`), "", "This model doesn't support the reasoningContent field for user messages. Remove reasoningContent and try again."},
		{"thought without text", "", talk(hi, `{"reasoningContent":{"reasoningText":{"signature":"x"}}}`), "", constraint("Value at 'messages.2.member.content.1.member.reasoningContent.reasoningText.text'", "not be null")},
		{"thought of nothing", "", talk(hi, `{"reasoningContent":{}}`), "", "ReasoningContentBlock object at messages.1.content.0.reasoningContent must set one of the following keys: reasoningText, redactedContent."},
		{"cache point", "", talk(hi + `,{"cachePoint":{"type":"x"}}`), "", constraint("Value at 'messages.1.member.content.2.member.cachePoint.type'", "satisfy enum value set: [default]")},
		{"use without id", "", tools + talk(hi, `{"toolUse":{"name":"f","input":{}}}`), "", constraint("Value at 'messages.2.member.content.1.member.toolUse.toolUseId'", "not be null")},
		{"use of a bad id", "", tools + talk(hi, `{"toolUse":{"toolUseId":"a b","name":"f","input":{}}}`), "", constraint("Value at 'messages.2.member.content.1.member.toolUse.toolUseId'", "satisfy regular expression pattern: [a-zA-Z0-9_.:-]+")},
		{"use of a long id", "", tools + talk(hi, `{"toolUse":{"toolUseId":"`+long+`","name":"f","input":{}}}`), "", constraint("Value at 'messages.2.member.content.1.member.toolUse.toolUseId'", "have length less than or equal to 64")},
		{"use of a bad name", "", tools + talk(hi, `{"toolUse":{"toolUseId":"a","name":"f.g","input":{}}}`), "", constraint("Value at 'messages.2.member.content.1.member.toolUse.name'", "satisfy regular expression pattern: [a-zA-Z0-9_-]+")},
		{"use without input", "", tools + talk(hi, `{"toolUse":{"toolUseId":"a","name":"f"}}`), "", constraint("Value at 'messages.2.member.content.1.member.toolUse.input'", "not be null")},
		{"use with text as input", "", tools + talk(hi, `{"toolUse":{"toolUseId":"a","name":"f","input":"{}"}}`), "", "The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field and try again."},
	})
}

func TestRefusesResults(t *testing.T) {
	testRefusals(t, []refused{
		{"no toolConfig", "", talk(hi, use, result), "", "The toolConfig field must be defined when using toolUse and toolResult content blocks."},
		{"no use", "", tools + talk(result), "", "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn."},
		{"one too many", "", tools + talk(hi, use, result+","+resultB), "", "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn."},
		{"of another use", "", tools + talk(hi, use, resultB), "", "Expected toolResult blocks at messages.2.content for the following Ids: a"},
		{"one too few", "", tools + talk(hi, use+","+useB, result), "", "Expected toolResult blocks at messages.2.content for the following Ids: b"},
		{"none", "", tools + talk(hi, use+","+useB, hi), "", "Expected toolResult blocks at messages.2.content for the following Ids: a, b"},
		{"nobody answers", "", tools + talk(hi, use), "", "Expected toolResult blocks at messages.2.content for the following Ids: a"},
		{"use twice", "", tools + talk(hi, use+","+use, result), "", "The toolUse blocks at messages.1.content contain duplicate Ids: a"},
		{"result twice", "", tools + talk(hi, use+","+useB, result+","+result), "", "The toolResult blocks at messages.2.content contain duplicate Ids: a"},
		{"without id", "", tools + talk(hi, use, `{"toolResult":{"content":[{"text":"r"}]}}`), "", constraint("Value at 'messages.3.member.content.1.member.toolResult.toolUseId'", "not be null")},
		{"without content", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a"}}`), "", constraint("Value at 'messages.3.member.content.1.member.toolResult.content'", "not be null")},
		{"of another status", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[],"status":"failed"}}`), "", constraint("Value at 'messages.3.member.content.1.member.toolResult.status'", "satisfy enum value set: [success, error]")},
		{"of nothing", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{}]}}`), "", "ToolResultContentBlock object at messages.2.content.0.toolResult.content.0 must set one of the following keys: text, image, json, document, video, searchResult."},
		{"blank", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"text":""}]}}`), "", "The text field in the ToolResultContentBlock object at messages.2.content.0.toolResult.content.0 is blank. Add text to the text field, and try again."},
		{"JSON that is no object", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"json":[1]}]}}`), "", "The format of the value at messages.2.content.0.toolResult.content.0.json is invalid. Provide a json object for the field and try again."},
		{"image of another format", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"image":{"format":"bmp","source":{"bytes":"AAAA"}}}]}}`), "", constraint("Value at 'messages.3.member.content.1.member.toolResult.content.1.member.image.format'", "satisfy enum value set: [png, jpeg, gif, webp]")},
		{"image of nothing", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"image":{"format":"png","source":{}}}]}}`), "", "ImageSource object at messages.2.content.0.toolResult.content.0.image.source must set one of the following keys: bytes, s3Location."},
		{"document of a bad name", "", tools + talk(hi, use, `{"toolResult":{"toolUseId":"a","content":[{"document":{"name":"a.pdf","source":{"bytes":"AAAA"}}}]}}`), "", badName},
	})
}

func TestRefusesTools(t *testing.T) {
	tool := func(spec string) string { return `"toolConfig":{"tools":[{"toolSpec":` + spec + `}]}` }
	at := func(field string) string { return "'toolConfig.tools.1.member.toolSpec." + field + "'" }
	long := strings.Repeat("x", 65)
	const schema = `"inputSchema":{"json":{"type":"object"}}`
	choice := func(c string) string {
		return `"toolConfig":{"tools":[{"toolSpec":{"name":"f",` + schema + `}}],"toolChoice":` + c + `}`
	}
	testRefusals(t, []refused{
		{"none", "", `"toolConfig":{}`, "", constraint("Value null at 'toolConfig.tools'", "not be null")},
		{"empty", "", `"toolConfig":{"tools":[]}`, "", constraint("Value '[]' at 'toolConfig.tools'", "have length greater than or equal to 1")},
		{"of nothing", "", `"toolConfig":{"tools":[{}]}`, "", "Tool object at toolConfig.tools.0 must set one of the following keys: toolSpec, systemTool, cachePoint."},
		{"cache point", "", `"toolConfig":{"tools":[{"cachePoint":{"type":"x"}}]}`, "", constraint("Value 'x' at 'toolConfig.tools.1.member.cachePoint.type'", "satisfy enum value set: [default]")},
		{"no name", "", tool(`{` + schema + `}`), "", constraint("Value null at "+at("name"), "not be null")},
		{"name", "", tool(`{"name":"Complete Session",` + schema + `}`), "", constraint("Value 'Complete Session' at "+at("name"), "satisfy regular expression pattern: [a-zA-Z0-9_-]+")},
		{"long name", "", tool(`{"name":"` + long + `",` + schema + `}`), "", constraint("Value '"+long+"' at "+at("name"), "have length less than or equal to 64")},
		{"empty description", "", tool(`{"name":"f","description":"",` + schema + `}`), "", constraint("Value '' at "+at("description"), "have length greater than or equal to 1")},
		{"no schema", "", tool(`{"name":"f"}`), "", constraint("Value null at "+at("inputSchema"), "not be null")},
		{"schema of nothing", "", tool(`{"name":"f","inputSchema":{}}`), "", "ToolInputSchema object at toolConfig.tools.0.toolSpec.inputSchema must set one of the following keys: json."},
		{"schema is text", "", tool(`{"name":"f","inputSchema":{"json":"{}"}}`), "", "The format of the value at toolConfig.tools.0.toolSpec.inputSchema.json is invalid. Provide a json object for the field and try again."},
		{"schema without type", "", tool(`{"name":"f","inputSchema":{"json":{"properties":{}}}}`), "", "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."},
		{"schema of an array", "", tool(`{"name":"f","inputSchema":{"json":{"type":"array"}}}`), "", "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."},
		{"twice", "", `"toolConfig":{"tools":[{"toolSpec":{"name":"f",` + schema + `}},{"toolSpec":{"name":"f",` + schema + `}}]}`, "", "The tool f is already defined at toolConfig.tools.0."},
		{"choice of nothing", "", choice(`{}`), "", "ToolChoice object at toolConfig.toolChoice must set one of the following keys: auto, any, tool."},
		{"choice of two", "", choice(`{"auto":{},"any":{}}`), "", "ToolChoice object at toolConfig.toolChoice must set one of the following keys: auto, any, tool."},
		{"choice without name", "", choice(`{"tool":{}}`), "", constraint("Value null at 'toolConfig.toolChoice.tool.name'", "not be null")},
		{"choice of another", "", choice(`{"tool":{"name":"g"}}`), "", saysTheModel + "Tool 'g' not found in provided tools"},
	})
}

const badName = "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character. Check that the file name conforms to these restrictions and retry your request."

func TestRefusesMedia(t *testing.T) {
	doc := func(fields string) string { return hi + `,{"document":{` + fields + `}}` }
	named := func(name string) string {
		return `{"document":{"name":"` + name + `","source":{"bytes":"AAAA"}}}`
	}
	image := func(fields string) string { return talk(`{"image":{` + fields + `}}`) }
	at := func(field string) string { return "Value at 'messages.1.member.content.2.member." + field + "'" }
	six, images := hi, hi
	for i := range 21 {
		if i < 6 {
			six += "," + named(fmt.Sprint("d", i))
		}
		images += `,{"image":{"format":"png","source":{"bytes":"AAAA"}}}`
	}
	testRefusals(t, []refused{
		{"image without format", "", image(`"source":{"bytes":"AAAA"}`), "", constraint("Value at 'messages.1.member.content.1.member.image.format'", "not be null")},
		{"image of another format", "", image(`"format":"jpg","source":{"bytes":"AAAA"}`), "", constraint("Value at 'messages.1.member.content.1.member.image.format'", "satisfy enum value set: [png, jpeg, gif, webp]")},
		{"image without source", "", image(`"format":"png"`), "", constraint("Value at 'messages.1.member.content.1.member.image.source'", "not be null")},
		{"image from the web", "", image(`"format":"png","source":{"url":"https://x/y.png"}`), "", "ImageSource object at messages.0.content.0.image.source must set one of the following keys: bytes, s3Location."},
		{"image of no bytes", "", image(`"format":"png","source":{"bytes":""}`), "", constraint("Value at 'messages.1.member.content.1.member.image.source.bytes'", "have length greater than or equal to 1")},
		{"image of no base64", "", image(`"format":"png","source":{"bytes":"a$"}`), "SerializationException", "Invalid base64 at messages.0.content.0.image.source"},
		{"image in S3", "", image(`"format":"png","source":{"s3Location":{"uri":"s3://b/k"}}`), "", saysTheModel + "messages.0.content.0.image.source.type: Field required"},
		{"21 images", "", talk(images), "", saysTheModel + "messages: too many images and documents: 21 + 0 > 20"},
		{"guarded image", "", talk(`{"guardContent":{"image":{"format":"gif","source":{"bytes":"AAAA"}}}}`), "", constraint("Value at 'messages.1.member.content.1.member.guardContent.image.format'", "satisfy enum value set: [jpeg, png]")},
		{"video of another format", path("amazon.nova-pro-v1:0", false), talk(`{"video":{"format":"avi","source":{"bytes":"AAAA"}}}`), "", constraint("Value at 'messages.1.member.content.1.member.video.format'", "satisfy enum value set: [mkv, mov, mp4, webm, flv, mpeg, mpg, wmv, three_gp]")},
		{"video of nothing", path("amazon.nova-pro-v1:0", false), talk(`{"video":{"format":"mp4","source":{}}}`), "", "VideoSource object at messages.0.content.0.video.source must set one of the following keys: bytes, s3Location."},
		{"document without text", "", talk(named("a")), "", "A text block must be included when using documents."},
		{"document of another format", "", talk(doc(`"format":"rtf","name":"a","source":{"bytes":"AAAA"}`)), "", constraint(at("document.format"), "satisfy enum value set: [docx, csv, html, txt, pdf, md, doc, xlsx, xls]")},
		{"document without name", "", talk(doc(`"format":"pdf","source":{"bytes":"AAAA"}`)), "", constraint(at("document.name"), "not be null")},
		{"document of a long name", "", talk(hi + "," + named(strings.Repeat("x", 201))), "", constraint(at("document.name"), "have length less than or equal to 200")},
		{"document with its extension", "", talk(hi + "," + named("a.pdf")), "", badName},
		{"document with two blanks", "", talk(hi + "," + named("a  b")), "", badName},
		{"document with a wide blank", "", talk(hi + "," + named("a　b")), "", badName},
		{"document without source", "", talk(doc(`"name":"a"`)), "", constraint(at("document.source"), "not be null")},
		{"document of text", "", talk(doc(`"name":"a","source":{"text":"x"}`)), "", "DocumentSource object at messages.0.content.1.document.source must set one of the following keys: bytes, s3Location."},
		{"document in S3", "", talk(doc(`"name":"a","source":{"s3Location":{"uri":"s3://b/k"}}`)), "", saysTheModel + "messages.0.content.1.document.source.type: Field required"},
		{"two of one name", "", talk(hi+","+named("a"), hi, hi+","+named("a")), "", "Messages can't contain duplicate document names. Rename the document and retry your request."},
		{"six documents", "", talk(six), "", "You can't include more than 5 documents in a request."},
	})
}
