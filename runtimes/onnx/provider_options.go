package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	word "github.com/mdmhost/mdmhost/framework/nearest"
)

// An option of a provider says what its value must be, or "" where that is fine.
type option func(value string) string

func flag(v string) string {
	return oneOf("0", "1", "false", "true", "False", "True")(v)
}

func integer(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err != nil {
		return "an integer"
	}
	return ""
}

func natural(v string) string {
	if _, err := strconv.ParseUint(v, 10, 64); err != nil {
		return "an integer from 0 up"
	}
	return ""
}

func text(v string) string {
	if v == "" {
		return "a text"
	}
	return ""
}

func oneOf(values ...string) option {
	return func(v string) string {
		if slices.Contains(values, v) {
			return ""
		}
		return strings.Join(values, ", ")
	}
}

// The options of the CUDA provider in ONNX Runtime 1.31.
var cudaOptions = map[string]option{
	"gpu_mem_limit": natural, "arena_extend_strategy": oneOf("kNextPowerOfTwo", "kSameAsRequested"), "do_copy_in_default_stream": flag,
	"cudnn_conv_algo_search": oneOf("EXHAUSTIVE", "HEURISTIC", "DEFAULT"), "cudnn_conv_use_max_workspace": flag, "cudnn_conv1d_pad_to_nc1d": flag,
	"enable_skip_layer_norm_strict_mode": flag, "prefer_nhwc": flag, "use_ep_level_unified_stream": flag, "use_tf32": flag, "fuse_conv_bias": flag, "sdpa_kernel": natural,
	"tunable_op_enable": flag, "tunable_op_tuning_enable": flag, "tunable_op_max_tuning_duration_ms": natural,
}

// What the runtime itself says to the CUDA provider, or nobody can from a file.
var cudaReserved = map[string]string{
	"device_id": "runtime.device", "enable_cuda_graph": "runtime.cuda_graph",
	"user_compute_stream": "", "has_user_compute_stream": "", "gpu_external_alloc": "", "gpu_external_free": "", "gpu_external_empty_cache": "",
}

// The options of the TensorRT provider in ONNX Runtime 1.31.
var tensorrtOptions = map[string]option{
	"trt_auxiliary_streams": integer, "trt_bf16_enable": flag, "trt_build_heuristics_enable": flag, "trt_builder_optimization_level": integer,
	"trt_context_memory_sharing_enable": flag, "trt_detailed_build_log": flag, "trt_dla_core": natural, "trt_dla_enable": flag, "trt_dump_ep_context_model": flag,
	"trt_dump_subgraphs": flag, "trt_engine_cache_enable": flag, "trt_engine_cache_path": text, "trt_engine_cache_prefix": text, "trt_engine_decryption_enable": flag,
	"trt_engine_decryption_lib_path": text, "trt_engine_hw_compatible": flag, "trt_ep_context_embed_mode": natural, "trt_ep_context_file_path": text,
	"trt_extra_plugin_lib_paths": text, "trt_force_sequential_engine_build": flag, "trt_force_timing_cache": flag, "trt_fp16_enable": flag,
	"trt_int8_calibration_table_name": text, "trt_int8_enable": flag, "trt_int8_use_native_calibration_table": flag, "trt_layer_norm_fp32_fallback": flag,
	"trt_load_user_initializer": flag, "trt_max_partition_iterations": natural, "trt_max_workspace_size": natural, "trt_min_subgraph_size": natural,
	"trt_onnx_model_folder_path": text, "trt_op_types_to_exclude": text, "trt_preview_features": text, "trt_profile_max_shapes": text, "trt_profile_min_shapes": text,
	"trt_profile_opt_shapes": text, "trt_sparsity_enable": flag, "trt_tactic_sources": text, "trt_timing_cache_enable": flag, "trt_timing_cache_path": text,
	"trt_weight_stripped_engine_enable": flag,
}

var tensorrtReserved = map[string]string{
	"device_id": "runtime.device", "trt_cuda_graph_enable": "provider cuda with runtime.cuda_graph",
	"user_compute_stream": "", "has_user_compute_stream": "", "trt_onnx_bytestream": "", "trt_onnx_bytestream_size": "", "trt_external_data_bytestream": "",
	"trt_external_data_bytestream_size": "",
}

var coreMLOptions = map[string]option{
	"ModelFormat": oneOf("MLProgram", "NeuralNetwork"), "MLComputeUnits": oneOf("ALL", "CPUOnly", "CPUAndGPU", "CPUAndNeuralEngine"), "RequireStaticInputShapes": flag,
	"EnableOnSubgraphs": flag, "SpecializationStrategy": oneOf("Default", "FastPrediction"), "ProfileComputePlan": flag, "AllowLowPrecisionAccumulationOnGPU": flag, "ModelCacheDirectory": text,
}

var xnnpackOptions = map[string]option{"intra_op_num_threads": natural}

// check refuses options that the provider does not have: ONNX Runtime itself takes some of them in silence.
func (p *provider) check(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		problem := func(format string, args ...any) error {
			return fmt.Errorf("runtime: provider_options.%s: provider %s "+format, append([]any{name, p.name}, args...)...)
		}
		if instead, ok := p.reserved[name]; ok && instead != "" {
			return problem("gets that option from elsewhere; use %s", instead)
		} else if ok {
			return problem("gets that option from the runtime alone, because it is an address in memory; leave it out")
		}
		if p.options == nil {
			continue
		}
		is := p.options[name]
		if is == nil {
			return problem("has no such option%s", unknown(name, slices.Sorted(maps.Keys(p.options))))
		}
		if want := is(options[name]); want != "" {
			return problem("expects %s, found %q; correct it", want, options[name])
		}
	}
	return nil
}

// unknown ends a message about a name that is not among those that there are.
func unknown(name string, names []string) string {
	if perhaps := word.Perhaps(name, names); perhaps != "" {
		return perhaps
	}
	return "; use " + strings.Join(names, ", ")
}
