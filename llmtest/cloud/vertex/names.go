package vertex

import (
	"slices"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// field is a field that the service knows. Without a descriptor it holds any JSON.
type field struct {
	name       string
	descriptor protoreflect.FieldDescriptor
	oneof      bool // one of the kinds of a part
}

func requestType() protoreflect.MessageDescriptor {
	return (&aiplatformpb.GenerateContentRequest{}).ProtoReflect().Descriptor()
}

// known reports whether messages of this type are taken apart. The others are passed as they are: their published
// definitions lag behind the service.
func known(md protoreflect.MessageDescriptor) bool {
	return slices.Contains([]protoreflect.Name{
		"GenerateContentRequest", "Content", "Part", "Blob", "FileData", "FunctionCall", "FunctionResponse", "Tool",
		"FunctionDeclaration", "Schema", "ToolConfig", "FunctionCallingConfig", "GenerationConfig", "ThinkingConfig",
		"SafetySetting",
	}, md.Name())
}

// newer are fields that the services know and the published definitions do not.
func newer(md protoreflect.Name) []string {
	return map[protoreflect.Name][]string{
		"GenerateContentRequest": {"serviceTier"},
		"Part":                   {"toolCall", "toolResponse", "mediaResolution", "partMetadata", "audioTranscription", "mediaProcessing"},
		"Blob":                   {"displayName"},
		"FileData":               {"displayName"},
		"FunctionResponse":       {"willContinue", "scheduling"},
		"FunctionDeclaration":    {"behavior"},
		"Tool":                   {"fileSearch", "mcpServers", "parallelAiSearch", "exaAiSearch"},
		"ToolConfig":             {"includeServerSideToolInvocations"},
		"ThinkingConfig":         {"thinkingLevel"},
		"GenerationConfig":       {"enableAffectiveDialog", "modelSelectionConfig"},
	}[md]
}

// absent are fields that one of the services does not know. That Vertex AI does not know those of ToolConfig and Tool
// is what SDKs say that leave them out.
func absent(geminiAPI bool, md protoreflect.Name) []string {
	if !geminiAPI {
		return map[protoreflect.Name][]string{
			"Tool":       {"fileSearch", "mcpServers"},
			"ToolConfig": {"includeServerSideToolInvocations"},
		}[md]
	}
	return map[protoreflect.Name][]string{
		"GenerateContentRequest": {"labels", "modelArmorConfig"},
		"Blob":                   {"displayName"},
		"FileData":               {"displayName"},
		"FunctionCall":           {"partialArgs", "willContinue"},
		"FunctionCallingConfig":  {"streamFunctionCallArguments"},
		"GenerationConfig":       {"routingConfig", "audioTimestamp", "modelConfig", "modelSelectionConfig"},
		"SafetySetting":          {"method"},
		"Schema":                 {"additionalProperties", "ref", "defs"},
		"Tool":                   {"retrieval", "enterpriseWebSearch", "parallelAiSearch", "exaAiSearch"},
	}[md]
}

// find is the field of that name, in camel case or in snake case; nil: there is none.
func (r *reader) find(md protoreflect.MessageDescriptor, name string) *field {
	f := &field{name: name}
	if d := md.Fields().ByJSONName(name); d != nil {
		f.descriptor = d
	} else {
		f.descriptor = md.Fields().ByTextName(name)
	}
	if f.descriptor != nil {
		f.name = f.descriptor.JSONName()
		one := f.descriptor.ContainingOneof()
		f.oneof = md.Name() == "Part" && one != nil && one.Name() == "data"
	} else {
		i := slices.IndexFunc(newer(md.Name()), func(s string) bool { return s == name || snake(s) == name })
		if i < 0 {
			return nil
		}
		f.name = newer(md.Name())[i]
		f.oneof = f.name == "toolCall" || f.name == "toolResponse"
	}
	if slices.Contains(absent(r.gemini, md.Name()), f.name) {
		return nil
	}
	return f
}
