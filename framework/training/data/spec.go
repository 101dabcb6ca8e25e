package data

// Formats of the source files; the empty format is told by the ending of the names (.txt, .jsonl, .csv, also with .gz).
const (
	Text  = "text"  // one long stream, the files one after another
	JSONL = "jsonl" // one object a line
	CSV   = "csv"   // RFC 4180 with a header
)

// Layouts of rows.
const (
	Packed = "packed" // a stream cut into windows of exactly Length tokens
	Padded = "padded" // one record a row, padded to Length
)

// Tokenizers that are made from the training data.
const (
	Characters = "characters"
	SMILES     = "smiles"
)

// What is done with what does not fit.
const (
	Error    = "error"    // refuse, and list what is wrong
	Skip     = "skip"     // leave it out, and count
	Drop     = "drop"     // the same, of rows that are too long
	Truncate = "truncate" // cut rows that are too long
	Keep     = "keep"     // let unknown tokens, or rows without text, stand
)

// None and Text27 are the normalisations of text.
const (
	None   = "none"
	Text27 = "text27" // the 27 symbols of text8: letters and single spaces
)

// Spec says where training data is and how rows are made of it: the section data of a configuration. A prepared directory holds
// the one that it was made with.
type Spec struct {
	// Train and Valid name files, plain or gzip (told by their content). Valid may be empty.
	Train []string `koanf:"train" json:"train"`
	Valid []string `koanf:"valid" json:"valid"`
	// ValidFraction takes this share of Train for validation: the records of a keyed hash of their number, or the end of a
	// packed stream.
	ValidFraction float64 `koanf:"valid_fraction" json:"valid_fraction"`
	// Prepared is a directory that [Prepare] wrote, in the place of all that follows but Length of a packed stream and Shuffle.
	Prepared string `koanf:"prepared" json:"-"`

	// Format is text, jsonl, csv or empty.
	Format string `koanf:"format" json:"format"`
	// Column is the CSV column or the JSON key of the text.
	Column string `koanf:"column" json:"column"`
	// FixedColumn names a column with one character for each token of Column: the position is fixed (given) unless the
	// character is one of Blank. A Sudoku has the column solution, fixed by puzzle, blank "0".
	FixedColumn string `koanf:"fixed_column" json:"fixed_column"`
	Blank       string `koanf:"blank" json:"blank"`
	// PromptColumn names a text that comes before that of Column and is fixed.
	PromptColumn string `koanf:"prompt_column" json:"prompt_column"`

	// Normalize is none or text27.
	Normalize string `koanf:"normalize" json:"normalize"`
	// Tokenizer is characters or smiles (made from Train), or the path of a tokenizer.json or its directory.
	Tokenizer string `koanf:"tokenizer" json:"tokenizer"`
	// BOS and EOS let a tokenizer that is made from Train put special tokens around every record. The post-processor of an
	// existing file decides for itself. Special tokens are fixed: whoever samples gives them.
	BOS bool `koanf:"bos" json:"bos"`
	EOS bool `koanf:"eos" json:"eos"`

	// Layout is packed or padded.
	Layout string `koanf:"layout" json:"layout"`
	// Length is the number of positions of a row, special tokens included.
	Length int `koanf:"length" json:"length"`

	// TooLong is error, drop or truncate: what becomes of padded rows with more than Length tokens.
	TooLong string `koanf:"too_long" json:"too_long"`
	// Unknown is error (a bad line) or keep: what becomes of text for which the tokenizer has only its unknown token.
	Unknown string `koanf:"unknown" json:"unknown"`
	// Empty is error (a bad line) or keep: what becomes of padded rows without text, of which only special tokens and the prompt
	// are left. Models that insert tokens learn from them when to write nothing.
	Empty string `koanf:"empty" json:"empty,omitempty"`
	// BadLines is error or skip: what becomes of lines that cannot be read.
	BadLines string `koanf:"bad_lines" json:"bad_lines"`

	// Shuffle lets a run take rows (or windows) in random order.
	Shuffle bool `koanf:"shuffle" json:"-"`
}

// Defaults returns the values of keys that nobody gave.
func Defaults() Spec {
	return Spec{Normalize: None, Tokenizer: Characters, Layout: Packed, TooLong: Error, Unknown: Error, Empty: Error, BadLines: Error, Shuffle: true}
}

// made tells whether the tokenizer comes from the training data.
func (s *Spec) made() bool { return s.Tokenizer == Characters || s.Tokenizer == SMILES }

// absolute is the spec under names that mean the same from every working directory.
func (s Spec) absolute() Spec {
	for _, names := range []*[]string{&s.Train, &s.Valid} {
		all := make([]string, len(*names))
		for i, name := range *names {
			all[i] = absolute(name)
		}
		*names = all
	}
	if s.Tokenizer != "" && !s.made() {
		s.Tokenizer = absolute(s.Tokenizer)
	}
	return s
}

// columns lists what is read of a record: the text, then the one other column, if any.
func (s *Spec) columns() []string {
	out := []string{s.Column}
	if s.FixedColumn != "" {
		out = append(out, s.FixedColumn)
	} else if s.PromptColumn != "" {
		out = append(out, s.PromptColumn)
	}
	return out
}
