package entra_test

import (
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// secretCredential is a service principal over a transport, without retries.
func secretCredential(transport http.RoundTripper) azcore.TokenCredential {
	c, err := azidentity.NewClientSecretCredential(tenant, client, secret, &azidentity.ClientSecretCredentialOptions{
		DisableInstanceDiscovery: true,
		ClientOptions: azcore.ClientOptions{
			Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: "https://authority.test"},
			Retry: policy.RetryOptions{MaxRetries: -1}, Transport: &http.Client{Transport: transport},
		},
	})
	if err != nil {
		panic(err) // the settings above are right
	}
	return c
}
