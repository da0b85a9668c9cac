package bedrock

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
	maxSkew    = 5 * time.Minute
)

// signed is what an Authorization header of signature version 4 says.
type signed struct {
	accessKey, date, region, service, terminal string
	headers                                    []string
	signature                                  string
}

// parseAuthorization reads the header; missing are the parts that it lacks.
func parseAuthorization(header string) (s signed, missing []string) {
	_, rest, _ := strings.Cut(header, " ")
	parts := map[string]string{}
	for item := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		parts[name] = value
	}
	for _, name := range []string{"Credential", "Signature", "SignedHeaders"} {
		if parts[name] == "" {
			missing = append(missing, name)
		}
	}
	scope := strings.Split(parts["Credential"], "/")
	if n := len(scope); n >= 5 { // an access key may have slashes, the rest has none
		s.accessKey = strings.Join(scope[:n-4], "/")
		s.date, s.region, s.service, s.terminal = scope[n-4], scope[n-3], scope[n-2], scope[n-1]
	}
	s.headers = strings.Split(parts["SignedHeaders"], ";")
	s.signature = parts["Signature"]
	return s, missing
}

// checkSignature verifies a request as AWS does: form, time, scope, key, token, signature. The texts are those of
// AWS's services in general, of which those for time and signature are reported for this one.
func (s *Server) checkSignature(c *call) *refusal {
	r := c.x.R
	authorization := r.Header.Get("Authorization")
	if !strings.HasPrefix(authorization, algorithm+" ") {
		return except("IncompleteSignatureException", "Unsupported AWS 'algorithm'")
	}
	sig, missing := parseAuthorization(authorization)
	if len(missing) > 0 {
		var text strings.Builder
		for _, name := range missing {
			text.WriteString("Authorization header requires '" + name + "' parameter. ")
		}
		return except("IncompleteSignatureException", strings.TrimSpace(text.String()))
	}
	date := r.Header.Get("X-Amz-Date")
	for _, test := range []func() *refusal{
		func() *refusal { return checkTime(date, time.Now()) },
		func() *refusal { return sig.checkScope(date, s.opts.Region) },
		func() *refusal { return sig.checkHeaders(r.Header) },
		func() *refusal { return s.checkKey(sig, r.Header.Get("X-Amz-Security-Token")) },
	} {
		if no := test(); no != nil {
			return no
		}
	}
	return s.compare(c, sig, date)
}

func checkTime(date string, now time.Time) *refusal {
	at, err := time.Parse(timeFormat, date)
	if err != nil {
		return except("IncompleteSignatureException",
			"Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	}
	now = now.UTC()
	early, late := now.Add(-maxSkew), now.Add(maxSkew)
	stamp := now.Format(timeFormat)
	switch {
	case at.Before(early):
		return except("InvalidSignatureException",
			"Signature expired: "+date+" is now earlier than "+early.Format(timeFormat)+" ("+stamp+" - 5 min.)")
	case at.After(late):
		return except("InvalidSignatureException",
			"Signature not yet current: "+date+" is still later than "+late.Format(timeFormat)+" ("+stamp+" + 5 min.)")
	default:
		return nil
	}
}

func (s *signed) checkScope(date, region string) *refusal {
	switch {
	case s.terminal != "aws4_request":
		return except("InvalidSignatureException", "Credential should be scoped with a valid terminator: 'aws4_request'.")
	case s.date != date[:8]:
		return except("InvalidSignatureException", "Date in Credential scope does not match YYYYMMDD from ISO-8601 "+
			"version of date from HTTP: '"+s.date+"' != '"+date[:8]+"', from '"+date+"'.")
	case s.service != "bedrock":
		return except("InvalidSignatureException", "Credential should be scoped to correct service: 'bedrock'.")
	case s.region == "" || region != "" && s.region != region:
		return except("InvalidSignatureException", "Credential should be scoped to a valid region.")
	default:
		return nil
	}
}

// checkHeaders: the host and every header of AWS's own must be signed.
func (s *signed) checkHeaders(h http.Header) *refusal {
	if !slices.Contains(s.headers, "host") && !slices.Contains(s.headers, ":authority") {
		return except("InvalidSignatureException",
			"'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	for name := range h {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-amz-") && !slices.Contains(s.headers, name) {
			return except("InvalidSignatureException", "'"+name+"' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	return nil
}

// checkKey compares the names of key and session, and looks whether the session is over.
func (s *Server) checkKey(sig signed, session string) *refusal {
	switch {
	case session != "" && slices.Contains(s.opts.Expired, session):
		return except("ExpiredTokenException", "")
	case !s.accepts(sig.accessKey, s.opts.AccessKey),
		s.opts.SessionToken != "" && session != s.opts.SessionToken:
		return except("UnrecognizedClientException", "")
	default:
		return nil
	}
}

// compare signs the request anew. A payload hash that the client declares must be the right one.
func (s *Server) compare(c *call, sig signed, date string) *refusal {
	payload := hexHash(c.x.Body)
	if declared := c.x.R.Header.Get("X-Amz-Content-Sha256"); declared != "" && declared != payload {
		return except("InvalidSignatureException", "")
	}
	if s.opts.SecretKey == "" {
		return nil
	}
	want := sig.sign(c.x.R, s.opts.SecretKey, date, payload)
	if subtle.ConstantTimeCompare([]byte(want), []byte(sig.signature)) != 1 {
		return except("InvalidSignatureException", "")
	}
	return nil
}

// sign is the signature that the scope and the headers of s ask for.
func (s *signed) sign(r *http.Request, secret, date, payload string) string {
	scope := []string{s.date, s.region, s.service, s.terminal}
	text := strings.Join([]string{
		algorithm, date, strings.Join(scope, "/"), hexHash([]byte(canonical(r, s.headers, payload))),
	}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope {
		key = keyed(key, part)
	}
	return hex.EncodeToString(keyed(key, text))
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
