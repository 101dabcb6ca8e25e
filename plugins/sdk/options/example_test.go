package options_test

import (
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

// Shared are options that several plugins have.
type Shared struct {
	Proxy string `option:"proxy" default:"entropy" enum:"entropy,margin" help:"order of opening"`
}

// Options are those of one of them.
type Options struct {
	Shared
	K      int       `option:"k" default:"2" min:"1" max:"64" help:"positions opened in a step"`
	Gamma  float64   `option:"gamma" default:"inf" min:"0" help:"bound in nats; inf opens everything"`
	Levels []float64 `option:"levels" default:"0.9,0.5" min:"0" max:"1" help:"thresholds, step by step"`
}

// Options that are given stand over the defaults, and all that is wrong is told at once.
func ExampleParse() {
	o, err := options.Parse[Options]([]byte(`{"k": 8, "levels": [0.7]}`))
	fmt.Printf("%+v %v\n", o, err)

	_, err = options.Parse[Options]([]byte(`{"k": 0, "gama": 1}`))
	var problems options.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p)
		}
	}
	fmt.Println(problems.Error() == err.Error())
	// Output:
	// {Shared:{Proxy:entropy} K:8 Gamma:+Inf Levels:[0.7]} <nil>
	// option k: expected a whole number from 1 to 64, found 0
	// option gama: unknown; did you mean gamma?
	// true
}

// The host and its users read the same struct as JSON Schema.
func ExampleSchema() {
	schema, err := options.Schema[struct {
		K int `option:"k" default:"2" min:"1" help:"positions opened in a step"`
	}]()
	fmt.Println(string(schema), err)
	// Output: {"additionalProperties":false,"properties":{"k":{"default":2,"description":"positions opened in a step","minimum":1,"type":"integer"}},"type":"object"} <nil>
}

// People read this.
func ExampleDescribe() {
	schema, err := options.Schema[Options]()
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := options.Describe(string(schema))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range all {
		fmt.Println(o.Name, "-", o.String())
	}
	// Output:
	// gamma - number from 0, default "inf": bound in nats; inf opens everything
	// k - integer from 1 to 64, default 2: positions opened in a step
	// levels - list of number from 0 to 1, default [0.9,0.5]: thresholds, step by step
	// proxy - one of entropy, margin, default "entropy": order of opening
}
