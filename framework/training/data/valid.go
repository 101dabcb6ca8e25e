package data

import (
	"context"
	"errors"
)

// OpenValid reads the validation data of a spec alone, into the Valid of the result, whose Train is nil: for a finished model
// that is evaluated. With Prepared, Train is there, too. The errors are those of [Open].
func OpenValid(ctx context.Context, s Spec, o Options) (*Data, error) {
	if s.Prepared != "" {
		d, err := Open(ctx, s, o)
		if err == nil && d.Valid == nil {
			return nil, errors.Join(Problems{{"data.prepared", "has no validation set; prepare the data with data.valid or data.valid_fraction"}}, d.Close())
		}
		return d, err
	}
	asked := s
	s.Train, s.Valid, s.ValidFraction = s.Valid, nil, 0
	if err := s.Validate(); err != nil {
		var problems Problems
		if errors.As(err, &problems) {
			for i, p := range problems {
				if p.Key == "data.train" {
					problems[i].Key = "data.valid"
				}
			}
		}
		return nil, err
	}
	v, err := openVocabulary(ctx, &s, o)
	if err != nil {
		return nil, err
	}
	b, err := build(ctx, &s, o, v, memorySegment, func(string) segments { return &memory{} })
	if err != nil {
		return nil, err
	}
	d := &Data{Spec: asked, Vocabulary: v, Valid: b.train.dataset("valid", b.train.out.(*memory).all)}
	if err := d.Valid.enough("valid"); err != nil {
		return nil, err
	}
	return d, nil
}
