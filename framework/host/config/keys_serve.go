package config

// serveKeys are those of `mdmhost serve`.
var serveKeys = []Key{
	{Name: "serve.listen", Kind: String, Default: "127.0.0.1:8080", Help: "address that the server listens on; unix:PATH is a socket"},
	{Name: "serve.models", Kind: Texts, Default: []any{}, Help: "embedded models, and directories of models, that requests may name (empty: the one of model). On the command line as a JSON list, such as [\"molecule\",\"./mine\"]"},
	{Name: "serve.planners", Kind: Texts, Default: []any{}, Help: "installed planners that requests may name, besides those in this program"},
	{Name: "serve.samplers", Kind: Texts, Default: []any{}, Help: "installed samplers that requests may name, besides those in this program"},
	{Name: "serve.batching", Kind: Bool, Default: true, Help: "rows of different requests share forward passes (false: one request at a time, for comparisons)"},
	{Name: "serve.lanes", Kind: Int, Default: 8, Min: at(1), Max: at(1024), Help: "models with a planner, a sampler and settings of their own that are open at once; the one that was idle longest makes room"},
	{Name: "serve.queue", Kind: Int, Default: 1024, Min: at(1), Max: at(1e6), Help: "rows that may wait; requests beyond are refused with status 429"},
	{Name: "serve.max_rows", Kind: Int, Default: 64, Min: at(1), Max: at(1e5), Help: "most rows of one request"},
	{Name: "serve.max_positions", Kind: Int, Default: 4096, Min: at(1), Max: at(1e6), Help: "most positions of a row, prompt included"},
	{Name: "serve.max_body", Kind: Int, Default: 1 << 20, Min: at(1), Max: at(1 << 30), Help: "most bytes of a request"},
	{Name: "serve.timeout", Kind: Float, Default: 300.0, Min: at(0), Above: true, Max: at(86400), Help: "seconds that a request may take"},
	{Name: "serve.drain", Kind: Float, Default: 30.0, Min: at(0), Max: at(86400), Help: "seconds that requests on their way may take after the server was told to stop"},
	{Name: "serve.connections", Kind: Int, Default: 20000, Min: at(1), Max: at(1e6), Help: "connections at once; more wait to be accepted"},
	{Name: "serve.tokens", Kind: String, Default: "", Help: "file with a bearer token a line, one of which every request must bring (empty: everybody may ask)"},
	{Name: "serve.origins", Kind: Texts, Default: []any{}, Help: "origins of pages, such as https://example.org, whose scripts may call the server (CORS)"},
	{Name: "serve.watch", Kind: Bool, Default: true, Help: "take up a change of the configuration file at once; without it only SIGHUP does"},
	{Name: "serve.page", Kind: Bool, Default: true, Help: "show a page at / to try models and planners"},
	{Name: "serve.otlp", Kind: String, Default: "", Hide: HideAddress, Help: "OpenTelemetry collector that takes traces over OTLP/HTTP, such as http://localhost:4318 (empty: none)"},
}
