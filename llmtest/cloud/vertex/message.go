package vertex

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// message is a JSON object that was read as a message of the service, by the JSON names of its fields. A value is a
// message, a list of values, entries, or the JSON of anything else. What is null is not there.
type message map[string]any

// list is a repeated field.
type list []any

// entries are a map of messages, in the order of the text.
type entries []entry

type entry struct {
	key   string
	value message
}

func (m message) has(name string) bool { return m[name] != nil }

// text is a string or the name of an enum.
func (m message) text(name string) string {
	raw, _ := m[name].(json.RawMessage)
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func (m message) message(name string) message {
	v, _ := m[name].(message)
	return v
}

func (m message) list(name string) list {
	v, _ := m[name].(list)
	return v
}

func (m message) entries(name string) entries {
	v, _ := m[name].(entries)
	return v
}

func (m message) truth(name string) bool {
	raw, _ := m[name].(json.RawMessage)
	return string(raw) == "true"
}

// number is a number, which may be written as a string.
func (m message) number(name string) (n float64, ok bool) {
	raw, _ := m[name].(json.RawMessage)
	n, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	return n, err == nil
}

// raw is the JSON of a field that is not taken apart.
func (m message) raw(name string) string {
	raw, _ := m[name].(json.RawMessage)
	return string(raw)
}

// messages are the messages in a list.
func (l list) messages() []message {
	var all []message
	for _, v := range l {
		m, _ := v.(message)
		all = append(all, m)
	}
	return all
}

// texts are the strings in a list.
func (l list) texts() []string {
	var all []string
	for _, v := range l {
		raw, _ := v.(json.RawMessage)
		var s string
		_ = json.Unmarshal(raw, &s)
		all = append(all, s)
	}
	return all
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}
