package bedrock

import (
	"encoding/base64"
	"regexp"
	"slices"
)

// documentName: that an underscore is taken, and no blank but the plain one, is reported.
var documentName = regexp.MustCompile(`^[a-zA-Z0-9_ ()\[\]-]*$`)

var twoBlanks = regexp.MustCompile(`  `)

// check: the text is reported for documents. Bytes that are no base64 are refused in AWS's general words.
func (s *source) check(union string, p place) *refusal {
	p = p.field("source")
	if count(s.Bytes != nil, given(s.S3Location)) != 1 {
		return mustSet(union, p, "bytes", "s3Location")
	}
	return s.checkBytes(p)
}

func (s *source) checkBytes(p place) *refusal {
	if s.Bytes == nil {
		return nil
	}
	if _, err := base64.StdEncoding.DecodeString(*s.Bytes); err != nil {
		return except("SerializationException", "Invalid base64 at "+p.dotted)
	}
	return p.field("bytes").length(*s.Bytes, 1, maxBody)
}

// check: the text for a name is reported. Texts and chunks as source are recorded with citations, and reported to
// be refused without.
func (d *document) check(p place) *refusal {
	if !documentName.MatchString(*d.Name) || twoBlanks.MatchString(*d.Name) {
		return invalid("The document file name can only contain alphanumeric characters, whitespace characters, hyphens, " +
			"parentheses, and square brackets. The name can't contain more than one consecutive whitespace character. " +
			"Check that the file name conforms to these restrictions and retry your request.")
	}
	if s := d.Source; d.Citations != nil && d.Citations.Enabled && count(s.Text != nil, given(s.Content)) == 1 &&
		s.Bytes == nil && !given(s.S3Location) {
		return nil
	}
	return d.Source.check("DocumentSource", p)
}

// checkDocuments looks at all documents of the request together. The texts are reported.
func (c *call) checkDocuments() *refusal {
	var names []string
	note := func(d *document) *refusal {
		if d == nil {
			return nil
		}
		if slices.Contains(names, *d.Name) {
			return invalid("Messages can't contain duplicate document names. Rename the document and retry your request.")
		}
		names = append(names, *d.Name)
		return nil
	}
	for i := range c.body.Messages {
		own, texts := 0, 0
		for j := range c.body.Messages[i].Content {
			b := &c.body.Messages[i].Content[j]
			own, texts = own+count(b.Document != nil), texts+count(b.Text != nil)
			if no := note(b.Document); no != nil {
				return no
			}
			for _, r := range b.results() {
				if no := note(r.Document); no != nil {
					return no
				}
			}
		}
		if own > 0 && texts == 0 {
			return invalid("A text block must be included when using documents.")
		}
	}
	if len(names) > 5 {
		return invalid("You can't include more than 5 documents in a request.")
	}
	return nil
}

// results is what a tool result has in it, nil for any other block.
func (b *block) results() []resultBlock {
	if b.ToolResult == nil {
		return nil
	}
	return b.ToolResult.Content
}

// pictured counts the images and the documents of the whole request.
func (r *conversation) pictured() (images, documents int) {
	for i := range r.Messages {
		for j := range r.Messages[i].Content {
			b := &r.Messages[i].Content[j]
			images, documents = images+count(b.Image != nil), documents+count(b.Document != nil)
			for _, result := range b.results() {
				images, documents = images+count(result.Image != nil), documents+count(result.Document != nil)
			}
		}
	}
	return images, documents
}
