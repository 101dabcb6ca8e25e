package family

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/network"
)

// roberta is RobertaForMaskedLM (Liu et al. 2019), xlmRoberta the same code with another vocabulary, and so is CamemBERT.
var roberta, xlmRoberta = fairseq(50265), fairseq(30522)

// fairseq is BERT whose positions begin behind the id of padding, as fairseq numbered them.
func fairseq(vocabulary int) *family {
	return &family{
		keys: func(d *draft) keys {
			return all(bertSizes(d, vocabulary), keys{
				"pad_token_id": d.ids.take("pad", 1),
				"bos_token_id": d.ids.take("bos", 0),
				"eos_token_id": d.ids.take("eos", 2),
			})
		},
		settle: func(d *draft) (found problems) {
			pad := d.ids["pad"].said
			if pad < 0 {
				pad = d.ids["pad"].class
			}
			d.skip = int64(pad) + 1
			if d.MaxPositions -= int(d.skip); d.MaxPositions < 1 {
				found.add("max_position_embeddings", "is %d, of which pad_token_id %d leaves none; expected more than %d", d.MaxPositions+int(d.skip), pad, d.skip)
			}
			if d.Activation != network.GELU {
				found.add("hidden_act", "is for the layers alone, %s, and the head of the class computes gelu whatever it is; a head with another activation has no rule", d.Activation)
			}
			return found
		},
		tensors: func(d *draft) []line {
			return slices.Concat([]line{{from: "embeddings.position_embeddings.weight", to: "embeddings.positions", skip: d.skip,
				left: fmt.Sprintf("the first %d rows of the table of positions, which stand for padding", d.skip)}}, bertBody, robertaHead)
		},
		prefixes: []string{"roberta."},
		head:     "lm_head",
	}
}

var robertaHead = []line{
	{from: "lm_head.dense", to: "head.transform"},
	{from: "lm_head.layer_norm", to: "head.norm"},
	{from: "lm_head.decoder.weight", to: "head.weight"},
	{from: "lm_head.bias", to: "head.bias"},
	{from: "lm_head.decoder.bias", to: "head.bias", own: true},
}
