"""Writes wordpiece.json: what Hugging Face's own BertTokenizer makes of texts with a small vocabulary, with and without capital letters.   python wordpiece.py"""
import json
import pathlib
import tempfile

from transformers import BertTokenizerFast

here = pathlib.Path(__file__).parent
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "hello", "Hello", "caf", "##é", "##e", "cafe", ",", "!", "中", "文", "##s", "the", "The", "1", "##2", "'", "t"]
texts = ["unaffable", "Hello, the cafés!", "HELLO 12 中文", "don't [MASK] The", "", "Café  the\tthe\n!", "x\u0002the\ufffd"]
cases = []
for lower in (True, False):
    with tempfile.TemporaryDirectory() as folder:
        vocab = pathlib.Path(folder) / "vocab.txt"
        vocab.write_text("\n".join(vocabulary) + "\n")
        tokenizer = BertTokenizerFast(vocab=str(vocab), do_lower_case=lower)
        cases.append({"lower": lower, "ids": [tokenizer(text)["input_ids"] for text in texts]})
(here / "wordpiece.json").write_text(json.dumps({"vocabulary": vocabulary, "texts": texts, "cases": cases}, ensure_ascii=False, indent=1) + "\n")
