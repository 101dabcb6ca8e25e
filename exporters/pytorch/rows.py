"""A model's folder besides its network: rows from text, the settings that the model brings along, and the command line of samplers."""
import argparse
import json
import os
import re
import secrets
import sys

import numpy as np
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.realpath(__file__))
DRAWING = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "top_p_rule": "cross"}  # of draw in noise.py


class Rows:
    """config.json, mdm.json, generation_config.json and tokenizer.json of a folder."""

    def __init__(self, folder):
        def read(name):
            path = os.path.join(folder, name)
            if not os.path.exists(path):
                return {}
            with open(path, encoding="utf-8") as file:
                return json.load(file)

        self.config, self.manifest, self.generation = read("config.json"), read("mdm.json"), read("generation_config.json")
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.V, self.mask = self.config["vocab_size"], self.config["mask_token_id"]
        self.pad = self.config.get("pad_token_id") or 0
        self.mask_text = self.tokenizer.id_to_token(self.mask) or "[MASK]"
        self.added = self.tokenizer.get_added_tokens_decoder()
        self.length = self.manifest.get("length", {})
        self.fixed_length = self.length.get("policy") == "fixed"
        self.cap = min((n for n in (self.config.get("max_position_embeddings"), self.length.get("cap")) if n), default=0)
        self.insertion = self.manifest.get("family") == "insertion"
        self.prefix, self.suffix = self.template()

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def template(self):
        """The special tokens that stand before and behind a text."""
        probes = [self.mask_text] if self.mask in self.added else [self.tokenizer.id_to_token(i) for i in range(self.V)]
        for probe in filter(None, probes):
            bare, full = self.encode(probe), self.tokenizer.encode(probe).ids
            for at in range(len(full) - len(bare) + 1):
                if bare and full[at : at + len(bare)] == bare:
                    return full[:at], full[at + len(bare) :]
        raise ValueError("tokenizer.json: no text was found that shows its special tokens")

    def suppress(self):
        """bool [V], true for what is never written: the mask, ids without a token, suppress_tokens and, where rows grow, special tokens."""
        out = np.array([self.tokenizer.id_to_token(i) is None for i in range(self.V)])
        out[[self.mask, *self.generation.get("sampling", {}).get("suppress_tokens", [])]] = True
        if self.insertion:
            out[[i for i, token in self.added.items() if token.special]] = True
        return out

    def infill(self, text):
        """Ids of text with blanks: the mask's own text, and what mdm.json's infill names. A row of fixed length ends with blanks."""
        infill = self.manifest.get("infill", {})
        symbols, blank = infill.get("input_map", {}), infill.get("blank", "")
        pattern = re.compile("|".join(map(re.escape, sorted(symbols, key=lambda s: (-len(s), s)))) or "(?!)")
        parts = []
        for part in text.split(self.mask_text):
            part = pattern.sub(lambda found: symbols[found[0]], part)
            parts += (part.replace(blank, self.mask_text) if blank else part).split(self.mask_text)
        if self.mask in self.added:
            ids = self.encode(self.mask_text.join(parts))
        else:
            ids = self.encode(parts[0])
            for part in parts[1:]:
                ids += [self.mask, *self.encode(part)]
        if ids.count(self.mask) != len(parts) - 1:
            raise SystemExit(f"infill: the tokenizer reads {ids.count(self.mask)} of {len(parts) - 1} blanks; write {self.mask_text} as a word of its own")
        ids = self.prefix + ids + self.suffix
        if self.fixed_length and not self.insertion:
            at = len(ids) - len(self.suffix)
            ids[at:at] = [self.mask] * (self.cap - len(ids))
        return self.fitting(ids)

    def prompt(self, text, length):
        """Ids of a text and length blanks behind it; 0: as many as fit. Where rows grow, one blank marks the place."""
        ids = self.prefix + self.encode(text)
        if self.mask in ids:
            raise SystemExit("prompt: holds the mask; use --infill to fill blanks")
        length = 1 if self.insertion else length or self.cap - len(ids) - len(self.suffix)
        if length < 1:
            raise SystemExit("length: nothing is left to write; give --length, or a shorter prompt")
        return self.fitting(ids + [self.mask] * length + self.suffix)

    def fitting(self, ids):
        n = len(ids) - (ids.count(self.mask) if self.insertion else 0)
        if n == 0 or self.cap and n > self.cap or self.fixed_length and not self.insertion and n != self.cap:
            raise SystemExit(f"the row has {n} positions with special tokens, expected {'' if self.fixed_length else 'at most '}{self.cap}; make it fit")
        return ids

    def padded(self, tokens):
        """int64 [B, L] of arrays of tokens, and int64 [B, L] with 0 at padding."""
        L = max(map(len, tokens))
        ids = np.array([np.pad(row, (0, L - len(row)), constant_values=self.pad) for row in tokens], np.int64)
        return ids, np.array([np.arange(L) < len(row) for row in tokens], np.int64)

    def times(self, left):
        """float32 [B], as the network takes them, of the times that are left: 1 where all is noise."""
        noise_at = self.manifest.get("time", {}).get("noise_at", 0 if self.insertion else 1)
        return np.float32(left if noise_at else 1 - np.array(left))

    def text(self, ids):
        return self.tokenizer.decode([int(i) for i in ids], skip_special_tokens=True)

    def settings(self, section, known):
        """What generation_config.json says of a section. A setting without a rule here is refused, not passed over."""
        given = self.generation.get(section, {})
        if odd := sorted(set(given) - set(known) - {"name", "suppress_tokens"}):
            raise SystemExit(f"generation_config.json: {section}.{odd[0]}: this script has no rule for it, expected {', '.join(sorted(known))}; use mdmhost sample")
        return given

    def sampler(self, name, known=()):
        """What generation_config.json says of the sampler of that name. Another one is refused."""
        given = self.settings("sampler", known)
        if given.get("name", name) != name:
            raise SystemExit(f"generation_config.json: sampler {given['name']}: expected {name}; use mdmhost sample")
        return given


def arguments(rows, **more):
    """The command line; the model's own settings are the defaults."""
    p = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--prompt", default="", help="text that the samples begin with")
    p.add_argument("--infill", help=f"text whose blanks {rows.mask_text} are filled")
    p.add_argument("--length", type=int, default=rows.generation.get("length", 0), help="positions to write, at most where rows grow; 0: as many as fit")
    p.add_argument("--num", type=int, default=1, help="samples")
    p.add_argument("--steps", type=int, default=rows.generation.get("steps", 0), help="steps of a row; 0: one for each blank, 128 where rows grow")
    p.add_argument("--temperature", type=float, help="0: the most probable token")
    p.add_argument("--seed", type=int, help="of all noise; drawn where it is not given")
    p.add_argument("--batch", type=int, default=8, help="rows of a forward pass")
    p.add_argument("--device", default="cpu")
    p.add_argument("--format", choices=["text", "jsonl"], default="text")
    for name, kw in more.items():
        p.add_argument("--" + name, **kw)
    a = p.parse_args()
    a.seed = secrets.randbits(64) if a.seed is None else a.seed
    a.drawing = {**DRAWING, **{k: v for k, v in rows.settings("sampling", DRAWING).items() if k in DRAWING}}
    if a.temperature is not None:
        a.drawing["temperature"] = a.temperature
    a.ids = rows.infill(a.infill) if a.infill is not None else rows.prompt(a.prompt, a.length)
    return a


def show(rows, a, results):
    for i, ids in enumerate(results):
        text = rows.text(ids)
        print(text if a.format == "text" else json.dumps({"index": i, "seed": a.seed, "text": text, "tokens": ids}), flush=True)
    print(f"seed {a.seed}", file=sys.stderr)
