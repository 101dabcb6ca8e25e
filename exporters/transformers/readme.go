package transformers

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/network"
)

//go:embed README.md.tmpl
var readmeText string

var readmeTemplate = template.Must(template.New("README.md").Parse(readmeText))

// readme is README.md of an export.
func readme(s *exporters.Source) ([]byte, error) {
	more, err := pytorch.Extra(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = readmeTemplate.Execute(&b, map[string]any{
		"Name": s.Name, "Auto": auto(s), "Insertion": s.Insertion(), "Timed": s.Config.Timed(), "Mask": s.MaskText(),
		"Parameters": fmt.Sprintf("%.2f", float64(network.ParamCount(*s.Config))/1e6), "Extra": len(more) > 0,
	})
	return b.Bytes(), err
}
