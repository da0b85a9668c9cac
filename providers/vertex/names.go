package vertex

import "github.com/punctual-llm/punctual/internal/wirename"

// wireName is the name to send for the name of a tool.
func (e *encoder) wireName(name string) string { return e.names.As(name, wireName(name)) }

// wireName is name if it fits ^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$, the narrower of what the two services document. In a name
// that does not, . and : are replaced, too: not every place that has names takes these two.
func wireName(name string) string {
	begins := name != "" && wirename.Takes(name[0]) && name[0] != '-' && (name[0] < '0' || name[0] > '9')
	fits := begins && len(name) <= wirename.Max
	for i := 0; fits && i < len(name); i++ {
		fits = wirename.Takes(name[i]) || name[i] == '.' || name[i] == ':'
	}
	switch {
	case fits:
		return name
	case begins:
		return wirename.Replaced("", name)
	default:
		return wirename.Replaced("_", name)
	}
}
