package exporters

// Reference is what the source answers in ONNX Runtime on the CPU: rows with masks here and there, of several lengths, padded, and rows that
// are written from nothing but masks and what the model keeps fixed. [Reference.WriteFile] puts it into a safetensors file for verifiers
// in other languages; the names of its tensors stand beside the fields.
type Reference struct {
	B, L          int
	InputIDs      []int64   // input_ids [B, L]
	AttentionMask []int64   // attention_mask [B, L]
	Timesteps     []float32 // timesteps [B], for models that take time, else nil
	Logits        []float32 // logits [B, L, V]
	InsertionRate []float32 // insertion_rate [B, L+1], of insertion models, else nil
	UnmaskRate    []float32 // unmask_rate [B, L], where the model has them, else nil

	// Begin are rows with blanks and Written the same rows with every blank opened at temperature 0: in each pass, the blank whose most probable token is
	// most probable gets that token; ties go to the lower position, and to the lower token. Never is what is not written. Of insertion models, rows have
	// all their masks and none are inserted, at time 0.9.
	Begin   []int64   // begin [B, L]
	Written []int64   // written [B, L]
	Margin  []float32 // margin [B, L] how far the choice was from another one at the step that opened the position: the smaller of the gaps to the next position's and to the next token's probability; +Inf elsewhere
	Never   []int64   // never [n] ids, sorted: the mask and what the model suppresses
	Mask    int64     // metadata "mask_token_id"
}
