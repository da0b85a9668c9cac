package entra

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/punctual-llm/punctual/llm"
	"github.com/punctual-llm/punctual/providers/azure"
)

// DefaultScope is what a token is asked for: Azure OpenAI and Azure AI.
const DefaultScope = "https://cognitiveservices.azure.com/.default"

// Auth adds `auth: entra` to azure.Factory, with the keys tenant_id, client_id and scope as in [Options].
var Auth = azure.Auth{Name: "entra", Open: open}

func open(_ context.Context, s azure.AuthSettings) (azure.TokenSource, error) {
	return Token(&Options{TenantID: s.TenantID, ClientID: s.ClientID, Scope: s.Scope})
}

// Options choose the credential. The zero value, like nil, is the library's default: AZURE_TENANT_ID, AZURE_CLIENT_ID
// and AZURE_CLIENT_SECRET or a certificate; workload identity; managed identity; then what az, azd or PowerShell are
// logged in with. AZURE_TOKEN_CREDENTIALS=prod leaves the last three out.
type Options struct {
	// TenantID is the directory to ask. Empty is AZURE_TENANT_ID, or that of the login.
	TenantID string
	// ClientID is the application, or the user-assigned identity of this machine. With it only three credentials are
	// tried: its secret in AZURE_CLIENT_SECRET, workload identity where AZURE_FEDERATED_TOKEN_FILE is set, and else
	// managed identity. Empty is AZURE_CLIENT_ID.
	ClientID string
	// Scope is what a token is asked for; empty is [DefaultScope].
	Scope string
	// Authority is the https address of a private cloud's token service, which is then trusted without asking
	// Microsoft. Empty is AZURE_AUTHORITY_HOST, or the public cloud's.
	Authority string
	// HTTP makes the calls to the token service; nil is http.DefaultClient.
	HTTP *http.Client
	// Credential replaces all of the above but Scope.
	Credential azcore.TokenCredential
}

// Token returns a source of tokens for azure.Options.Token. It sends nothing. The source is safe for concurrent use,
// and returns when its context ends or soon after.
func Token(o *Options) (azure.TokenSource, error) {
	if o == nil {
		o = &Options{}
	}
	credential, err := o.credential()
	if err != nil {
		return nil, unusable(err)
	}
	request := policy.TokenRequestOptions{Scopes: []string{cmp.Or(o.Scope, DefaultScope)}}
	return func(ctx context.Context) (string, error) {
		token, err := credential.GetToken(ctx, request)
		switch {
		case err == nil:
			return token.Token, nil
		case ctx.Err() != nil: // whatever the library makes of it
			return "", ctx.Err()
		default:
			return "", failed(err)
		}
	}, nil
}

func (o *Options) credential() (azcore.TokenCredential, error) {
	client := azcore.ClientOptions{Transport: bounded{cmp.Or(o.HTTP, http.DefaultClient)}}
	if o.Authority != "" {
		client.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: o.Authority}
	}
	private := o.Authority != ""
	switch {
	case o.Credential != nil:
		return o.Credential, nil
	case o.ClientID == "":
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: client, DisableInstanceDiscovery: private, TenantID: o.TenantID,
		})
	case os.Getenv("AZURE_CLIENT_SECRET") != "":
		tenant := cmp.Or(o.TenantID, os.Getenv("AZURE_TENANT_ID"))
		if tenant == "" {
			return nil, llm.Invalid("tenant_id", "is empty", "set it, or AZURE_TENANT_ID")
		}
		return azidentity.NewClientSecretCredential(tenant, o.ClientID, os.Getenv("AZURE_CLIENT_SECRET"),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: client, DisableInstanceDiscovery: private})
	case os.Getenv("AZURE_FEDERATED_TOKEN_FILE") != "":
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: client, DisableInstanceDiscovery: private, TenantID: o.TenantID, ClientID: o.ClientID,
		})
	default:
		return azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{
			ClientOptions: client, ID: azidentity.ClientID(o.ClientID),
		})
	}
}

// bounded ends an answer that is far longer than one with a token: the library reads all of it into memory.
type bounded struct{ client *http.Client }

const maxAnswer = 1 << 20

// Do makes a call.
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	resp, err := b.client.Do(req) //nolint:gosec // the library's own request
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}
