package model

// ClockExponent is a of the clock U(t) = -log(1 - t^a) of an insertion model, whose rates are multipliers per unit of U (methods/loflexmdm.md, section
// 4.2): that of the schedule kumaraswamy, 1 of others (FlexMDM).
func (m *Model) ClockExponent() float64 {
	if s := m.Manifest.Schedule; s.Kind == "kumaraswamy" && s.A > 0 {
		return s.A
	}
	return 1
}

// Growth describes how the rows of an insertion model grow.
type Growth struct {
	Gap         string  `json:"gap"`           // "n+1" or "eos": which gaps are rated
	Cap         int     `json:"cap,omitempty"` // most positions of a row, special tokens included; 0: nothing bounds it
	A           float64 `json:"a"`             // of the clock U(t) = -log(1 - t^a)
	UnmaskRates bool    `json:"unmask_rates"`  // the network rates masks, too; else each opens with the rate 1
}

// growth is nil of models whose rows keep their length.
func (m *Model) growth() *Growth {
	if !m.Insertion() {
		return nil
	}
	return &Growth{Gap: m.Manifest.Gap, Cap: m.MaxLength, A: m.ClockExponent(), UnmaskRates: m.UnmaskRate}
}
