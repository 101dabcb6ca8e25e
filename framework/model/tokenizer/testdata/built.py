#!/usr/bin/env python3
"""Writes golden files of tokenizers that are made from data, as the Hugging Face library itself makes and reads them.

    python3 built.py ../../../../../shared/data | gzip -9n > built.json.gz     (pip install tokenizers==0.23.3)

One entry a tokenizer: {"name", "texts": what it was made from, "file": tokenizer.json, "cases": [[text, ids, ids with special
tokens, decode without special tokens], ...]}. A text that the library refuses has null ids.
"""
import gzip, json, re, sys
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors

SMILES = r"\%\([0-9]{3}\)|\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\||\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|\%[0-9]{2}|[0-9]"
data = sys.argv[1]


def lines(path):
    return gzip.open(f"{data}/{path}", "rt", encoding="utf-8", newline="").read().split("\n")


def made(name, pattern, texts, extra, begin=False, end=False):
    symbols = sorted({p for t in texts for p in re.findall(pattern, t)})
    specials = ["[PAD]", "[MASK]"] + ["[BOS]"] * begin + ["[EOS]"] * end
    tok = Tokenizer(models.WordLevel({s: i for i, s in enumerate(symbols + specials)}, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    tok.decoder = decoders.Fuse()
    tok.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    if begin or end:
        tok.post_processor = processors.TemplateProcessing(single="[BOS] " * begin + "$A" + " [EOS]" * end, pair="$A:0 $B:1",
                                                           special_tokens=[(s, tok.token_to_id(s)) for s in specials[2:]])
    cases = []
    for t in texts + extra:
        try:
            ids, full = tok.encode(t, add_special_tokens=False).ids, tok.encode(t).ids
            cases.append([t, ids, full, tok.decode(full)])
        except Exception:
            cases.append([t, None, None, None])
    return {"name": name, "kind": "smiles" if pattern == SMILES else "characters", "begin": begin, "end": end, "texts": texts,
            "file": json.loads(tok.to_str()), "cases": cases}


any = r"[\s\S]"
dickens = "\n".join(lines("text/dickens_train.txt.gz")[1000:1040])
moses = lines("mol/moses_train.csv.gz")[1:101]
sudoku = [l.split(",")[1] for l in lines("puzzle/sudoku_train.csv.gz")[1:6]]
odd = "tab\there \"quoted\" \\ </s> & é 日本 \U0001f600 \u2028 \u0000 \r\n"
json.dump([
    made("dickens", any, [dickens], ["", "[MASK]", "the [MASK] of", "Ω"]),
    made("odd", any, [odd], ["日\n", "x"], begin=True, end=True),
    made("sudoku", any, sudoku, ["0", "12[MASK]4"], begin=True),
    made("moses", SMILES, moses, ["", "C[MASK]Cl", "[Pd]", "Q", "BrCCl"], begin=True, end=True),
    made("brackets", SMILES, ["[C@@H](Br)%12%(123)>>[nH]c", "Cl.C\\C=C/C~|$*?:"], ["[C@@H]", "[nH", "%12"], end=True),
], sys.stdout, ensure_ascii=False)
