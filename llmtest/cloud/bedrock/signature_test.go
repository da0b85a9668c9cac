package bedrock

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// sign signs r in place, as of a time and for a scope "region/service/terminal".
func sign(t *testing.T, r *http.Request, body, key, secret, scope string, at time.Time, headers ...string) {
	t.Helper()
	date := at.UTC().Format(timeFormat)
	r.Header.Set("X-Amz-Date", date)
	parts := strings.Split(scope, "/")
	s := signed{date: date[:8], region: parts[0], service: parts[1], terminal: parts[2], headers: headers}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	r.Header.Set("Authorization", algorithm+" Credential="+key+"/"+date[:8]+"/"+scope+
		", SignedHeaders="+strings.Join(headers, ";")+", Signature="+s.sign(r, secret, date, hexHash([]byte(body))))
}

// signedRequest has a good form and a signature that is none.
func signedRequest(key, signature string) request {
	date := time.Now().UTC().Format(timeFormat)
	return request{header: map[string]string{
		"X-Amz-Date": date,
		"Authorization": algorithm + " Credential=" + key + "/" + date[:8] +
			"/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + signature,
	}}
}

// TestSignatureVectors: signatures that AWS publishes in the test suite of signature version 4.
func TestSignatureVectors(t *testing.T) {
	const secret, date = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830T123600Z"
	for _, test := range []struct {
		name, method, target string
		header               http.Header
		body, headers        string
		want                 string
	}{
		{"get-vanilla", "GET", "/", nil, "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "/", nil, "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", nil, "", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-header-value-trim", "GET", "/", http.Header{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}}, "", "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
		{"get-header-key-duplicate", "GET", "/", http.Header{"My-Header1": {"value2", "value2", "value1"}}, "", "host;my-header1;x-amz-date", "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
		{"post-x-www-form-urlencoded", "POST", "/", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "Param1=value1", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		u, err := url.Parse("https://example.amazonaws.com" + test.target)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: test.method, URL: u, Host: u.Host, Header: http.Header{"X-Amz-Date": {date}}}
		for name, values := range test.header {
			r.Header[name] = values
		}
		s := signed{date: date[:8], region: "us-east-1", service: "service", terminal: "aws4_request", headers: strings.Split(test.headers, ";")}
		if got := s.sign(r, secret, date, hexHash([]byte(test.body))); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestCanonicalPath: the path is encoded once more than it is sent.
func TestCanonicalPath(t *testing.T) {
	for sent, want := range map[string]string{
		"/model/amazon.nova-pro-v1%3A0/converse": "/model/amazon.nova-pro-v1%253A0/converse",
		"/model/amazon.nova-pro-v1:0/converse":   "/model/amazon.nova-pro-v1%3A0/converse",
		"/model/arn%3Aaws%2Fx~y_z/converse":      "/model/arn%253Aaws%252Fx~y_z/converse",
		"":                                       "/",
	} {
		if got := encodePath(sent); got != want {
			t.Errorf("%s is %s, want %s", sent, got, want)
		}
	}
	if got := canonicalQuery("b=2&a=%20+&a=1&c"); got != "a=%20%20&a=1&b=2&c=" {
		t.Errorf("query %s", got)
	}
}

func TestSignatures(t *testing.T) {
	const scope = "eu-west-1/bedrock/aws4_request"
	const invalid, incomplete = "InvalidSignatureException", "IncompleteSignatureException"
	s := start(t, &Options{
		AccessKey: "AKID", SecretKey: "secret", SessionToken: "session", Region: "eu-west-1", Expired: []string{"old"},
	})
	now := time.Now()
	usual := []string{"content-length", "content-type", "host", "x-amz-date", "x-amz-security-token"}
	for _, test := range []struct {
		name        string
		key, secret string
		session     string
		scope       string
		at          time.Time
		headers     []string
		change      func(*http.Request) // after it is signed
		exception   string
		message     string // its beginning
	}{
		{name: "right"},
		{name: "another key", key: "AKID2", exception: "UnrecognizedClientException", message: "The security token included in the request is invalid."},
		{name: "another secret", secret: "x", exception: invalid, message: "The request signature we calculated does not match the signature you provided."},
		{name: "another session", session: "x", exception: "UnrecognizedClientException", message: "The security token included in the request is invalid."},
		{name: "an old session", session: "old", exception: "ExpiredTokenException", message: "The security token included in the request is expired"},
		{name: "another region", scope: "us-east-1/bedrock/aws4_request", exception: invalid, message: "Credential should be scoped to a valid region."},
		{name: "another service", scope: "eu-west-1/bedrock-runtime/aws4_request", exception: invalid, message: "Credential should be scoped to correct service: 'bedrock'."},
		{name: "another terminator", scope: "eu-west-1/bedrock/aws5_request", exception: invalid, message: "Credential should be scoped with a valid terminator: 'aws4_request'."},
		{name: "four minutes late", at: now.Add(-4 * time.Minute)},
		{name: "six minutes late", at: now.Add(-6 * time.Minute), exception: invalid, message: "Signature expired: " + now.Add(-6*time.Minute).UTC().Format(timeFormat) + " is now earlier than "},
		{name: "six minutes early", at: now.Add(6 * time.Minute), exception: invalid, message: "Signature not yet current: " + now.Add(6*time.Minute).UTC().Format(timeFormat) + " is still later than "},
		{name: "host not signed", headers: []string{"x-amz-date", "x-amz-security-token"}, exception: invalid, message: "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."},
		{name: "session not signed", headers: []string{"host", "x-amz-date"}, exception: invalid, message: "'x-amz-security-token' must be a 'SignedHeader' in the AWS Authorization."},
		{name: "body changed", change: func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 }, exception: invalid, message: "The request signature we calculated does not match"},
		{name: "header changed", change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, exception: invalid, message: "The request signature we calculated does not match"},
		{name: "path changed", change: func(r *http.Request) { r.URL.RawPath, r.URL.Path = "", "/model/amazon.nova-pro-v1:0/converse" }, exception: invalid, message: "The request signature we calculated does not match"},
		{name: "query added", change: func(r *http.Request) { r.URL.RawQuery = "a=1" }, exception: invalid, message: "The request signature we calculated does not match"},
		{name: "a wrong hash declared", change: func(r *http.Request) {
			r.Header.Set("X-Amz-Content-Sha256", hexHash(nil))
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "host;", "host;x-amz-content-sha256;", 1))
		}, exception: invalid, message: "The request signature we calculated does not match"},
		{name: "another day in the scope", change: func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "AKID/2", "AKID/1", 1))
		}, exception: invalid, message: "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '1"},
		{name: "no date", change: func(r *http.Request) { r.Header.Del("X-Amz-Date") }, exception: incomplete, message: "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."},
		{name: "parts missing", change: func(r *http.Request) { r.Header.Set("Authorization", algorithm+" Credential=AKID/x") }, exception: incomplete, message: "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter."},
		{name: "no scope", change: func(r *http.Request) {
			r.Header.Set("Authorization", algorithm+" Credential=AKID, SignedHeaders=host, Signature=x")
		}, exception: invalid, message: "Credential should be scoped with a valid terminator: 'aws4_request'."},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request{path: streamPath}.to(t, s).Request
			r.Header.Set("X-Amz-Security-Token", cmp.Or(test.session, "session"))
			at, headers := test.at, test.headers
			if at.IsZero() {
				at = now
			}
			if headers == nil {
				headers = usual
			}
			sign(t, r, hello, cmp.Or(test.key, "AKID"), cmp.Or(test.secret, "secret"), cmp.Or(test.scope, scope), at, headers...)
			if test.change != nil {
				test.change(r)
			}
			client := s.Client()
			defer client.CloseIdleConnections()
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := readAll(t, resp.Body)
			if test.exception == "" {
				if resp.StatusCode != 200 {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
				return
			}
			if got := messageOf(t, body); resp.StatusCode != 403 || exceptionOf(resp) != test.exception || !strings.HasPrefix(got, test.message) {
				t.Errorf("%d %s %q\nwant %s %q", resp.StatusCode, exceptionOf(resp), got, test.exception, test.message)
			}
		})
	}
}

// TestAnySignatureOfGoodForm: without a secret nothing can be compared, but the form counts.
func TestAnySignatureOfGoodForm(t *testing.T) {
	s := start(t, nil)
	if got := signedRequest("AKID", "any").to(t, s).Outcome(t); got.Status != 200 {
		t.Errorf("%+v", got)
	}
	if got := (request{header: bearer(algorithm + " Signature=x")}).to(t, s).Outcome(t); got.Status != 403 {
		t.Errorf("%+v", got)
	}
	s = start(t, &Options{AccessKey: "AKID"})
	if got := (request{header: bearer("Bearer x")}).to(t, s).Outcome(t); got.Status != 403 || got.Body != badToken {
		t.Errorf("a token where a signature is wanted: %+v", got)
	}
}
