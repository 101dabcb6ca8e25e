package config

// exportKeys are those of exports.
var exportKeys = []Key{
	{Name: "export.to", Kind: String, Default: "", Help: "what a model is exported for, one of mdmhost export --list"},
	{Name: "export.precision", Kind: String, Default: "", Help: "of weights and arithmetic, as the target has them: fp32, fp16, fp16-weights, bf16, int8 or stored (empty: the target's first)"},
	{Name: "export.head", Kind: String, Default: "", Enum: []string{"", "none", "statistics"}, Help: "what an ONNX graph gives: logits (none), or proposals and statistics beside them (empty: as the target needs it)"},
	{Name: "export.rows", Kind: Int, Default: 0, Min: at(0), Help: "rows of a batch that an ONNX graph is fixed to (0: any)"},
	{Name: "export.length", Kind: Int, Default: 0, Min: at(0), Help: "positions of a row that an ONNX graph is fixed to (0: any)"},
	{Name: "export.verify", Kind: String, Default: "auto", Enum: []string{"auto", "must", "off"}, Help: "compare the export's answers with the model's: where the target's stack is installed (auto), always (must: there is no export without), or never (off)"},
	{Name: "export.python", Kind: String, Default: "", Help: "Python interpreter that verifies (empty: python3 on the path)"},
	{Name: "export.browser", Kind: String, Default: "", Help: "Chromium that verifies (empty: the one on the path)"},
	{Name: "export.timeout", Kind: Float, Default: 600.0, Min: at(0), Above: true, Max: at(86400), Help: "seconds that verification may take"},
}
