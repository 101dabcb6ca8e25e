package main

import pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"

// otherKind serves a planner and says that it is a sampler.
func otherKind() { bare{describe: func(d *pb.DescribeReply) { d.Kind = "sampler" }}.serve() }
