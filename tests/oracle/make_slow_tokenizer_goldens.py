"""Writes tests/data/slow_tokenizers: directories without a tokenizer.json, each with what transformers' slow
tokenizer makes of our texts.

    python tests/oracle/make_slow_tokenizer_goldens.py     (transformers 4.57.6, sentencepiece 0.2.3)
"""
import json
import pathlib
import shutil

from make_tokenizer_goldens import PAIRS, TEXTS
from slow_tokenizers import NAMES, build

ROOT = pathlib.Path(__file__).parents[1] / "data/slow_tokenizers"
MORE = ["1,000 and 9, or 97,5 in 1997, ok", "the waiting the <sep>ing 12", "a <extra_id_0> b<extra_id_99>", "<s> x </s> y",
        ">>fr<< The lamp", "__de__ lamp", "-----!!!!!!aaaaaaaaaa", "e\u0301e\u0301\u0316e", "ﾊﾞAﾊ", "<mask> [MASK]y",
        "``quoted''", "a@@ b</w> ▁c", "<0x41>ж中"]


def cases(tokenizer, target=False):
    for text in TEXTS + MORE:
        ids = tokenizer(text_target=text).input_ids if target else tokenizer(text).input_ids
        yield {"text": text, "ids": ids}
    if not target:
        for first, second in PAIRS:
            yield {"text": TEXTS[first], "pair": TEXTS[second], "ids": tokenizer(TEXTS[first], TEXTS[second]).input_ids}


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    for name in NAMES:
        tokenizer = build(name, ROOT / name)
        result = {"cases": list(cases(tokenizer))}
        if name == "marian":
            result["target_cases"] = list(cases(tokenizer, True))
        (ROOT / name / "slow.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
