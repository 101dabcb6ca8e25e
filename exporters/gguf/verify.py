import json
import os
import sys

from compare import compare, missing, np, safe_open

try:
    import gguf
except ImportError as error:
    missing(error)


def tensors(path, expected):
    """Holds every tensor of the file against the expected ones, bit by bit, and returns how many numbers there are."""
    want, got = dict(), {t.name: t for t in gguf.GGUFReader(path).tensors}
    with safe_open(expected, "np") as file:
        names = set(file.keys())
        if names != set(got):
            sys.exit(f"the file lacks {sorted(names - set(got))} and has {sorted(set(got) - names)} too many")
    for name, dtype, shape, data in raw(expected):
        t = got[name]
        if t.tensor_type.name != dtype or [int(n) for n in reversed(t.shape)] != shape or np.ascontiguousarray(t.data).tobytes() != data:
            sys.exit(f"{name} is read as {t.tensor_type.name} {list(t.shape)} with other numbers; expected {dtype} {shape}")
        want[name] = int(np.prod(shape))
    return sum(want.values())


def raw(path):
    """Names, element types, shapes and bytes of a safetensors file; numpy has no bfloat16."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
        for name, t in header.items():
            if name != "__metadata__":
                file.seek(start + t["data_offsets"][0])
                yield name, t["dtype"], t["shape"], file.read(t["data_offsets"][1] - t["data_offsets"][0])


def llama(path, llama_cpp):
    """A function that lets llama.cpp answer, row by row."""
    import ctypes
    silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    if not model:
        sys.exit("llama.cpp does not load the file")
    V = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    value = ctypes.create_string_buffer(8)
    llama_cpp.llama_model_meta_val_str(model, b"diffusion.shift_logits", value, len(value))
    shift, contexts = value.value == b"true", {}

    def answer(input_ids, attention_mask, timesteps):
        B, L = input_ids.shape
        logits = np.zeros((B, L, V), np.float32)
        if L not in contexts:
            params = llama_cpp.llama_context_default_params()
            params.n_ctx = params.n_batch = params.n_ubatch = max(L, 32)
            params.n_threads = params.n_threads_batch = 1
            params.flash_attn_type = 0  # single precision throughout
            contexts[L] = llama_cpp.llama_init_from_model(model, params)
            llama_cpp.llama_set_causal_attn(contexts[L], False)
        context = contexts[L]
        for b in range(B):
            n = int(attention_mask[b].sum())
            batch = llama_cpp.llama_batch_init(n, 0, 1)
            batch.n_tokens = n
            for i in range(n):
                batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = int(input_ids[b, i]), i, 1, 1
                batch.seq_id[i][0] = 0
            if llama_cpp.llama_decode(context, batch):
                sys.exit("llama.cpp does not decode a row")
            for i in range(n):
                logits[b, i] = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, i), shape=(V,))
            llama_cpp.llama_batch_free(batch)
            if shift:  # as llama-diffusion-cli does
                logits[b, 1:n] = logits[b, : n - 1].copy()
        return {"logits": logits}

    return answer, silent


def main(folder, reference, expected):
    path = os.path.join(folder, "model.gguf")
    elements = tensors(path, expected)
    try:
        import llama_cpp
    except ImportError:
        from importlib.metadata import PackageNotFoundError, version
        try:
            name = f"gguf {version('gguf')}"
        except PackageNotFoundError:
            name = "gguf"
        print(json.dumps({"stack": f"{name}, which reads what llama.cpp does; llama.cpp itself was not asked", "elements": elements}))
        return
    answer, _silent = llama(path, llama_cpp)
    compare(answer, reference, f"llama.cpp of llama-cpp-python {llama_cpp.__version__}")


main(*sys.argv[1:])
