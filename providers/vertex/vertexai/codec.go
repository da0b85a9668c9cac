package vertexai

import (
	"errors"

	"cloud.google.com/go/aiplatform/apiv1beta1/aiplatformpb"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/punctual-llm/punctual/internal/bounds"
)

// incoming is a message that is received, and what is wrong with it: gRPC would tell that in words only, which a
// service can use as well.
type incoming struct {
	message aiplatformpb.GenerateContentResponse
	problem string // the code of the error; "": none
}

var errUnreadable = errors.New("vertexai: the message cannot be read")

// codec is gRPC's own, but for answers.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Name is empty, so that the content type on the wire is the one without it: application/grpc.
func (codec) Name() string { return "" }

// Unmarshal counts before it decodes: two bytes on the wire can be a hundred in memory.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	raw := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer raw.Free()
	left := maxElements
	if !count(raw.ReadOnlyData(), in.message.ProtoReflect().Descriptor(), &left) {
		in.problem = string(bounds.TooLarge)
		return errUnreadable
	}
	if proto.Unmarshal(raw.ReadOnlyData(), &in.message) != nil {
		in.problem = malformed
		return errUnreadable
	}
	return nil
}

// maxElements bounds the messages inside a message together with the elements of its lists. The likeliest ones beyond
// [bounds.Parts] are the odds of tokens: twenty for each.
const maxElements = 8 * bounds.Parts

// count takes the elements of a message off left, and reports whether there were that many. What is malformed is left
// to who decodes.
func count(raw []byte, of protoreflect.MessageDescriptor, left *int) bool {
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return true
		}
		raw = raw[n:]
		if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
			return true
		}
		value := raw[:n]
		raw = raw[n:]
		field := of.Fields().ByNumber(number)
		if field == nil || field.Message() == nil && !field.IsList() {
			continue
		}
		*left--
		if kind == protowire.BytesType && field.Kind() != protoreflect.StringKind && field.Kind() != protoreflect.BytesKind {
			inner, _ := protowire.ConsumeBytes(value) // it was measured
			if field.Message() == nil {
				*left -= len(inner) // a packed list of numbers, of a byte each at the least
			} else if !count(inner, field.Message(), left) {
				return false
			}
		}
		if *left < 0 {
			return false
		}
	}
	return true
}
