package parity

import (
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/runtimes/openinference"
)

// bytesOf is what a denoiser has sent to servers and had from them since it was opened; 0 of those that run in this process.
func bytesOf(d backend.Denoiser) int64 {
	if remote, ok := d.(interface{ Traffic() openinference.Traffic }); ok {
		moved := remote.Traffic()
		return moved.Sent + moved.Received
	}
	return 0
}
