package entra

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/punctual-llm/punctual/internal/secret"
	"github.com/punctual-llm/punctual/llm"
)

// Codes of a token that could not be had.
const (
	codeNone    = "no_credentials"
	codeRefused = "no_token"
	codeService = "token_service"
)

// unusable is for settings that the library refuses before anything is sent.
func unusable(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	return &llm.Error{Kind: llm.ErrInvalid, NotSent: true, Err: because(err, llm.FieldError{
		Field: "auth", Problem: "Entra ID's library refuses it",
		Next: "see tenant_id, client_id, AZURE_AUTHORITY_HOST (https), AZURE_TOKEN_CREDENTIALS",
	})}
}

// failed is the error of a token that could not be had.
func failed(err error) error {
	refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err)
	switch {
	case ok && refused.RawResponse != nil && passing(refused.RawResponse.StatusCode):
		return &llm.Error{Kind: llm.ErrUnavailable, Code: codeService, NotSent: true, Err: secret.Cause(err)}
	case ok && refused.RawResponse != nil:
		return &llm.Error{Kind: llm.ErrAuth, Code: codeRefused, NotSent: true, Err: because(err, llm.FieldError{
			Field: "credentials", Problem: "were refused by Entra ID" + word(refused.RawResponse),
			Next: "check AZURE_TENANT_ID, AZURE_CLIENT_ID and its secret",
		})}
	case network(err):
		return &llm.Error{Kind: llm.ErrConnection, Code: codeService, NotSent: true, Err: secret.Cause(err)}
	default:
		return &llm.Error{Kind: llm.ErrAuth, Code: codeNone, NotSent: true, Err: because(err, llm.FieldError{
			Field: "credentials", Problem: "none were found",
			Next: "run az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
		})}
	}
}

// because adds the cause to what a person reads. The library's text quotes whole answers, so it is kept behind.
func because(err error, field llm.FieldError) error { return errors.Join(&field, secret.Cause(err)) }

// passing reports whether the status of the token service will change by itself.
func passing(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// network reports whether the token service was not reached, or not heard to the end. The library makes a text of
// most causes, so its words are looked at, too.
func network(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*url.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return true
	}
	if _, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); !ok {
		return false
	}
	text := err.Error()
	for _, sign := range []string{"dial tcp", "no such host", "connection re", "EOF", "tls: ", "x509: ", "i/o timeout"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// word is Entra ID's own word for a refusal, such as " (invalid_client)", "" if there is none.
func word(resp *http.Response) string {
	body, err := runtime.Payload(resp)
	if err != nil {
		return ""
	}
	var reply struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &reply) != nil || reply.Error == "" || len(reply.Error) > 40 ||
		strings.Trim(reply.Error, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return " (" + reply.Error + ")"
}
