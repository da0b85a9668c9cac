package azure

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestOnlySchemasThatKeepTheRulesAreStrict(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]}`
	}
	deep := `{"type":"string"}`
	for range strictDepth {
		deep = object(`"a":`+deep, `"a"`)
	}
	var many, all []string
	for i := range strictProperties {
		many = append(many, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		all = append(all, fmt.Sprintf(`"p%d"`, i))
	}
	big := object(strings.Join(many, ","), strings.Join(all, ","))
	for schema, fits := range map[string]bool{
		object("", ""):                         true,
		object(`"a":{"type":"string"}`, `"a"`): true,
		object(`"a":{"type":["string","null"],"description":"d","enum":["x",null]}`, `"a"`):                                 true,
		object(`"a":{"type":"array","items":`+object("", "")+`}`, `"a"`):                                                    true,
		object(`"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/x"}]}`, `"a"`):                                             true,
		`{"$defs":{"x":` + object("", "") + `},"type":"object","properties":{},"required":[],"additionalProperties":false}`: true,
		deep:                                   true,
		big:                                    true,
		object(`"a":`+deep, `"a"`):             false, // too deep
		object(`"x":`+big, `"x"`):              false, // too many
		object(`"a":{"type":"string"}`, ""):    false, // optional
		object(`"a":{"type":"string"}`, `"b"`): false,
		object(`"a":{"type":"string","pattern":"x"}`, `"a"`):             false,
		object(`"a":{"type":"string","default":"x"}`, `"a"`):             false,
		object(`"a":{}`, `"a"`):                                          false, // no type
		object(`"a":true`, `"a"`):                                        false,
		object(`"a":{"type":"array","items":{"type":"object"}}`, `"a"`):  false, // an open object inside
		object(`"a":{"anyOf":{}}`, `"a"`):                                false,
		`{"type":"object","properties":{}}`:                              false,
		`{"type":"object","properties":[],"additionalProperties":false}`: false,
		`{"type":"string"}`:                                              false,
		`{"anyOf":[]}`:                                                   false,
		`[]`:                                                             false,
		`{`:                                                              false,
	} {
		if got := fitsStrict(json.RawMessage(schema)); got != fits {
			t.Errorf("%v, want %v: %.200s", got, fits, schema)
		}
	}
}
