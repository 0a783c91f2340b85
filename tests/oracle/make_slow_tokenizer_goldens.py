"""Writes tests/data/slow_tokenizers: directories without a tokenizer.json, each with what transformers'
AutoTokenizer makes of our texts.

    python tests/oracle/make_slow_tokenizer_goldens.py [NAME...]     (transformers 4.57.6, sentencepiece 0.2.3)

Without a name it remakes all of them.
"""
import json
import pathlib
import shutil
import sys

from transformers import T5Tokenizer

from make_tokenizer_goldens import PAIRS, TEXTS
from slow_tokenizers import MOSES, NAMES, SENTENCEPIECE, TWO_SIDED, build

ROOT = pathlib.Path(__file__).parents[1] / "data/slow_tokenizers"
MORE = ["1,000 and 9, or 97,5 in 1997, ok", "the waiting the <sep>ing 12", "a <extra_id_0> b<extra_id_99>", "<s> x </s> y",
        ">>fr<< The lamp", "__de__ lamp", "-----!!!!!!aaaaaaaaaa", "e\u0301e\u0301\u0316e", "ﾊﾞAﾊ", "<mask> [MASK]y",
        "``quoted''", "a@@ b</w> ▁c", "<0x41>ж中", "the lamp</s>", "lamp </s> "]


# Language codes and special tokens at different positions.
CODES = ["a >>fr<< b", " >>fr<< b", ">>xx<<b", ">> the <<lamp", ">>fr<<>>de<<the", "</s>>>fr<< x", "the</s> lamp",
         "x<pad>the", "the lamp >>", ">>the", "<unk>>>fr<<the"]

# Texts for Moses's rules.
SENTENCES = ["Mr. Lamp met Dr. No. He waits. i.e. the U.S. boat, e.g. this.", "No. 5 of Art. 7, pp. 3 and pp. x. No. Nos. 5",
             "5,300 and a,b,,c ,1 1,,2 x,1 1,x ,", "Wait... what.... no.. 'quoted.'", "\"Off,\" she said. \"Now\".,",
             "it's the boats' o'clock 90's 'n' ''two'' `one'", "« le\u00a0garçon\u00a0» 12\u00a0% 5\u00a0000 nº\u00a0 20\u00a0ºC 3\u00a0cm\u00a0!",
             "（窓）。　次 １２％！ “a” ‘b’ „c“ – d — e…", "a well-known -x- y- 3-4 a-b-c", "1,000.5 and 1.2.3 4 % (a ) : b ;",
             "The word ) . ends ( here", "tab\tand line\nend \u200bzero", "hall. the Hall. The hall. ٣ hall.", "a'b c'd' 'e 5's 5't"]


# Punctuation, apostrophes and line ends in Blenderbot's small model, and lowercasing of parts of words.
LINES = ["it's\nhere", "a\nb\n c'\nd", "x.\n(y)!?\n", "'\n\n'", "ΤΕΛΟΣ.Σ'Σ ΑΣ, ΑΣ'", "a\x1cb\n\x1c\nc", "a\r\n\tb \n",
         "__start__ x__end__y\n__newln__ __NEWLN__", "a...b,,c''d('e')"]

# Python lowercases a capital sigma at the end of a word to a final sigma; these become capital ones by
# normalization.
SIGMAS = ["τελοΣ ΤΕΛΟΣ", "α\U0001d6ba αϹ ο\U0001d6ba, \U0001d6ba \U0001d6baα", "α\U0001d6f4. ο'\U0001d72e ⓐ\U0001d768", "\U0001d6d3 ς σ ϲ"]

# Digits and capital letters that only a newer Unicode has; Python's digits before a comma; unknown words with
# such endings.
NEWER = ["\U0001fbf1\U0001fbf3\U0001fbf9, 12, 97,", "\u0663, x\u00b2, \u2460, 3\u0663,", "\U00010d50\U00010d51 \u1c89\ua7cb the \u0130",
         "ж ж12, жж7, the 5\u0663,7,"]


# After this many unknown characters Unigram's sums have started again.
FAR = {"text": " ----- the waiting boats aaaaaaaaaa ........!!!!! lamplighter", "behind": "#", "times": 100_000}


def case_of(tokenizer, text, target):
    given = {"text_target": text} if target else {"text": text}
    found = tokenizer(**given, return_special_tokens_mask=True)
    case = {"text": text, "ids": found["input_ids"], "decoded": tokenizer.decode(found["input_ids"]),
            "decoded_without_specials": tokenizer.decode(found["input_ids"], skip_special_tokens=True)}
    if len(text) < 20 and len(found["special_tokens_mask"]) == len(found["input_ids"]):
        case["special_tokens_mask"] = found["special_tokens_mask"]
    return case


def cases(tokenizer, target=False, more=(), two_sided=False):
    by_sentencepiece = not tokenizer.is_fast and isinstance(tokenizer, T5Tokenizer)
    for text in TEXTS + MORE + list(more):
        case = case_of(tokenizer, text, target)
        # Outputs are target text. If transformers reads a model with SentencePiece, each class has its own
        # spaces around special tokens, which this comparison ignores.
        if (two_sided and not target) or by_sentencepiece:
            del case["decoded"], case["decoded_without_specials"]
        yield case
    if not target:
        for first, second in PAIRS:
            if not TEXTS[second]:  # transformers' fast tokenizers treat an empty second text as absent
                continue
            yield {"text": TEXTS[first], "pair": TEXTS[second], "ids": tokenizer(TEXTS[first], TEXTS[second]).input_ids}


def main():
    for name in sys.argv[1:] or NAMES:
        shutil.rmtree(ROOT / name, ignore_errors=True)
        tokenizer = build(name, ROOT / name)
        two_sided = name in TWO_SIDED
        more = (CODES if two_sided else SENTENCES if name in MOSES else SIGMAS + NEWER if name == "albert"
                else LINES if name == "blenderbot_small" else ())
        result = {"cases": list(cases(tokenizer, more=more, two_sided=two_sided))}
        far = tokenizer(FAR["behind"] * FAR["times"] + FAR["text"]).input_ids if name in SENTENCEPIECE else []
        if 0 < len(far) < 100:  # with byte fallback there is a token for each
            result["cases"].append(FAR | {"ids": far})
        if two_sided:
            result["target_cases"] = list(cases(tokenizer, True, CODES))
        (ROOT / name / "slow.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
