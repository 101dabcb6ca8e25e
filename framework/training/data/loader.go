package data

// Order says in which order a [Loader] takes rows.
type Order int

// The orders.
const (
	// Random goes on for ever: padded rows in another permutation every epoch, packed windows from anywhere in the stream.
	Random Order = iota
	// InOrder goes on for ever, row after row.
	InOrder
	// Once takes every row once and in order: evaluation.
	Once
)

// Loader fills batches. What a batch holds is a function of the seed and of the position, the number of rows that the run
// consumed before it: nothing else need be kept to resume. It may be used by several goroutines.
type Loader struct {
	Data  *Dataset
	Order Order
	Seed  uint64
}

// Batch holds rows in the buffers that a training step reads. Lengths, Fixed and Free may be nil where nobody reads them.
type Batch struct {
	Tokens  []int64 // [B, L], padded
	Lengths []int64 // [B] real tokens, special ones included
	Fixed   []bool  // [B, L] given positions
	Free    []bool  // [B, L] real and not fixed: what is learnt
}

// NewBatch makes the buffers of a batch of b rows of l positions.
func NewBatch(b, l int) *Batch {
	return &Batch{Tokens: make([]int64, b*l), Lengths: make([]int64, b), Fixed: make([]bool, b*l), Free: make([]bool, b*l)}
}

// Epoch returns the epoch that a position lies in, and how far, in rows.
func (l *Loader) Epoch(position int64) (epoch, row int64) {
	n := int64(l.Data.Rows())
	return position / n, position % n
}

// Fill puts the rows from a position on into a batch, as many as it has room for, without allocating. It returns how many
// there are: all, but at the end of [Once] fewer, where the rest are rows of length 0. The error is that of damaged shards.
func (l *Loader) Fill(b *Batch, position int64) (int, error) {
	length := l.Data.length
	rows := len(b.Tokens) / length
	filled := 0
	for k := range rows {
		row := Row{Tokens: b.Tokens[k*length : (k+1)*length]}
		if b.Fixed != nil {
			row.Fixed = b.Fixed[k*length : (k+1)*length]
		} else if b.Free != nil { // the fixed positions are read into free, and turned round there
			row.Fixed = b.Free[k*length : (k+1)*length]
		}
		if l.Order == Once && position+int64(k) >= int64(l.Data.Rows()) {
			l.blank(&row)
		} else if err := l.row(&row, position+int64(k)); err != nil {
			return filled, err
		} else {
			filled++
		}
		if b.Lengths != nil {
			b.Lengths[k] = int64(row.Length)
		}
		if b.Free != nil {
			free := b.Free[k*length : (k+1)*length]
			for i := range free {
				free[i] = i < row.Length && !row.Fixed[i]
			}
		}
	}
	return filled, nil
}

// row reads the row at a position of the run.
func (l *Loader) row(into *Row, position int64) error {
	epoch, i := l.Epoch(position)
	switch {
	case l.Order != Random:
	case l.Data.Packed():
		return l.Data.Window(crop(l.Seed, position, l.Data.Windows()), into)
	default:
		i = permuted(l.Seed, epoch, i, int64(l.Data.Rows()))
	}
	return l.Data.Row(int(i), into)
}

// blank makes a row of padding alone.
func (l *Loader) blank(row *Row) {
	row.Length = 0
	for i := range row.Tokens {
		row.Tokens[i] = int64(l.Data.pad)
	}
	clear(row.Fixed)
}
