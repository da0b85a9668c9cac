package azure

// object finds the end of a JSON object that comes in pieces. It reads each byte once and checks no more than
// brackets and strings: whoever needs the object parses it.
type object struct {
	depth   int
	begun   bool // its first byte was seen
	other   bool // the first byte is none of an object
	quoted  bool // inside a string
	escaped bool // behind a backslash
}

// whole reports whether the object has come to its end.
func (o *object) whole() bool { return o.begun && !o.other && o.depth == 0 }

// scan reads a piece, and returns how much of it belongs to the object and to the blanks
// and the byte-order mark in front of it.
func scan[T string | []byte](o *object, piece T) int {
	for i := range len(piece) {
		switch {
		case o.other, o.whole():
			return i
		case !o.begun:
			o.begin(piece[i])
		default:
			o.next(piece[i])
		}
	}
	return len(piece)
}

func (o *object) begin(b byte) {
	if blank(b) || b == bom[0] || b == bom[1] || b == bom[2] {
		return
	}
	o.begun, o.other = true, b != '{'
	if !o.other {
		o.depth = 1
	}
}

func (o *object) next(b byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case b == '\\':
		o.escaped = o.quoted
	case b == '"':
		o.quoted = !o.quoted
	case o.quoted:
	case b == '{', b == '[':
		o.depth++
	case b == '}', b == ']':
		o.depth--
	}
}

// bom is the byte-order mark.
const bom = "\xef\xbb\xbf"

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }
