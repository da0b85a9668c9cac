package entra_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/punctual-llm/punctual/providers/azure"
	"github.com/punctual-llm/punctual/providers/azure/entra"
)

// A program of your own adds the word entra to the targets of provider azure; the root package does it by itself.
func ExampleAuth() {
	settings := func(into any) error { // what package config hands over of a target
		return json.Unmarshal([]byte(`{"endpoint": "https://my-resource.openai.azure.com", "deployment": "gpt-4o", "auth": "entra"}`), into)
	}
	endpoint, err := azure.Factory(entra.Auth)(context.Background(), settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(endpoint.Model)
	// Output: azure/gpt-4o
}
