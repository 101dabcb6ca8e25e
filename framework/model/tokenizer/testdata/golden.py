#!/usr/bin/env python3
"""Writes golden vectors: ids and texts of Hugging Face tokenizers for vocabularies that the pure-Go reader serves.

    python3 golden.py ../../embedded/rxnmapper-albert/tokenizer.json MOSES.csv.gz | gzip -9n > golden.json.gz     (pip install tokenizers==0.23.3)

One entry a tokenizer: {"name", "file": a tokenizer.json (or "path"), "cases": [[text, ids, ids with special tokens,
decode without special tokens, decode with them], ...]}. A text that the library refuses has null ids.
"""
import gzip, json, random, sys
from tokenizers import Tokenizer

random.seed(5)


def added(id, content, special=True, **kw):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special, **kw}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def file(vocab, pre, tokens=(), unk="[UNK]", decoder={"type": "Fuse"}, post=None, normalizer=None):
    if not isinstance(vocab, dict):
        vocab = {t: i for i, t in enumerate(vocab)}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": normalizer,
            "pre_tokenizer": pre, "post_processor": post, "decoder": decoder,
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": unk}}


def exact(v):  # what reference joint_model.py writes
    letters = [chr(97 + i) for i in range(v)] + ["[MASK]", "[PAD]"]
    return file(letters, split("."), [added(v, "[MASK]"), added(v + 1, "[PAD]")], unk="[PAD]")


bert = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
base = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
specials = [added(i, t) for i, t in enumerate(base)]
words = base + "the cat sat on mat , . ! don 't aa ab b - _ -- the- cat- --b b-- a --a a1 1 12 é ß ж 日 本 日本 x\ny x y".split(" ")
chars = base + sorted(set("abcdefghijklmnopqrstuvwxyz .\n0123456789-éж日"))
alphabet = {}
n = 0
for b in range(256):
    c = chr(b)
    if b < 33 or 126 < b < 161 or b == 173:
        c, n = chr(256 + n), n + 1
    alphabet[c] = b
bytes_vocab = {**alphabet, "<mask>": 256, "</s>": 257}
template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"X": {"id": "X", "ids": [1, 2], "tokens": ["[CLS]", "[SEP]"]}}}

general = ["", " ", "the cat sat on the mat.", "The Cat, the cat!", "a[MASK]b", "[MASK]", "[MASK][MASK] the [MASK] cat", "don't", "aa--b--a",
           "--a", "a--", "----", "a-b-c", "x\ny", "\n\n", "a  b\t\u00a0c", "éжß日本", "日本 日 本", "[CLS] the [SEP]", "[CLS", "[MASK", "a_b _a", "the12",
           "ab1a", "e\u0301", "\U0001f600 cat", "\u200ba", "a\u200db", "\u24b6a", "\u0130I", "ΑΣ", "the\u3000cat", "0123456789", "<mask>a</s>", "a <mask> b",
           "\u0000a", "nb nbb bn", " [MASK] a", "catthe the_cat thecat", "a\u00b2 \u00bd-b"]
junk = list("ab-_ .1\n") + ["the", "cat", "é", "日", "[MASK]", "[", "aa", " ", "<mask>"]
general += ["".join(random.choices(junk, k=random.randint(1, 12))) for _ in range(60)]

smiles, moses = sys.argv[1:3]
molecules = gzip.open(moses, "rt").read().split()[1:101]
masked = [m.replace("c", "[MASK]", random.randint(1, 4)) for m in molecules[:20]]
odd = ["", "C", "[MASK]", "CC(=O)Nc1ccc([MASK])cc1", "CC(=O)Qc1", "xyz", "C C", "[Pd]", "[NoSuchAtom]", "[C@@H]", "[C@@H", "Cl[MASK]Br", "%12", "%(123)", ">>",
       "C>>", "c1ccccc1.[Na+]", "[CLS]C[SEP]", "[unused1]", "é", "\n", "[[MASK]]", "[MASK", "C\\C=C/C", "~|$*?:"]
jobs = [("smiles", None, odd + molecules + masked), ("exact3", exact(3), general + ["abc", "a[MASK]c[PAD]", "abcd"]),
        ("exact26", exact(26), general),
        ("characters", file(chars, split("(?m:.)"), specials, post=bert), general),
        ("any character", file(chars, split(r"[\s\S]"), specials, post=template), general),
        ("whitespace", file(words, {"type": "Whitespace"}, specials, post=bert, decoder=None), general),
        ("whitespace split", file(words, {"type": "WhitespaceSplit"}, specials, post=bert, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}), general),
        ("lowercase", file(words, {"type": "Whitespace"}, [*specials, added(len(words), "the cat", special=False, normalized=True)],
                           normalizer={"type": "Sequence", "normalizers": [{"type": "Lowercase"}]}, decoder=None), general),
        ("no pre-tokenizer", file(words, None, specials, decoder=None), general),
        ("no unknown", file(words[4:], {"type": "WhitespaceSplit"}, [], unk="<nothing>", decoder=None), general),
        ("strip", file(words, {"type": "WhitespaceSplit"}, [*specials[:3], added(3, "[MASK]", lstrip=True, rstrip=True),
                       added(len(words), "thecat", special=False), added(len(words) + 1, "nb", special=False, single_word=True),
                       added(len(words) + 2, "nbb", special=False)], decoder=None), general),
        ("bytes", file(bytes_vocab, {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}, split(".")]},
                       [added(256, "<mask>"), added(257, "</s>")], unk="</s>", decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}), general),
        ("sequence", file(words, {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, split("-", kind="String"), split(r"\d", "Contiguous")]}, specials), general)]
for behavior in ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]:
    for invert in [False, True]:
        for pattern, kind in [("-", "String"), (r"-|\s", "Regex"), (r"\w+", "Regex"), (r"[^\d\-]{1,2}", "Regex"), (r"\W|[a-b]", "Regex"), (r"\p{L}\p{M}*|\S", "Regex")]:
            jobs.append((f"{behavior} {pattern} {invert}", file(words, split(pattern, behavior, invert, kind), specials), general[:60]))

out = []
for name, spec, texts in jobs:
    t = Tokenizer.from_str(json.dumps(spec)) if spec else Tokenizer.from_file(smiles)
    cases = []
    for s in texts:
        try:
            ids, full = t.encode(s, add_special_tokens=False).ids, t.encode(s, add_special_tokens=True).ids
            cases.append([s, ids, full, t.decode(full, skip_special_tokens=True), t.decode(full, skip_special_tokens=False)])
        except Exception:
            cases.append([s, None, None, None, None])
    size = t.get_vocab_size()
    if name == "bytes":
        for _ in range(60):  # broken UTF-8
            ids = random.choices(range(256), k=random.randint(1, 6)) if random.random() < .5 else random.choices([0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xc3, 65, 0xff, 0xed, 0xa0], k=6)
            cases.append([None, ids, ids, t.decode(ids, skip_special_tokens=True), t.decode(ids, skip_special_tokens=False)])
    out.append({"name": name, "file": spec, "cases": cases})
print("[" + ",\n".join("{" + f'"name": {json.dumps(j["name"])}, "file": {json.dumps(j["file"])}, "cases": [\n' + ",\n".join(map(json.dumps, j["cases"])) + "]}" for j in out) + "]")
