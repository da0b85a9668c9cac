package bedrock_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/bedrock"
)

// TestCredentialsThatNoHeaderCarriesAreNamed: net/http would answer them with an error that looks like one of the network.
func TestCredentialsThatNoHeaderCarriesAreNamed(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(200, ok))
	for field, spoil := range map[string]func(c *aws.Credentials, tail string){
		"access_key_id":     func(c *aws.Credentials, tail string) { c.AccessKeyID += tail },
		"secret_access_key": func(c *aws.Credentials, tail string) { c.SecretAccessKey += tail },
		"session_token":     func(c *aws.Credentials, tail string) { c.SessionToken += tail },
	} {
		for _, tail := range []string{"\r\nX-Other: y", "\n", "\r", "\x00", "\x7f", "é", " "} {
			c := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: aSecret, SessionToken: aSession}
			spoil(&c, tail)
			p := s.provider(t, func(o *bedrock.Options) {
				o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil })
			})
			_, err := unary(t, p, hello())
			badField(t, err, llm.ErrAuth, field, "AKIDEXAMPLE", aSecret, aSession)
			_, _, err = stream(t, p, hello())
			badField(t, err, llm.ErrAuth, field, "AKIDEXAMPLE", aSecret, aSession)
		}
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

func TestARegionIsALabelOfAHost(t *testing.T) {
	for _, region := range []string{"-", "-us", "us-", "US", "us_east", "us.east", "us/east", strings.Repeat("a", 64)} {
		_, err := bedrock.New(&bedrock.Options{Region: region, Model: claude, BearerToken: "key"})
		badField(t, err, llm.ErrInvalid, "region", "us_east")
		t.Setenv("AWS_REGION", region)
		_, err = bedrock.New(&bedrock.Options{Model: claude, BearerToken: "key"})
		badField(t, err, llm.ErrInvalid, "region")
	}
	for _, region := range []string{"us-east-1", "us-gov-west-1", "r", strings.Repeat("a", 63)} {
		if _, err := bedrock.New(&bedrock.Options{Region: region, Model: claude, BearerToken: "key"}); err != nil {
			t.Errorf("%s: %v", region, err)
		}
	}
}

func TestARegionOfAProfileIsALabelOfAHost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	config := "[default]\nregion = elsewhere.example/\naws_access_key_id = AKIDFILE\naws_secret_access_key = s\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	p, err := bedrock.New(&bedrock.Options{Model: claude})
	if err != nil {
		t.Fatal(err)
	}
	_, err = unary(t, p, hello())
	badField(t, err, llm.ErrInvalid, "region", "elsewhere")
}

func TestATransportThatFailsIsAConnectionThatFails(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	s := serve(t, reply(200, ok))
	_, err := unary(t, s.provider(t, func(o *bedrock.Options) {
		o.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, lost })}
	}), hello())
	if e := failed(t, err, llm.ErrConnection); !e.NotSent || !errors.Is(err, lost) {
		t.Errorf("%+v", e)
	}
}
