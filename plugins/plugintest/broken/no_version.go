package main

import pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"

// noVersion has no version that could be compared.
func noVersion() { bare{describe: func(d *pb.DescribeReply) { d.Version = "latest" }}.serve() }
