package spread

import (
	"errors"
	"reflect"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// TestJoinLosesNothing: every slice of the statistics is put together, those that are added later included.
func TestJoinLosesNothing(t *testing.T) {
	const rows = 2
	d := &Denoiser{caps: sampling.Capabilities{V: 3}, head: sampling.Head{Needs: sampling.Needs{VocabDot: [][]float32{{1, 1, 1}}}}}
	fields := reflect.TypeFor[sampling.Statistics]()
	for r := range rows {
		st := &sampling.Statistics{B: 1, L: 1}
		for f := range fields.NumField() {
			if field := reflect.ValueOf(st).Elem().Field(f); field.Kind() == reflect.Slice {
				width := 1
				if fields.Field(f).Name == "Logits" {
					width = d.caps.V
				}
				field.Set(reflect.MakeSlice(field.Type(), width, width))
				for i := range width {
					field.Index(i).Set(one(t, fields.Field(f).Name, field.Type().Elem(), r))
				}
			}
		}
		d.members = append(d.members, &worker{rows: []int{rows - 1 - r}, stats: st})
	}
	got, err := d.join(&pass{batch: sampling.Batch{B: rows, L: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for f := range fields.NumField() {
		field, name := reflect.ValueOf(got).Elem().Field(f), fields.Field(f).Name
		if field.Kind() != reflect.Slice {
			continue
		}
		if field.Len() == 0 {
			t.Errorf("%s is lost", name)
		}
		for i := range field.Len() {
			want := one(t, name, field.Type().Elem(), rows-1-i*rows/field.Len())
			if have := field.Index(i); !have.Equal(want) {
				t.Errorf("%s of row %d is %v, expected %v", name, i*rows/field.Len(), have, want)
			}
		}
	}
}

var failures = []error{errors.New("of the first"), errors.New("of the second")}

// one is what member r gives in a field.
func one(t *testing.T, name string, of reflect.Type, r int) reflect.Value {
	switch of.Kind() {
	case reflect.Int32, reflect.Float32:
		return reflect.ValueOf(r + 1).Convert(of)
	case reflect.Interface:
		out := reflect.New(of).Elem()
		out.Set(reflect.ValueOf(failures[r]))
		return out
	}
	t.Fatalf("%s holds values of %s, which this test does not know; teach it", name, of)
	return reflect.Value{}
}
