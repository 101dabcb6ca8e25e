package train

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// grows tells whether the denoiser is that of an insertion model, whose rows grow.
func (d *denoiser) grows() bool { return d.Signature().Gives("insertion_rate") }

// pairs refuses a denoiser that rates gaps with a trainer of masked models, and the other way round. The schedule tells the
// trainers apart: those of insertion models have a clock of events.
func (t *trainer) pairs(cfg *config.Config, d *denoiser) error {
	inserts := t.reply.Schedule.Kind == spec.Clock
	name := t.description.Name
	switch {
	case inserts == d.grows():
		return nil
	case inserts:
		return fmt.Errorf("trainer %s: is for insertion models, and the network rates no gaps; add --set network.gaps=eos, or begin with an insertion model", name)
	case cfg.Network.Gaps != "":
		return config.Problems{{Origin: cfg.Origin("network.gaps"), Key: "network.gaps", Text: fmt.Sprintf("is %s, and trainer %s is for masked models; choose trainer flexmdm or loflexmdm, or leave it out", cfg.Network.Gaps, name)}}
	}
	return config.Problems{{Origin: cfg.Origin("trainer.name"), Key: "trainer.name", Text: fmt.Sprintf("is %s, which is for masked models, and this is an insertion model; choose flexmdm or loflexmdm", name)}}
}

// endsFixed refuses rows that an insertion model cannot be trained on: their last token must be given, for there is no gap behind it.
func endsFixed(cfg *config.Config, set *data.Data) error {
	_, suffix := set.Vocabulary.Template()
	refuse := func(key, text string) error {
		return config.Problems{{Origin: cfg.Origin(key), Key: key, Text: text}}
	}
	switch {
	case set.Train.Packed():
		return refuse("data.layout", "is packed, and rows of an insertion model are records, each with an end of its own; set it to padded")
	case len(suffix) == 0 && cfg.Data.Prepared != "":
		return refuse("data.prepared", "has rows without a token behind their texts, and rows of an insertion model end with a fixed one; prepare it again with data.eos")
	case len(suffix) == 0 && cfg.Train.From == "" && (cfg.Data.Tokenizer == data.Characters || cfg.Data.Tokenizer == data.SMILES):
		return refuse("data.eos", "is false, and rows of an insertion model end with a fixed token; set it to true")
	case len(suffix) == 0:
		return refuse("data.tokenizer", "puts no token behind a text, and rows of an insertion model end with a fixed one; give a tokenizer whose post_processor adds one")
	}
	return nil
}

// trainable refuses insertion models whose rates are not those of the framework's networks.
func trainable(m *model.Model) error {
	if m.Insertion() && m.Config.ModelType != network.ModelType {
		return fmt.Errorf("model %s: is an insertion model of another program, and training needs one of this one's (model_type %s), whose gaps and heads it knows; train a new one with --set network.gaps=eos", m.Name, network.ModelType)
	}
	return nil
}

// measurable refuses insertion models whose rows have another form than those that trainers take.
func measurable(m *model.Model) error {
	_, suffix := m.Tokenizer.Template()
	switch {
	case m.Insertion() && m.Manifest.Gap != network.GapsEOS:
		return fmt.Errorf("model %s: rates %s gaps of a row of n tokens, and the trainers' bounds are for rows that end with a fixed token (gap %q in mdm.json); export it so", m.Name, m.Manifest.Gap, network.GapsEOS)
	case m.Insertion() && len(suffix) == 0:
		return fmt.Errorf("model %s: its tokenizer puts no token behind a text, and gap %q in mdm.json says that a fixed one ends each row; correct one of the two", m.Name, network.GapsEOS)
	}
	return nil
}

// masked refuses what is for masked models alone.
func masked(m *model.Model, what string) error {
	if m.Insertion() {
		return fmt.Errorf("model %s: its rows grow by insertion, and %s is for masked models; leave it out", m.Name, what)
	}
	return nil
}
