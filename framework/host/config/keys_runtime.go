package config

import "slices"

// The kinds of runtime.
const (
	KindONNX          = "onnx"          // ONNX Runtime in this process
	KindOpenInference = "openinference" // a server that speaks the Open Inference Protocol (KServe v2)
	KindOpenVINO      = "openvino"      // OpenVINO in this process
	KindReplay        = "replay"        // a recorded run
)

// runtimeKinds are all of them; the first is the default.
var runtimeKinds = []string{KindONNX, KindOpenInference, KindOpenVINO, KindReplay}

// providers are those of each kind of runtime that has several.
var providers = map[string][]string{
	KindONNX:     {"cpu", "cuda", "tensorrt", "tensorrt-rtx", "migraphx", "webgpu", "coreml", "xnnpack", "qnn", "vitisai", "plugin", "auto"},
	KindOpenVINO: {"cpu", "gpu", "npu", "auto"},
}

// heads are the values of runtime.head that each kind of runtime takes.
var heads = map[string][]string{
	KindONNX:          {"auto", "fused", "graph", "go"},
	KindOpenVINO:      {"auto", "graph", "go"},
	KindOpenInference: {"auto", "served", "go"},
}

// Providers lists the values of runtime.provider that a kind of runtime takes; nil where it has none.
func Providers(kind string) []string { return slices.Clone(providers[kind]) }

// everyProvider lists the providers of all kinds, each once.
func everyProvider() (all []string) {
	for _, kind := range runtimeKinds {
		for _, p := range providers[kind] {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// runtimeKeys choose what runs the denoiser.
var runtimeKeys = []Key{
	{Name: "runtime.kind", Kind: String, Default: KindONNX, Enum: runtimeKinds, Help: "what runs the denoiser"},
	{Name: "runtime.provider", Kind: String, Default: "cpu", Enum: everyProvider(), Help: "execution provider (of onnx: cpu, cuda, tensorrt and so on, or plugin, the one of runtime.provider_library), or device (of openvino: cpu, gpu, npu, auto); auto takes a GPU where it can be had and says so where not"},
	{Name: "runtime.threads", Kind: Int, Default: 0, Min: at(0), Max: at(1024), Help: "threads within one operator (0: one per core)"},
	{Name: "runtime.streams", Kind: String, Default: "auto", Enum: []string{"auto", "on", "off"}, Help: "run the rows of a batch side by side on the CPU, a pass for each thread, where they come out even: that holds the weights twice, which auto does for models up to 64 MiB"},
	{Name: "runtime.device", Kind: Ints, Default: []any{0}, Min: at(0), Help: "number of the GPU, or a list of several, such as [0, 1]: the rows of a batch are spread over them"},
	{Name: "runtime.library", Kind: String, Default: "", Help: "library of ONNX Runtime or OpenVINO to load (empty: the installed one)"},
	{Name: "runtime.library_dirs", Kind: Texts, Default: []any{}, Help: "folders with the nvidia libraries for cuda"},
	{Name: "runtime.head", Kind: String, Default: "auto", Enum: []string{"auto", "fused", "graph", "go", "served"}, Help: "where the statistics are computed: a kernel in the session (cpu), operators in the graph, Go, or the graph that a server serves"},
	{Name: "runtime.optimize", Kind: String, Default: "all", Enum: []string{"all", "extended", "basic", "off"}, Help: "how far the graph is optimised when it is loaded"},
	{Name: "runtime.arena", Kind: Bool, Default: true, Help: "keep memory between passes (false: give it back, a little slower)"},
	{Name: "runtime.warmup", Kind: Bool, Default: false, Help: "run one pass at the start, so that the first real one is not slower"},
	{Name: "runtime.precision", Kind: String, Default: "model", Enum: []string{"model", "fp16", "bf16"}, Help: "numbers that the denoiser computes with: model takes its file as it is, fp16 and bf16 the file of that precision beside it, or one made from it at the start"},
	{Name: "runtime.cuda_graph", Kind: Bool, Default: false, Help: "record each batch shape as a CUDA graph and replay it: less time between operators, more memory"},
	{Name: "runtime.provider_library", Kind: String, Default: "", Help: "library of an execution provider that is shipped by itself, of runtime.provider plugin"},
	{Name: "runtime.provider_options", Kind: Map, Help: "options of the execution provider, by its own names, such as use_tf32 or trt_fp16_enable"},
	{Name: "runtime.session_config", Kind: Map, Help: "session configuration entries of ONNX Runtime, by their own dotted names"},
	{Name: "runtime.endpoints", Kind: Texts, Default: []any{}, Hide: HideAddress, Each: endpoint, EachIs: "addresses (grpc://host:port, grpcs://, http:// or https://; credentials go into runtime.headers)", Entries: []string{"grpc://gpu1:8001", "https://gpu2"}, Help: "servers of the Open Inference Protocol (KServe v2); batches go to those that are ready, in turn. On the command line as a JSON list, such as [\"grpc://gpu1:8001\"]"},
	{Name: "runtime.model", Kind: String, Default: "", Help: "name of the model on the server (empty: the model's own name)"},
	{Name: "runtime.model_version", Kind: String, Default: "", Help: "version of the model on the server (empty: the server's choice)"},
	{Name: "runtime.timeout", Kind: Float, Default: 30.0, Min: at(0), Above: true, Max: at(86400), Help: "seconds that a server may take for one pass, retries not counted"},
	{Name: "runtime.retries", Kind: Int, Default: 3, Min: at(0), Max: at(100), Help: "how often a pass that a server did not answer is tried again, on the next endpoint first"},
	{Name: "runtime.tls_ca", Kind: String, Default: "", Help: "file of the certificates that servers are checked with (empty: the system's)"},
	{Name: "runtime.tls_cert", Kind: String, Default: "", Help: "file of this client's own certificate, for servers that ask for one"},
	{Name: "runtime.tls_key", Kind: String, Default: "", Help: "file of the key of runtime.tls_cert"},
	{Name: "runtime.tls_name", Kind: String, Default: "", Help: "name that the servers' certificates must have (empty: that of the address)"},
	{Name: "runtime.headers", Kind: Map, Hide: hideValue, Help: "headers (gRPC: metadata) of every request; a value of the form $NAME is that of the environment variable"},
	{Name: "runtime.recording", Kind: String, Default: "", Help: "trace, written with --trace FILE --record, whose statistics answer in place of a model"},
}

// runtimeOf says which kinds of runtime a key is for; keys that are not named are for all.
var runtimeOf = map[string][]string{
	"runtime.provider": {KindONNX, KindOpenVINO}, "runtime.threads": {KindONNX, KindOpenVINO}, "runtime.device": {KindONNX}, "runtime.streams": {KindONNX}, "runtime.library": {KindONNX, KindOpenVINO},
	"runtime.library_dirs": {KindONNX}, "runtime.head": {KindONNX, KindOpenInference, KindOpenVINO}, "runtime.optimize": {KindONNX}, "runtime.arena": {KindONNX},
	"runtime.warmup": {KindONNX, KindOpenVINO}, "runtime.precision": {KindONNX}, "runtime.cuda_graph": {KindONNX}, "runtime.provider_options": {KindONNX, KindOpenVINO}, "runtime.provider_library": {KindONNX},
	"runtime.session_config": {KindONNX}, "runtime.endpoints": {KindOpenInference}, "runtime.model": {KindOpenInference}, "runtime.model_version": {KindOpenInference},
	"runtime.timeout": {KindOpenInference}, "runtime.retries": {KindOpenInference}, "runtime.tls_ca": {KindOpenInference}, "runtime.tls_cert": {KindOpenInference},
	"runtime.tls_key": {KindOpenInference}, "runtime.tls_name": {KindOpenInference}, "runtime.headers": {KindOpenInference}, "runtime.recording": {KindReplay},
}

// required are the keys without which a kind of runtime cannot run.
var required = map[string]string{KindOpenInference: "runtime.endpoints", KindReplay: "runtime.recording"}
