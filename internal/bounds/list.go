package bounds

import "encoding/json"

// List is a JSON array of at most Parts elements.
type List[T any] struct {
	Items   []T
	TooMany bool // nothing was decoded
}

// UnmarshalJSON counts before it decodes. It never fails: an error would be lost behind an earlier one that is
// tolerated, and since the value is valid, only members of other types could be one.
func (l *List[T]) UnmarshalJSON(raw []byte) error {
	l.Items, l.TooMany = nil, TooMany(raw, Parts)
	if !l.TooMany {
		_ = json.Unmarshal(raw, &l.Items)
	}
	return nil
}
