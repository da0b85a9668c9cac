package azure

import (
	"bytes"
	"strings"
)

func (c *call) checkFormat() *refusal {
	format, ok := c.fields.object("response_format")
	if !ok {
		return nil
	}
	kind, ok := format.text("type")
	if !ok {
		return missing("response_format.type")
	}
	if no := oneOf("response_format.type", kind, "json_object", "json_schema", "text"); no != nil {
		return no
	}
	switch kind {
	case "json_object":
		if !bytes.Contains(bytes.ToLower(c.fields["messages"]), []byte("json")) {
			return invalid("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' "+
				"of type 'json_object'.")
		}
	case "json_schema":
		return checkJSONSchema(format)
	}
	return nil
}

func checkJSONSchema(format object) *refusal {
	const path = "response_format.json_schema"
	if !format.has("json_schema") {
		return missing(path)
	}
	if no := want(format, "json_schema", path, "object"); no != nil {
		return no
	}
	o, _ := format.object("json_schema")
	if no := name(o, path+".name"); no != nil {
		return no
	}
	if !o.has("schema") {
		return missing(path + ".schema")
	}
	if no := want(o, "schema", path+".schema", "object"); no != nil {
		return no
	}
	called, _ := o.text("name")
	s := schema{what: "response_format '" + called + "'", param: "response_format", strict: o.boolean("strict")}
	return s.check(o["schema"])
}

// tuple writes a place in a schema as the service does, which is Python's way.
func tuple(place []string) string {
	switch len(place) {
	case 0:
		return "()"
	case 1:
		return "('" + place[0] + "',)"
	default:
		return "('" + strings.Join(place, "', '") + "')"
	}
}
