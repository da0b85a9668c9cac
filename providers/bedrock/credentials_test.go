package bedrock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// expired is how the service refuses credentials that are too old.
var expired = reply(403, `{"message":"The security token included in the request is expired"}`, "X-Amzn-Errortype", "ExpiredTokenException")

// source is a source of credentials that counts.
type source struct {
	n    atomic.Int32
	next func(n int32) (aws.Credentials, error)
}

func (s *source) Retrieve(context.Context) (aws.Credentials, error) { return s.next(s.n.Add(1)) }

// fresh gives out other keys each time.
func fresh() *source {
	return &source{next: func(n int32) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: fmt.Sprint("AKID", n), SecretAccessKey: "s", SessionToken: "t"}, nil
	}}
}

func with(c aws.CredentialsProvider) func(*bedrock.Options) {
	return func(o *bedrock.Options) { o.Credentials = c }
}

func TestRequestsAreSigned(t *testing.T) {
	t.Parallel()
	got, _ := sent(t, hello(), with(fresh()))
	h := got.Header
	if a := h.Get("Authorization"); !strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKID1/") || !strings.Contains(a, "/us-east-1/bedrock/aws4_request") {
		t.Errorf("%q", a)
	}
	if h.Get("X-Amz-Security-Token") != "t" || h.Get("X-Amz-Date") == "" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
}

func TestCredentialsAreKeptUntilTheyExpire(t *testing.T) {
	t.Parallel()
	src := fresh()
	s := serve(t, reply(200, ok))
	p := s.provider(t, with(src))
	for range 3 {
		if _, err := unary(t, p, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if n := src.n.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestExpiredCredentialsAreRenewedOnce(t *testing.T) {
	t.Parallel()
	same := &source{next: func(int32) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKID1", SecretAccessKey: "s"}, nil
	}}
	fails := &source{next: func(n int32) (aws.Credentials, error) {
		if n > 1 {
			return aws.Credentials{}, errors.New("no more")
		}
		return aws.Credentials{AccessKeyID: "AKID1", SecretAccessKey: "s"}, nil
	}}
	second := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Authorization"), "Credential=AKID1/") {
			expired(w, r)
			return
		}
		reply(200, ok)(w, r)
	}
	for name, c := range map[string]struct {
		source   *source
		handle   http.HandlerFunc
		requests int
		kind     llm.Kind
	}{
		"others are there":       {fresh(), second, 2, ""},
		"the new ones too":       {fresh(), expired, 2, llm.ErrAuth},
		"the same":               {same, expired, 1, llm.ErrAuth},
		"the source fails":       {fails, expired, 1, llm.ErrAuth},
		"refused, but not stale": {fresh(), reply(403, `{"message":"x"}`, "X-Amzn-Errortype", "AccessDeniedException"), 1, llm.ErrAuth},
	} {
		s := serve(t, c.handle)
		_, err := unary(t, s.provider(t, with(c.source)), hello())
		if llm.KindOf(err) != c.kind || len(s.Requests()) != c.requests {
			t.Errorf("%s: %d requests, %+v", name, len(s.Requests()), err)
		}
	}
}

func TestAWrongClockIsSetRightOnce(t *testing.T) {
	t.Parallel()
	for skew, want := range map[time.Duration]int{0: 1, time.Hour: 2} {
		s := serve(t, nil)
		s.Config.Handler = http.HandlerFunc(nil)
		date := time.Now().Add(skew).UTC()
		var dates []string
		s = serve(t, func(w http.ResponseWriter, r *http.Request) {
			dates = append(dates, r.Header.Get("X-Amz-Date"))
			w.Header().Set("Date", date.Format(http.TimeFormat))
			if len(dates) == 1 {
				reply(403, `{"message":"Signature expired"}`, "X-Amzn-Errortype", "InvalidSignatureException")(w, r)
				return
			}
			reply(200, ok)(w, r)
		})
		_, err := unary(t, s.provider(t), hello())
		if len(s.Requests()) != want || want == 1 != (llm.KindOf(err) == llm.ErrAuth) {
			t.Errorf("%v: %d requests, %v", skew, len(s.Requests()), err)
		}
		if want == 2 {
			second, err := time.Parse("20060102T150405Z", dates[1])
			if err != nil || second.Sub(date).Abs() > time.Minute {
				t.Errorf("the second request was signed for %v, the service's clock says %v", second, date)
			}
		}
	}
}

func TestNoCredentialsIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	broken := &source{next: func(int32) (aws.Credentials, error) { return aws.Credentials{}, errors.New("secret words") }}
	empty := &source{next: func(int32) (aws.Credentials, error) { return aws.Credentials{}, nil }}
	for name, c := range map[string]aws.CredentialsProvider{
		"the source fails": broken, "it gives nothing": empty, "nobody": aws.AnonymousCredentials{}, "a nil one": (*aws.CredentialsCache)(nil), "the chain": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reply(200, ok))
			for range 2 {
				_, err := unary(t, s.provider(t, with(c)), hello())
				badField(t, err, llm.ErrAuth, "credentials", "secret words")
				for _, want := range []string{"auth (no_credentials): credentials: none could be had (", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID and _SECRET_ACCESS_KEY"} {
					if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "refused") {
						t.Errorf("no %q in %v", want, err)
					}
				}
				if len(s.Requests()) != 0 {
					t.Error("something was sent")
				}
			}
		})
	}
}

// A source that hangs holds no call beyond its context.
func TestASourceThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	s := serve(t, reply(200, ok))
	p := s.provider(t, with(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		<-release
		return aws.Credentials{}, errors.New("late")
	})))
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := p.Generate(ctx, hello(), nil)
		cancel()
		if e := failed(t, err, llm.ErrDeadlineExceeded); !e.NotSent || len(s.Requests()) != 0 {
			t.Errorf("%+v", e)
		}
	}
}

func TestTheStandardChain(t *testing.T) {
	s := serve(t, reply(200, ok))
	file := filepath.Join(t.TempDir(), "credentials")
	config := "[default]\nregion = eu-west-1\naws_access_key_id = AKIDFILE\naws_secret_access_key = s\n" +
		"[other]\nregion = eu-west-2\naws_access_key_id = AKIDOTHER\naws_secret_access_key = s\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	chain := func(o *bedrock.Options) { o.Credentials, o.Region = nil, "" }
	for name, c := range map[string]struct {
		change func(*bedrock.Options)
		env    map[string]string
		want   string
	}{
		"the default profile": {func(*bedrock.Options) {}, nil, "Credential=AKIDFILE/"},
		"a profile":           {func(o *bedrock.Options) { o.Profile = "other" }, nil, "Credential=AKIDOTHER/"},
		"the environment":     {func(*bedrock.Options) {}, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "s"}, "Credential=AKIDENV/"},
		"the region of an ARN": {func(o *bedrock.Options) {
			o.Model = "arn:aws:bedrock:ap-south-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5"
		}, nil, "/ap-south-1/"},
		"the region of the environment": {func(*bedrock.Options) {}, map[string]string{"AWS_REGION": "sa-east-1"}, "/sa-east-1/"},
		"a bearer token of the environment": {
			func(o *bedrock.Options) { o.Region = "us-east-1" }, map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "key-1"}, "Bearer key-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			p := s.provider(t, chain, c.change)
			if _, err := unary(t, p, hello()); err != nil {
				t.Fatal(err)
			}
			if got := s.Last(t).Header.Get("Authorization"); !strings.Contains(got, c.want) {
				t.Errorf("%q has no %q", got, c.want)
			}
		})
	}
	t.Run("no region", func(t *testing.T) {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "region", "#")), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := unary(t, s.provider(t, chain), hello())
		badField(t, err, llm.ErrNotFound, "region")
	})
	t.Run("a profile that is not there", func(t *testing.T) {
		_, err := unary(t, s.provider(t, chain, func(o *bedrock.Options) { o.Profile = "secretname" }), hello())
		badField(t, err, llm.ErrAuth, "profile", "secretname")
		if e := failed(t, err, llm.ErrAuth); e.Code != "no_profile" || !e.NotSent || !strings.Contains(err.Error(), "profile: does not exist") {
			t.Errorf("%+v", err)
		}
		t.Setenv("AWS_PROFILE", "secretname")
		_, err = unary(t, s.provider(t, chain), hello())
		badField(t, err, llm.ErrAuth, "profile", "secretname")
	})
}

// The SDK lets the environment's token go before credentials that were given.
func TestExplicitCredentialsGoBeforeTheEnvironment(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "key-1")
	got, _ := sent(t, hello())
	if a := got.Header.Get("Authorization"); !strings.Contains(a, "Credential=AKIDEXAMPLE/") {
		t.Errorf("%q", a)
	}
	got, _ = sent(t, hello(), func(o *bedrock.Options) { o.Credentials, o.BearerToken = nil, "key-2" })
	if a := got.Header.Values("Authorization"); len(a) != 1 || a[0] != "Bearer key-2" {
		t.Errorf("%q", a)
	}
}

func TestABearerTokenIsNotRenewed(t *testing.T) {
	t.Parallel()
	s := serve(t, expired)
	_, err := unary(t, s.provider(t, func(o *bedrock.Options) { o.Credentials, o.BearerToken = nil, "key-2" }), hello())
	if e := failed(t, err, llm.ErrAuth); len(s.Requests()) != 1 || strings.Contains(fmt.Sprintf("%+v", e), "key-2") {
		t.Errorf("%d requests, %+v", len(s.Requests()), e)
	}
}

// TestTheSearchForCredentialsPrintsNothing: AWS's own logger writes warnings to the program's stderr, of a metadata
// service that refuses for one.
func TestTheSearchForCredentialsPrintsNothing(t *testing.T) { //nolint:paralleltest // it replaces os.Stderr
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	p, err := bedrock.New(&bedrock.Options{Region: "us-east-1", Model: "m"})
	if err == nil {
		_, err = p.Generate(t.Context(), hello(), nil)
	}
	os.Stderr = stderr
	if !errors.Is(err, llm.ErrAuth) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(w.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	if printed, err := io.ReadAll(r); err != nil || len(printed) > 0 {
		t.Errorf("%v, printed %s", err, printed)
	}
}
