package main

import pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"

// defaultOutOfBounds has a default below its own minimum.
func defaultOutOfBounds() {
	bare{describe: func(d *pb.DescribeReply) {
		d.OptionsSchema = `{"type": "object", "properties": {"k": {"type": "integer", "default": 0, "minimum": 1, "description": "positions"}}}`
	}}.serve()
}
