package main

import (
	"strconv"

	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// changesDescription puts the number of its runs into the summary.
func changesDescription() {
	runs := 0
	bare{start: func() { runs++ }, describe: func(d *pb.DescribeReply) { d.Summary = "planned " + strconv.Itoa(runs) + " runs" }}.serve()
}
