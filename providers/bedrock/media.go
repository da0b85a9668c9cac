package bedrock

import (
	"encoding/json"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/punctual-llm/punctual/llm"
)

// formats are the wire's words for media types, by the block they go into.
var formats = struct{ image, document, video, audio map[string]string }{
	image: map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"},
	document: map[string]string{
		"application/pdf": "pdf", "text/csv": "csv", "application/csv": "csv", "application/msword": "doc",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
		"application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
		"text/html": "html", "text/plain": "txt", "text/markdown": "md", "text/x-markdown": "md",
	},
	video: map[string]string{
		"video/x-matroska": "mkv", "video/quicktime": "mov", "video/mp4": "mp4", "video/webm": "webm", "video/x-flv": "flv",
		"video/mpeg": "mpeg", "video/x-ms-wmv": "wmv", "video/3gpp": "three_gp",
	},
	audio: map[string]string{
		"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/opus": "opus", "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav",
		"audio/aac": "aac", "audio/flac": "flac", "audio/mp4": "mp4", "audio/ogg": "ogg", "audio/m4a": "m4a", "audio/x-m4a": "m4a",
		"audio/webm": "webm", "audio/x-matroska": "mkv",
	},
}

// media is the block of an image, document, video or audio.
func (e *encoder) media(field string, m *llm.Media) (*block, error) {
	mediaType, _, err := mime.ParseMediaType(m.MediaType)
	if err != nil {
		mediaType = strings.ToLower(m.MediaType)
	}
	src, err := sourceOf(field, m)
	if err != nil {
		return nil, err
	}
	out := &media{Source: src}
	if out.Format = formats.image[mediaType]; out.Format != "" {
		return &block{Image: out}, nil
	}
	if out.Format = formats.video[mediaType]; out.Format != "" {
		return &block{Video: out}, nil
	}
	if out.Format = formats.audio[mediaType]; out.Format != "" {
		return &block{Audio: out}, nil
	}
	out.Format = formats.document[mediaType]
	if out.Format == "" && strings.HasPrefix(mediaType, "text/") {
		out.Format = "txt"
	}
	if out.Format == "" {
		return nil, llm.Unsupported(field+".media_type", "is none that Converse carries",
			"PNG, JPEG, GIF, WebP, PDF, Office, text, video, audio")
	}
	name := m.Name
	if name == "" && m.URI != "" {
		name = path.Base(m.URI)
	}
	if out.Name = e.documentName(name); m.Name != "" && out.Name != m.Name {
		e.warnOnce("changed", field+".name", "Bedrock takes letters, digits, blanks, - ( ) [ ] in the name of a document, and each name once")
	}
	if e.extra.citations {
		out.Citations = &enabled{Enabled: true}
		if out.Format == "txt" && utf8.Valid(m.Data) && m.URI == "" { // only text can be cited by its letters
			out.Source = source{Text: string(m.Data)}
		}
	}
	return &block{Document: out}, nil
}

func sourceOf(field string, m *llm.Media) (source, error) {
	switch {
	case m.URI == "":
		return source{Bytes: m.Data}, nil
	case strings.HasPrefix(m.URI, "s3://"):
		return source{S3: &s3{URI: m.URI}}, nil
	default:
		return source{}, llm.Unsupported(field+".uri", "is no s3 address, and Bedrock fetches no other", "give the data itself")
	}
}

// The types of the opaque parts that this package makes.
const (
	// BlockType is a content block of Converse that llm has no part for, redacted reasoning for example; its data is
	// the block, {"guardContent":…} say. A user's message may have one too: it is sent as it is. See [GuardText].
	BlockType = "bedrock_block"
	// CitationsType is the citations of the text in front of it; its data is a list. See [Citations].
	CitationsType = "bedrock_citations"
	// FieldsType is what [Extra].ResponseFields asked for; its data is an object.
	FieldsType = "bedrock_response_fields"
)

// GuardText is text that a guardrail shall judge. Once a message has one, guardrails judge nothing else of it. The
// qualifiers are "grounding_source", "query" and "guard_content".
func GuardText(text string, qualifiers ...string) llm.Opaque {
	type guarded struct {
		Text       string   `json:"text"`
		Qualifiers []string `json:"qualifiers,omitempty"`
	}
	data, _ := marshal(map[string]any{"guardContent": map[string]any{"text": guarded{text, qualifiers}}}) // strings
	return llm.Opaque{Type: BlockType, Data: data}
}

// Citation says which part of a document an answer is based on.
type Citation struct {
	Title    string
	Source   string
	Quotes   []string        // what is cited
	Location json.RawMessage // where it stands, in the service's words
}

// Citations returns the citations of an answer in order.
func Citations(r *llm.Response) []Citation {
	var all []Citation
	if r == nil {
		return nil
	}
	for _, p := range r.Message.Parts {
		o, ok := p.(llm.Opaque)
		if !ok || o.Type != CitationsType {
			continue
		}
		var list []struct {
			Title, Source string
			SourceContent []struct{ Text string }
			Location      json.RawMessage
		}
		_ = json.Unmarshal(o.Data, &list) // what can be read is read
		for _, c := range list {
			one := Citation{Title: c.Title, Source: c.Source, Location: c.Location}
			for _, q := range c.SourceContent {
				one.Quotes = append(one.Quotes, q.Text)
			}
			all = append(all, one)
		}
	}
	return all
}
