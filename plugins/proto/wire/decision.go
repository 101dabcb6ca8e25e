package wire

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// DecisionsToProto translates decisions; the messages share their position lists.
func DecisionsToProto(ds []sampling.Decision) []*pb.Decision {
	values, out := make([]pb.Decision, len(ds)), make([]*pb.Decision, len(ds))
	for i := range ds {
		d, m := &ds[i], &values[i]
		m.Open, m.Remask, m.Delete = d.Open, d.Remask, d.Delete
		for _, w := range d.Overwrite {
			m.OverwritePosition, m.OverwriteToken = append(m.OverwritePosition, w.Position), append(m.OverwriteToken, w.Token)
		}
		for _, in := range d.Insert {
			m.InsertGap, m.InsertCount = append(m.InsertGap, in.Gap), append(m.InsertCount, in.Count)
		}
		m.Fill, m.ActedAs, m.NextT, m.Done, m.GoOn, m.Metrics = pb.Fill(d.Fill), int32(d.ActedAs), d.NextT, d.Done, d.GoOn, d.Metrics
		m.Refused = int32(d.Refused)
		out[i] = m
	}
	return out
}

// DecisionsFromProto translates decisions back into out, one per row, and refuses what cannot be a decision: a wrong
// number of rows, lists of different lengths, negative numbers, unknown fills, NaN. Whether positions exist and may be
// touched is for the host's session to say.
func DecisionsFromProto(ms []*pb.Decision, out []sampling.Decision) error {
	if len(ms) != len(out) {
		return violation("%d decisions, expected %d, one per row of the step", len(ms), len(out))
	}
	for i, m := range ms {
		if err := decisionFromProto(m, &out[i]); err != nil {
			err.Object = row(i)
			return err
		}
	}
	return nil
}

func decisionFromProto(m *pb.Decision, d *sampling.Decision) *sampling.Error {
	for _, list := range [...]struct {
		name   string
		values []int32
	}{{"open", m.GetOpen()}, {"overwrite", m.GetOverwritePosition()}, {"remask", m.GetRemask()}, {"delete", m.GetDelete()},
		{"insert gap", m.GetInsertGap()}, {"insert count", m.GetInsertCount()}} {
		for _, v := range list.values {
			if v < 0 {
				return violation("%s %d, expected a number of at least 0", list.name, v)
			}
		}
	}
	if p, t := len(m.GetOverwritePosition()), len(m.GetOverwriteToken()); p != t {
		return violation("overwrite: %d positions and %d tokens, expected as many", p, t)
	}
	if g, c := len(m.GetInsertGap()), len(m.GetInsertCount()); g != c {
		return violation("insert: %d gaps and %d counts, expected as many", g, c)
	}
	if f := m.GetFill(); f < pb.Fill_FILL_NONE || f > pb.Fill_FILL_DRAW {
		return violation("fill %d, expected none, argmax or draw", f)
	}
	if m.GetActedAs() < 0 {
		return violation("acted_as %d, expected at least 0", m.GetActedAs())
	}
	if m.GetRefused() < 0 {
		return violation("refused %d, expected at least 0", m.GetRefused())
	}
	if t := m.GetNextT(); !(t >= 0 && t <= 1) {
		return violation("next_t %v, expected a time from 0 to 1", t)
	}
	for name, v := range m.GetMetrics() {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return violation("metric %s is %v, expected a finite number", name, v)
		}
	}
	d.Reset()
	d.Open, d.Remask, d.Delete = append(d.Open, m.GetOpen()...), append(d.Remask, m.GetRemask()...), append(d.Delete, m.GetDelete()...)
	for i, p := range m.GetOverwritePosition() {
		d.Overwrite = append(d.Overwrite, sampling.Write{Position: p, Token: m.OverwriteToken[i]})
	}
	for i, g := range m.GetInsertGap() {
		d.Insert = append(d.Insert, sampling.Insertion{Gap: g, Count: m.InsertCount[i]})
	}
	d.Fill, d.ActedAs, d.NextT, d.Done, d.GoOn = sampling.Fill(m.GetFill()), int(m.GetActedAs()), m.GetNextT(), m.GetDone(), m.GetGoOn()
	d.Metrics, d.Refused = m.GetMetrics(), int(m.GetRefused())
	return nil
}
