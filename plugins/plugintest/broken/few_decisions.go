package main

import pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"

// fewDecisions leaves out rows that it decides nothing about.
func fewDecisions() {
	bare{plan: func(m *pb.Step) *pb.PlanReply {
		reply := &pb.PlanReply{}
		for i := range m.GetN() {
			if i%2 == 0 {
				reply.Decisions = append(reply.Decisions, &pb.Decision{Fill: pb.Fill_FILL_DRAW})
			}
		}
		return reply
	}}.serve()
}
