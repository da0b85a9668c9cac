package config

import (
	"reflect"
)

// ownerOf is the section that a key belongs to, "" if there is none or more than one.
func ownerOf(key string) string {
	owner := ""
	for _, s := range []struct {
		name string
		t    reflect.Type
	}{
		{"plans.NAME", reflect.TypeFor[FilePlan]()}, {"retry", reflect.TypeFor[FileRetry]()},
		{"breaker", reflect.TypeFor[FileBreaker]()}, {"the top of the file", reflect.TypeFor[File]()},
	} {
		all, _ := fields(s.t)
		for _, f := range all {
			if f.name == key {
				if owner != "" {
					return ""
				}
				owner = s.name
			}
		}
	}
	return owner
}
