"""Writes small models of every family with the logits that Hugging Face's own classes give: for each a folder with config.json and
model.safetensors, as their publishers write them, and expected.safetensors: input_ids, attention_mask [B, L] and logits [B, L, V]. Beside
them stands gradients.json.gz: gradients of a weighted cross-entropy by every tensor, in float64, of which the greatest magnitude and
some entries are kept.

LLaDA and Dream are no part of transformers. They are LLaMA and Qwen2 whose attention sees everything, under names of their own; Dream's
logits are those of the position before.   python golden.py"""
import gzip
import json
import pathlib
import shutil

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import (AlbertConfig, AlbertForMaskedLM, BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM, ModernBertConfig,
                          ModernBertForMaskedLM, Qwen2Config, Qwen2ForCausalLM, RobertaConfig, RobertaForMaskedLM)

HERE = pathlib.Path(__file__).parent
V, PAD = 40, 1
SMALL = {"vocab_size": V, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "pad_token_id": PAD}
BERT = {**SMALL, "num_hidden_layers": 2, "max_position_embeddings": 24}
SPECIAL = {"bos_token_id": 2, "eos_token_id": 3}
MODERN = {**SMALL, **SPECIAL, "cls_token_id": 2, "sep_token_id": 3, "num_hidden_layers": 5, "max_position_embeddings": 64, "local_attention": 6}


def randomised(model):
    """Weights of any size but zero, norms around one."""
    g = torch.Generator().manual_seed(7)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=g)
        with torch.no_grad():
            if p.dim() > 1:
                p.copy_(noise * 1.5 / p.shape[1] ** 0.5)
            else:
                p.copy_(0.2 * noise + (1 if name.endswith("weight") else 0))
    return model.eval()


def rows(length):
    """Three rows, the second one padded."""
    g = torch.Generator().manual_seed(length)
    ids = torch.randint(4, V, (3, length), generator=g)
    mask = torch.ones_like(ids)
    mask[1, length - 3:] = 0  # no more than half of a window: in float64, PyTorch makes NaN of a position that sees nothing
    return torch.where(mask == 1, ids, PAD), mask


def everywhere(mask):
    """The bias with which a causal model sees every real position [B, 1, L, L]."""
    return ((1 - mask.float()) * torch.finfo(torch.float32).min)[:, None, None, :].expand(-1, 1, mask.shape[1], -1)


def encoder(name, kind, config, length=11):
    config._attn_implementation = "eager"
    model = randomised(kind(config))
    ids, mask = rows(length)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask).logits
    write(name, ids, mask, logits)
    model.save_pretrained(HERE / name)
    (HERE / name / "generation_config.json").unlink(missing_ok=True)
    differentiate(name, model, ids, mask, lambda m: m(input_ids=ids, attention_mask=mask).logits)


def decoder(name, kind, config, described, rename, shift):
    config._attn_implementation = "eager"
    model = randomised(kind(config))
    ids, mask = rows(11)

    def shifted(m):
        logits = m(input_ids=ids, attention_mask=everywhere(mask).to(m.dtype), use_cache=False).logits
        return torch.cat([logits[:, :1], logits[:, :-1]], dim=1) if shift else logits

    with torch.no_grad():
        logits = shifted(model)
    write(name, ids, mask, logits)
    (HERE / name / "config.json").write_text(json.dumps(described, indent=2) + "\n")
    save_file({rename(k): v.contiguous() for k, v in model.state_dict().items()}, HERE / name / "model.safetensors", {"format": "pt"})
    differentiate(name, model, ids, mask, shifted, rename)


def write(name, ids, mask, logits):
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    save_file({"input_ids": ids, "attention_mask": mask, "logits": logits.contiguous()}, HERE / name / "expected.safetensors")


GRADIENTS = []


def differentiate(name, model, ids, mask, logits, rename=lambda name: name):
    """Keeps some gradients of the sum of weights * cross-entropy / 8."""
    g = torch.Generator().manual_seed(3)
    targets = torch.randint(0, V, ids.shape, generator=g)
    weights = torch.rand(ids.shape, generator=g) * mask
    model = model.double()
    loss = (F.cross_entropy(logits(model).flatten(0, 1), targets.flatten(), reduction="none") * weights.flatten().double()).sum() / 8
    loss.backward()
    kept = {}
    for key, p in model.named_parameters():
        grad = torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten()
        at = sorted({int(grad.abs().argmax()), *torch.randint(0, len(grad), (5,), generator=g).tolist()})
        kept[rename(key)] = {"max": grad.abs().max().item(), "at": at, "values": [float(f"{v:.8g}") for v in grad[at].tolist()]}
    GRADIENTS.append({"name": name, "rows": ids.shape[0], "length": ids.shape[1], "input_ids": ids.flatten().tolist(), "attention_mask": mask.flatten().tolist(),
                      "targets": targets.flatten().tolist(), "weights": weights.flatten().tolist(), "loss": loss.item(), "gradients": kept})


def llada(name):
    for ours, theirs in {"model.embed_tokens": "transformer.wte", "model.norm": "transformer.ln_f", "lm_head": "transformer.ff_out", "model.layers": "transformer.blocks",
                         "self_attn.o_proj": "attn_out", "self_attn.": "", "input_layernorm": "attn_norm", "post_attention_layernorm": "ff_norm",
                         "mlp.gate_proj": "ff_proj", "mlp.up_proj": "up_proj", "mlp.down_proj": "ff_out"}.items():
        name = name.replace(ours, theirs)
    return "model." + name


encoder("bert", BertForMaskedLM, BertConfig(**BERT))
encoder("albert", AlbertForMaskedLM, AlbertConfig(**BERT, **SPECIAL, embedding_size=16, hidden_act="gelu_new"))
encoder("albert-groups", AlbertForMaskedLM, AlbertConfig(**{**BERT, "num_hidden_layers": 5}, **SPECIAL, embedding_size=16, num_hidden_groups=2, hidden_act="relu"))
encoder("roberta", RobertaForMaskedLM, RobertaConfig(**{**BERT, "max_position_embeddings": 26}, **SPECIAL, type_vocab_size=1, layer_norm_eps=1e-5))
encoder("modernbert", ModernBertForMaskedLM, ModernBertConfig(**MODERN), 19)
encoder("modernbert-untied", ModernBertForMaskedLM, ModernBertConfig(**{**MODERN, "num_hidden_layers": 3}, hidden_activation="gelu_pytorch_tanh", classifier_activation="gelu_pytorch_tanh",
                                                                     tie_word_embeddings=False, norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True,
                                                                     layer_types=["full_attention", "sliding_attention", "full_attention"]), 19)
decoder("llada", LlamaForCausalLM, LlamaConfig(**SMALL, num_hidden_layers=3, num_key_value_heads=4, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=5e5), {
    "architectures": ["LLaDAModelLM"], "model_type": "llada", "d_model": 32, "n_heads": 4, "n_kv_heads": 4, "n_layers": 3, "mlp_hidden_size": 48, "mlp_ratio": 4,
    "vocab_size": V, "embedding_size": V, "max_sequence_length": 64, "rope": True, "rope_theta": 5e5, "rope_full_precision": True, "alibi": False, "alibi_bias_max": 8.0,
    "activation_type": "silu", "block_type": "llama", "block_group_size": 1, "layer_norm_type": "rms", "layer_norm_with_affine": True, "rms_norm_eps": 1e-5,
    "bias_for_layer_norm": False, "include_bias": False, "include_qkv_bias": False, "attention_layer_norm": False, "attention_layer_norm_with_affine": True,
    "input_emb_norm": False, "scale_logits": False, "multi_query_attention": None, "weight_tying": False, "init_fn": "mitchell", "init_std": 0.02,
    "flash_attention": False, "use_cache": False, "precision": "amp_bf16", "mask_token_id": 0, "pad_token_id": PAD, "eos_token_id": PAD,
}, llada, False)
decoder("dream", Qwen2ForCausalLM, Qwen2Config(**SMALL, num_hidden_layers=3, num_key_value_heads=2, head_dim=12, max_position_embeddings=64, rms_norm_eps=1e-6, rope_theta=1e6), {
    "architectures": ["DreamModel"], "model_type": "Dream", **SMALL, "num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
    "rope_theta": 1e6, "rope_scaling": None, "hidden_act": "silu", "tie_word_embeddings": False, "use_sliding_window": False, "sliding_window": None, "max_window_layers": 28,
    "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True, "use_mrope": False, "mask_token_id": 0, "bos_token_id": PAD, "eos_token_id": PAD,
}, lambda name: name, True)
with gzip.GzipFile(HERE / "gradients.json.gz", "wb", 9, mtime=0) as f:
    f.write(json.dumps(GRADIENTS, separators=(",", ":")).encode())
