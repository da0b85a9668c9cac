// Package grpcdeadline carries an execution deadline over gRPC, as package deadline does over HTTP.
//
// gRPC itself sends the time that is left of a context, in grpc-timeout, and bounds the server's context by it. What
// it leaves open is what these interceptors add: a number of one's own beside it, in the metadata, that can keep a
// part for the way (Hop), be capped (Max), pass gateways that end grpc-timeout, and be the same for services that
// speak HTTP; and on the server an execution, so that deadline.Remaining, Check, Step and Warned work in a handler.
//
//	conn, err := grpc.NewClient(target, grpc.WithUnaryInterceptor(grpcdeadline.UnaryClient(nil)),
//		grpc.WithStreamInterceptor(grpcdeadline.StreamClient(nil)))
//	server := grpc.NewServer(grpc.UnaryInterceptor(grpcdeadline.UnaryServer(nil)),
//		grpc.StreamInterceptor(grpcdeadline.StreamServer(nil)))
//
// Interceptors are safe for concurrent use, and copy the Header they are given; nil is the default one.
package grpcdeadline
