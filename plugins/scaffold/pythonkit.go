package scaffold

import "github.com/mdmhost/mdmhost/plugins/python"

// pythonKit is the wheel of the Python kit.
func pythonKit() ([]file, error) {
	license, err := templates.ReadFile("template/LICENSE")
	if err != nil {
		return nil, err
	}
	f, err := pythonWheel(license).file()
	f.path = "wheels/" + f.path
	return []file{f}, err
}

// pythonWheel is the package as plugins/python/pyproject.toml describes it.
func pythonWheel(license []byte) wheel {
	return wheel{
		name:     "mdmhost-plugin",
		version:  "0.1.0",
		summary:  "The authors' kit of mdmhost plugins: planners, samplers and trainers of masked diffusion models in Python",
		python:   ">=3.10",
		requires: []string{"grpcio>=1.85.1", "protobuf>=7.35.1", "numpy>=2.0"},
		extras:   []extra{{"mtls", "cryptography>=42"}},
		license:  license,
		source:   python.Source,
	}
}
