package vertex

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// checkFields refuses a request that the service refuses. Its first complaint is the only one, as there.
func (c *call) checkFields() *refusal {
	for _, test := range []func() *refusal{
		c.checkContents, c.checkSystem, c.checkTurns, c.checkSignatures, c.checkConfig, c.checkFormat, c.checkThinking,
		c.checkTools, c.checkToolConfig, c.checkCache, c.checkLabels, c.checkWindow,
	} {
		if no := test(); no != nil {
			return no
		}
	}
	return nil
}

// unable is how Vertex AI refuses what a field says.
func unable(format string, args ...any) *refusal {
	return invalid("Unable to submit request because %s Learn more: %s", fmt.Sprintf(format, args...), learnGemini)
}

// fault is how the Gemini API refuses what a field says.
func fault(path, problem string) *refusal {
	return invalid("* GenerateContentRequest.%s: %s\n", path, problem)
}

// either is the one or the other.
func (c *call) either(vertex, gemini *refusal) *refusal {
	if c.vertex() {
		return vertex
	}
	return gemini
}

// checkContents: the texts for no contents, for a role, and for no parts are recorded or widely reported.
func (c *call) checkContents() *refusal {
	contents := c.fields.list("contents").messages()
	if len(contents) == 0 {
		return c.either(unable("at least one contents field is required."), fault("contents", "contents is not specified"))
	}
	for i, content := range contents {
		role := content.text("role")
		if role != "user" && role != "model" && (role != "" || c.vertex()) {
			return invalid("Please use a valid role: user, model.")
		}
		if no := c.checkParts(content, "contents["+strconv.Itoa(i)+"]"); no != nil {
			return no
		}
	}
	return nil
}

func (c *call) checkSystem() *refusal {
	if system := c.fields.message("systemInstruction"); system != nil {
		return c.checkParts(system, "system_instruction")
	}
	return nil
}

func (c *call) checkParts(content message, path string) *refusal {
	parts := content.list("parts").messages()
	if len(parts) == 0 {
		return c.either(unable("it must include at least one parts field, which describes the prompt input."),
			fault(path+".parts", "contents.parts must not be empty."))
	}
	for i, part := range parts {
		if no := c.checkPart(part, path+".parts["+strconv.Itoa(i)+"]"); no != nil {
			return no
		}
	}
	return nil
}

// checkPart: the texts for a part of no kind are reported, that of Vertex AI for parts with other kinds but no text;
// that for an empty text is widely reported. An empty text may carry a signature.
func (c *call) checkPart(part message, path string) *refusal {
	for _, kind := range []string{"functionCall", "functionResponse"} {
		if f := part.message(kind); f != nil && f.text("name") == "" {
			return fault(path+"."+snake(kind)+".name", "Name cannot be empty.")
		}
	}
	switch {
	case part.has("text"):
		if part.raw("text") == `""` && part.text("thoughtSignature") == "" {
			return unable("it has an empty text parameter. Add a value to the parameter and try again.")
		}
	case part.has("inlineData"):
		return c.checkMedia(part.message("inlineData"), "data", path+".inline_data")
	case part.has("fileData"):
		return c.checkMedia(part.message("fileData"), "fileUri", path+".file_data")
	case kindOf(part) == "":
		return c.either(unable("it must have a text parameter. Add a text parameter and try again."),
			fault(path+".data", "required oneof field 'data' must have one initialized field"))
	}
	return nil
}

// kindOf is the field that says what a part is.
func kindOf(part message) string {
	for _, kind := range []string{
		"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
		"toolCall", "toolResponse", "audioTranscription",
	} {
		if part.has(kind) {
			return kind
		}
	}
	return ""
}

// checkMedia: the text of Vertex AI for a media type is reported, those for what is missing are unverified.
func (c *call) checkMedia(m message, content, path string) *refusal {
	media := m.text("mimeType")
	if m.raw(content) == `""` || !m.has(content) {
		return c.either(unable("it has an empty %s parameter. Add a value to the parameter and try again.", content),
			fault(path+"."+snake(content), "must not be empty."))
	}
	if media == "" && content == "fileUri" && !c.vertex() {
		return nil // the API knows its own files
	}
	family, _, _ := strings.Cut(media, "/")
	switch {
	case media == "application/pdf", media == "application/json":
		return nil
	case family == "image", family == "audio", family == "video", family == "text":
		return nil
	}
	return c.either(unable("it has a mimeType parameter with value %s, which is not supported. Update the mimeType and "+
		"try again.", media), invalid("Unsupported MIME type: %s", media))
}

// checkWindow estimates tokens at four bytes each.
func (c *call) checkWindow() *refusal {
	tokens := len(c.x.Body) / 4
	if tokens <= window {
		return nil
	}
	return c.tooLong(tokens)
}

// window is how many tokens Gemini models read.
const window = 1048576

// tooLong: both texts are widely reported.
func (c *call) tooLong(tokens int) *refusal {
	return c.either(unable("the input token count is %d but model only supports up to %d. Reduce the input token count and "+
		"try again. You can also use the CountTokens API to calculate prompt token count and billable characters.", tokens, window),
		invalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, window))
}

// checkLabels: the limits are documented, the text is unverified.
func (c *call) checkLabels() *refusal {
	raw, _ := c.fields["labels"].(json.RawMessage)
	all, _ := members(raw)
	if len(all) > 64 {
		return unable("it has %d labels but the maximum is 64.", len(all))
	}
	word := func(s string, least int) bool {
		bad := strings.IndexFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' && r < 0x80
		})
		return bad < 0 && len([]rune(s)) >= least && len([]rune(s)) <= 63
	}
	for _, m := range all {
		value := message{"v": m.value}.text("v")
		if !word(m.name, 1) || m.name[0] < 'a' || !word(value, 0) {
			return unable("the label %s is not valid. Keys and values can contain only lowercase letters, numeric "+
				"characters, underscores, and dashes, and keys must start with a letter; both are limited to 63 characters.", m.name)
		}
	}
	return nil
}

// checkCache: the texts for what a cached content rules out are reported, that for its name is unverified.
func (c *call) checkCache() *refusal {
	if !c.fields.has("cachedContent") {
		return nil
	}
	name := c.fields.text("cachedContent")
	form, ok := strings.CutPrefix(name, "cachedContents/")
	if c.vertex() {
		var prefix string
		prefix, form, ok = strings.Cut(name, "/cachedContents/")
		ok = ok && strings.HasPrefix(prefix, "projects/") && strings.Count(prefix, "/") == 3 && strings.Contains(prefix, "/locations/")
	}
	if !ok || form == "" || strings.Contains(form, "/") {
		return invalid("Invalid CachedContent name: %s", name)
	}
	for _, other := range []string{"systemInstruction", "tools", "toolConfig"} {
		if c.fields.has(other) {
			return c.either(invalid("Tool config, tools and system instruction should not be set in therequest when using cached content."),
				invalid("CachedContent can not be used with GenerateContent request setting system_instruction, tools or "+
					"tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request."))
		}
	}
	return nil
}
