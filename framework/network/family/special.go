package family

import (
	"encoding/json"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/network"
)

// ids are token ids by what they are for.
type ids map[string]*id

type id struct {
	said  int32 // by the file; -1: nothing
	class int32 // what the family's config class takes without it; -1: nothing
	key   string
}

// take reads an id, null, or a list of ids of which the first counts.
func (all ids) take(what string, class int32) rule {
	all[what] = &id{-1, class, what + "_token_id"}
	return func(value any) error {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		if value == nil {
			return nil
		}
		n, ok := value.(json.Number)
		v, err := n.Int64()
		if !ok || err != nil || v > 1<<30 || v < -1 {
			return fmt.Errorf("is %s, expected an id of the vocabulary", show(value))
		}
		all[what].said = int32(v)
		return nil
	}
}

// settle holds the ids against the vocabulary.
func (all ids) settle(vocabulary int) (s network.Special, mask int32, found problems) {
	get := func(what string) int32 {
		i := all[what]
		if int(i.said) >= vocabulary {
			found.add(i.key, "is %d, and vocab_size is %d; expected an id below it", i.said, vocabulary)
		}
		return i.said
	}
	s = network.Special{Mask: get("mask"), Pad: get("pad"), BOS: get("bos"), EOS: get("eos")}
	if mask = all["mask"].class; int(mask) >= vocabulary {
		mask = -1
	}
	return s, mask, found
}
