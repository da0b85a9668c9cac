package bedrock

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// canonical is a request in the form of which signature version 4 signs the hash.
func canonical(r *http.Request, headers []string, payload string) string {
	lines := []string{r.Method, encodePath(r.URL.EscapedPath()), canonicalQuery(r.URL.RawQuery)}
	for _, name := range headers {
		lines = append(lines, name+":"+headerText(r, name))
	}
	return strings.Join(append(lines, "", strings.Join(headers, ";"), payload), "\n")
}

// headerText is the value of a signed header, with runs of blanks made one and several values joined. Some that
// net/http keeps apart are looked up where it keeps them.
func headerText(r *http.Request, name string) string {
	var values []string
	switch name {
	case "host", ":authority": // the latter is what clients over HTTP/2 sign
		values = []string{r.Host}
	case "content-length":
		values = []string{strconv.FormatInt(max(0, r.ContentLength), 10)}
	default:
		values = r.Header.Values(name)
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strings.Join(strings.Fields(v), " ")
	}
	return strings.Join(all, ",")
}

// encodePath encodes the path once more than it is on the wire, as every service but S3 wants it.
func encodePath(escaped string) string {
	if escaped == "" {
		return "/"
	}
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		segments[i] = encode3986(segment)
	}
	return strings.Join(segments, "/")
}

// canonicalQuery sorts the parameters by their encoded names, then values.
func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	var pairs []string
	for item := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(item, "=")
		name, _ = url.QueryUnescape(name)
		value, _ = url.QueryUnescape(value)
		pairs = append(pairs, encode3986(name)+"="+encode3986(value))
	}
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, valueA, _ := strings.Cut(a, "=")
		nameB, valueB, _ := strings.Cut(b, "=")
		if nameA != nameB {
			return strings.Compare(nameA, nameB)
		}
		return strings.Compare(valueA, valueB)
	})
	return strings.Join(pairs, "&")
}

// encode3986 encodes all but the unreserved characters of RFC 3986.
func encode3986(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}
