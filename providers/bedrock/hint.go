package bedrock

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/punctual-llm/punctual/deadline"
)

// ownLimits keeps limits of our own from the service. Once the SDK has seen that the service's clock is ahead, it
// writes the end of a call's context into Amz-Sdk-Request, as a ttl. That header is signed, so it is changed here.
func ownLimits(stack *middleware.Stack) error {
	drop := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if req, ok := in.Request.(*smithyhttp.Request); ok && !deadline.Awaited(ctx) {
			if line, _, found := strings.Cut(req.Header.Get(sdkRequest), "; ttl="); found {
				req.Header.Set(sdkRequest, line)
			}
		}
		return next.HandleFinalize(ctx, in)
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("PunctualLimits", drop), (*retry.Attempt)(nil).ID(), middleware.After)
}

const sdkRequest = "Amz-Sdk-Request"
