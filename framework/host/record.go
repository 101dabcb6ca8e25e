package host

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Record hands take how the planner was started, and then every question of the runs that follow with the planner's answer. Where
// the sampler decides by itself there is nothing to hand over.
func (h *Host) Record(take func(sampling.TraceCall)) error {
	if h.decides() {
		return nil
	}
	question, err := encoded(wire.RunToProto(h.planned))
	if err != nil {
		return err
	}
	answer, err := encoded(&pb.StartReply{Needs: wire.NeedsToProto(h.planner.needs)})
	if err != nil {
		return err
	}
	take(sampling.TraceCall{Event: sampling.TraceStart, Planner: h.planner.name, Question: question, Answer: answer})
	held := h.planner.needs
	held.Proposal = true // what an opened position takes: the runtime replay could not do without
	h.recorder = &recorder{Planner: h.planner.plugin, take: take, encoder: wire.Encoder{Needs: held}}
	return nil
}

// recorder is a planner that another one answers for, and whose questions and answers are kept, in the messages of the plugin
// protocol whether they travel or not.
type recorder struct {
	sampling.Planner
	take    func(sampling.TraceCall)
	encoder wire.Encoder // without shared memory: logits stand in the message
}

// Plan implements [sampling.Planner]. Questions without an answer are not kept.
func (r *recorder) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	m, err := r.encoder.Encode(step)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	question, err := encoded(m) // now: the planner may spoil its step
	if err != nil {
		return err
	}
	if err := r.Planner.Plan(ctx, step, out); err != nil {
		return err
	}
	answer, err := encoded(&pb.PlanReply{Decisions: wire.DecisionsToProto(out)})
	if err != nil {
		return err
	}
	r.take(sampling.TraceCall{Event: sampling.TracePlan, Question: question, Answer: answer})
	return nil
}

// encoded is a message's bytes, which are equal where messages are.
func encoded(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return b, nil
}
