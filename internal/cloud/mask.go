package cloud

import (
	"net/http"
	"slices"
	"strings"
)

// secretHeaders and secretParams carry credentials in one cloud or another, in lower case.
func secretHeaders() []string {
	return []string{
		"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie",
		"x-amz-security-token", "ocp-apim-subscription-key",
	}
}

func secretParams() []string {
	return []string{"key", "api-key", "api_key", "access_token", "x-amz-signature", "x-amz-security-token", "x-amz-credential"}
}

// maskHeader copies h and keeps of a credential no more than its scheme: "Bearer ***".
func maskHeader(h http.Header) http.Header {
	h = h.Clone()
	for name, values := range h {
		if !slices.Contains(secretHeaders(), strings.ToLower(name)) {
			continue
		}
		for i, v := range values {
			values[i] = "***"
			if scheme, _, ok := strings.Cut(v, " "); ok && strings.HasSuffix(strings.ToLower(name), "authorization") {
				values[i] = scheme + " ***"
			}
		}
	}
	return h
}

// maskQuery hides the values of parameters that carry credentials and leaves the rest as it was sent.
func maskQuery(raw string) string {
	params := strings.Split(raw, "&")
	for i, p := range params {
		if name, _, ok := strings.Cut(p, "="); ok && slices.Contains(secretParams(), strings.ToLower(name)) {
			params[i] = name + "=***"
		}
	}
	return strings.Join(params, "&")
}
