package wire

import (
	"google.golang.org/grpc"
)

// window lets a whole message of usual size travel without waiting for credit; fixed windows also save the transport
// its bandwidth probes.
const window = 16 << 20

// ServerOptions are those of the servers on both sides.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MessageCap), grpc.MaxSendMsgSize(MessageCap),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
	}
}

// DialOptions are those of the clients on both sides.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MessageCap), grpc.MaxCallSendMsgSize(MessageCap)),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithIdleTimeout(0), // a server may ask nothing for hours
	}
}
