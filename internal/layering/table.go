package layering

import "fmt"

// Layer is the height of a package. A package imports lower ones only.
type Layer int

// The layers of docs/design.md. A step above one of them (L1 + 1) orders the few
// packages that build on a neighbour of their own layer.
const (
	L0 Layer = 10 * iota // the vocabulary and the deadline: standard library only
	L1                   // one job each: providers, policy, breaker, fakes
	L2                   // what puts these together, and their optional parts
	L3                   // configuration and telemetry
	L4                   // the root: everything in one Open
	L5                   // commands, and tests over the whole
)

// String is the layer as docs/design.md writes it: "L1", "L1+1".
func (l Layer) String() string {
	if step := l % 10; step != 0 {
		return fmt.Sprintf("L%d+%d", l/10, step)
	}
	return fmt.Sprintf("L%d", l/10)
}

// Row says what the packages of one path may import besides the standard library.
type Row struct {
	// Path is a folder from the module's root, "." the root itself. An element
	// may be "*", which stands for any one name. An exact row goes before a
	// pattern, an earlier pattern before a later one.
	Path  string
	Layer Layer
	// Ours lists packages of this module by folder. "x/..." is x and all below
	// it, "..." is every package; of these only the ones in lower layers count.
	Ours []string
	// Third lists packages of other modules by import path, "x/..." as in Ours.
	Third []string
	// Tests says what test files may import beyond Ours and Third.
	Tests Tests
}

// Tests widens a row for test files. Zero is the rule for every package that
// users import: its tests add the helpers in [testHelpers] and nothing else.
type Tests struct {
	// Free is for folders that nobody imports: their tests use all our packages.
	Free bool
	// Third lists packages of other modules that only the tests need.
	Third []string
}

// testHelpers are what every test may import: fakes, the conformance suite and
// internal helpers. Simulated clouds are not among them; tests that need those
// live in providers/ itself and in llmtest/cases.
var testHelpers = struct{ ours, third []string }{
	ours:  []string{"llmtest", "llmtest/conformance", "internal/..."},
	third: []string{"go.uber.org/goleak"},
}

// nested are the folders that are modules of their own, which no package of this
// one may import.
var nested = []string{"examples", "bench", "tools"}

// The SDKs of the three clouds, for the adapters and for tests over all of them.
var (
	azureSDK   = []string{"github.com/sashabaranov/go-openai"}
	bedrockSDK = []string{"github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/..."}
	genaiSDK   = []string{"google.golang.org/genai", "cloud.google.com/go/auth/...", "golang.org/x/oauth2/..."}
	grpcStack  = []string{
		"google.golang.org/grpc/...",
		"google.golang.org/protobuf/...",
		"google.golang.org/genproto/...",
		"cloud.google.com/go/aiplatform/...",
	}
	vertexaiSDK = append([]string{
		"cloud.google.com/go/vertexai/...",
		"github.com/googleapis/gax-go/v2/...",
		"golang.org/x/oauth2/...",
		"google.golang.org/api/...",
	}, grpcStack...)
)

// wholeStack is what tests over all providers need from others.
func wholeStack() []string {
	var all []string
	for _, sdk := range [][]string{azureSDK, bedrockSDK, genaiSDK, vertexaiSDK} {
		all = append(all, sdk...)
	}
	return all
}

// Table is the module's layers, lowest first. docs/design.md gives the reasons.
var Table = []Row{
	// L0: the vocabulary and the deadline.
	{Path: "llm", Layer: L0},
	{Path: "deadline", Layer: L0},

	// Between L0 and L1: code shared by two or more packages.
	{Path: "internal/sse", Layer: L0 + 1},
	{Path: "internal/layering", Layer: L0 + 1},
	{Path: "internal/httpx", Layer: L0 + 2, Ours: []string{"internal/sse"}},
	{Path: "internal/cloud", Layer: L1 + 1, Ours: []string{"llm", "llmtest"}, Tests: Tests{Free: true}},
	{Path: "internal/cloudtest", Layer: L1 + 2, Ours: []string{"llm", "llmtest", "internal/cloud"}, Tests: Tests{Free: true}},
	{Path: "internal/gemini", Layer: L0 + 2, Ours: []string{"llm", "deadline", "internal/bounds", "internal/splice"}, Tests: Tests{Free: true}},
	{Path: "internal/network", Layer: L0 + 3, Ours: []string{"llm", "internal/httpx"}, Tests: Tests{Free: true}},
	{Path: "internal/hint", Layer: L0 + 1, Ours: []string{"llm", "deadline"}, Tests: Tests{Free: true}},
	{Path: "internal/*", Layer: L0 + 1, Ours: []string{"llm"}, Tests: Tests{Free: true}},

	// L1: one job each.
	{Path: "llm/typed", Layer: L1, Ours: []string{"llm"}, Third: []string{"github.com/google/jsonschema-go/..."}},
	{Path: "policy", Layer: L1, Ours: []string{"llm", "deadline"}},
	{Path: "breaker", Layer: L1, Third: []string{"github.com/sony/gobreaker/v2"}},
	{Path: "llmtest", Layer: L1, Ours: []string{"llm"}},
	{Path: "llmtest/conformance", Layer: L1 + 1, Ours: []string{"llm", "llmtest"}},
	{Path: "deadline/grpcdeadline", Layer: L1, Ours: []string{"deadline"}, Third: []string{"google.golang.org/grpc/..."}},
	provider("providers/azure", azureSDK...),
	provider("providers/bedrock", bedrockSDK...),
	provider("providers/vertex", genaiSDK...),
	provider("providers/*"), // over HTTP alone; one that has an SDK adds its row

	// L2: the one loop, the simulated clouds, the optional parts.
	{Path: "fallback", Layer: L2, Ours: []string{"llm", "deadline", "policy", "breaker"}},
	cloud("llmtest/cloud/azure"),
	cloud("llmtest/cloud/bedrock", "github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/..."),
	cloud("llmtest/cloud/vertex", grpcStack...),
	cloud("llmtest/cloud/*"),
	{
		Path: "breaker/redis", Layer: L2,
		Ours:  []string{"breaker", "llm", "deadline", "internal/..."},
		Third: []string{"github.com/redis/go-redis/v9/..."},
		Tests: Tests{Third: []string{"github.com/alicebob/miniredis/v2/..."}},
	},
	part("providers/azure/entra", "providers/azure",
		"github.com/Azure/azure-sdk-for-go/sdk/azidentity/...", "github.com/Azure/azure-sdk-for-go/sdk/azcore/..."),
	part("providers/vertex/vertexai", "providers/vertex", vertexaiSDK...),

	// L3: configuration and telemetry.
	{
		Path: "config", Layer: L3,
		Ours:  []string{"llm", "deadline", "policy", "breaker", "fallback"},
		Third: []string{"github.com/goccy/go-yaml/..."},
	},
	{Path: "telemetry", Layer: L3, Ours: []string{"llm", "fallback"}},
	{
		Path: "telemetry/otel", Layer: L3 + 1,
		Ours: []string{"llm", "fallback", "telemetry"},
		Third: []string{ // the API; the SDK is the application's choice
			"go.opentelemetry.io/otel",
			"go.opentelemetry.io/otel/attribute",
			"go.opentelemetry.io/otel/codes",
			"go.opentelemetry.io/otel/metric/...",
			"go.opentelemetry.io/otel/propagation",
			"go.opentelemetry.io/otel/semconv/...",
			"go.opentelemetry.io/otel/trace/...",
		},
		Tests: Tests{Third: []string{"go.opentelemetry.io/otel/sdk/..."}},
	},

	// L4: the root, and L5: what stands on it.
	{Path: ".", Layer: L4, Ours: []string{"..."}, Tests: Tests{Free: true}},
	{Path: "cmd/punctual", Layer: L5, Ours: []string{"..."}, Third: []string{
		"github.com/urfave/cli/v3",
		"github.com/aws/aws-sdk-go-v2/aws", // the type of credentials, for the demo's account
	}, Tests: Tests{Free: true}},
	{Path: "cmd/punctual/internal/*", Layer: L4 + 1, Ours: []string{"..."}, Tests: Tests{Free: true}},

	// Folders of tests that nobody imports.
	{Path: "providers", Layer: L5, Ours: []string{"..."}, Tests: Tests{Free: true, Third: wholeStack()}},
	{Path: "llmtest/cases", Layer: L5, Ours: []string{"..."}, Tests: Tests{Free: true, Third: wholeStack()}},
	{Path: "integration", Layer: L5, Ours: []string{"..."}, Tests: Tests{Free: true, Third: wholeStack()}},
	{Path: "integration/config", Layer: L5, Ours: []string{"..."}, Tests: Tests{Free: true, Third: append([]string{
		"github.com/goccy/go-yaml/...", "github.com/google/jsonschema-go/...",
	}, wholeStack()...)}},
	{Path: "integration/*", Layer: L5, Ours: []string{"..."}, Tests: Tests{Free: true, Third: wholeStack()}},
}

// provider is the row of an adapter.
func provider(path string, sdk ...string) Row {
	return Row{Path: path, Layer: L1, Ours: []string{"llm", "deadline", "internal/..."}, Third: sdk}
}

// cloud is the row of a simulated cloud.
func cloud(path string, third ...string) Row {
	return Row{Path: path, Layer: L2, Ours: []string{"llm", "llmtest", "internal/..."}, Third: third}
}

// part is the row of an optional part of an adapter, which the adapter never
// imports: its factory takes it by value.
func part(path, parent string, third ...string) Row {
	return Row{Path: path, Layer: L2, Ours: []string{parent, "llm", "deadline", "internal/..."}, Third: third}
}
