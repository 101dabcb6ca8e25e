// Package wire is what both ends of the plugin protocol share: the handshake, and the translation between the values of
// package sampling and the messages of version 1.
package wire

import (
	"encoding/binary"
	"errors"

	"github.com/hashicorp/go-plugin"
)

// Version is the protocol version that this code speaks.
const Version = 1

// MessageCap is the largest message that either side accepts, in bytes.
const MessageCap = 256 << 20

// Environment variables of a plugin process, besides those of go-plugin.
const (
	// LifelineVar names the file descriptor of a pipe that the host holds open: when it ends, the host is gone and the
	// plugin exits.
	LifelineVar = "MDMHOST_LIFELINE_FD"
	// SharedVar names the file descriptor of the memory through which logits come.
	SharedVar = "MDMHOST_SHARED_FD"
)

// SelfCommand is the first argument with which a host starts itself as one of its own plugins; kind and name follow.
const SelfCommand = "__plugin"

// ReattachVar is the environment variable of a host that holds plugins which run already: a JSON object of [Reattach] by their names.
const ReattachVar = "MDMHOST_REATTACH"

// Reattach is where a plugin that was started by hand, for a debugger, is to be found.
type Reattach struct {
	Kind     string `json:"kind"`
	Pid      int    `json:"pid"`
	Addr     string `json:"addr"`     // path of its unix socket
	Protocol int    `json:"protocol"` // version of the plugin protocol
}

// Handshake is go-plugin's handshake. The cookie tells a plugin that mdmhost started it; it protects nothing.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  Version,
	MagicCookieKey:   "MDMHOST_PLUGIN",
	MagicCookieValue: "9d2cbd5a4c1a4a2a-mdmhost",
}

// Supported tells whether this machine stores numbers as the protocol does.
func Supported() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return errors.New("plugins: the protocol is little-endian and this machine is not; run on amd64 or arm64")
	}
	return nil
}
