package main

import pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"

// badSchema writes its schema by hand, with a comma too many.
func badSchema() {
	bare{describe: func(d *pb.DescribeReply) { d.OptionsSchema = `{"type": "object", "properties": {},}` }}.serve()
}
