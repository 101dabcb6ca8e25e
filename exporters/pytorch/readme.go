package pytorch

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/network"
)

//go:embed README.md.tmpl
var readmeText string

var readmeTemplate = template.Must(template.New("README.md").Parse(readmeText))

// readme is README.md of an export.
func readme(s *exporters.Source, o exporters.Options, sample string) ([]byte, error) {
	more, err := Extra(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = readmeTemplate.Execute(&b, map[string]any{
		"Name": s.Name, "Sample": sample, "Insertion": s.Insertion(), "Timed": s.Config.Timed(), "Mask": s.MaskText(),
		"Parameters": fmt.Sprintf("%.2f", float64(network.ParamCount(*s.Config))/1e6), "Half": o.Precision == exporters.FP16Weights, "Extra": len(more) > 0,
	})
	return b.Bytes(), err
}
