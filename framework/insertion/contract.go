package insertion

// Contracted is what a network sees of a clean string whose positions are dropped, masked or clean, and what it is to predict of the
// gaps. Gap i holds the dropped positions between From[i-1] and From[i]; gap n is the tail.
type Contracted struct {
	Tokens []int32   // [n] masks and clean tokens
	From   []int     // [n] their positions in the clean string
	Counts []int     // [n+1] dropped positions of each gap
	Speeds []float64 // [n+1] the sum of their b_in: G of LoFlexMDM, equation 5
}

// Contract removes the dropped positions of a clean string: tokens, states and bIn are [L], padding is left out.
func Contract(tokens []int32, states []int, bIn []float64, maskID int32) Contracted {
	c := Contracted{Counts: make([]int, 1), Speeds: make([]float64, 1)}
	for j, state := range states {
		switch gap := len(c.Tokens); state {
		case Dropped:
			c.Counts[gap]++
			c.Speeds[gap] += bIn[j]
		case Masked, Clean:
			token := tokens[j]
			if state == Masked {
				token = maskID
			}
			c.Tokens, c.From = append(c.Tokens, token), append(c.From, j)
			c.Counts, c.Speeds = append(c.Counts, 0), append(c.Speeds, 0)
		}
	}
	return c
}
