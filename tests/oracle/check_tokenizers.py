"""Compares `attend tokenize` with `tokenizers` and with AutoTokenizer on random text.

    python check_tokenizers.py --attend ../../build/release/attend [--seed N] [--count N] [--texts N] [--slow]

Without --slow: --count tokenizer.json files of randomly drawn components, every field of every encoding. With
--slow: every directory of slow_tokenizers.py with SentencePiece's own normalization rules, the ids. Prints
what differs and exits with 1 if anything does.
"""
import argparse
import ctypes
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter

from tokenizers import Regex, Tokenizer
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import trainers as T

from make_tokenizer_goldens import CORPUS, TEXTS
from sentencepiece_models import charsmap

BLOCKS = [(0x20, 0x7E)] * 8 + [
    (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x530, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F),
    (0xE00, 0xE7F), (0x10A0, 0x11FF), (0x1200, 0x13FF), (0x1E00, 0x20CF), (0x2100, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x4FFF),
    (0xAC00, 0xACFF), (0xF900, 0xFAFF), (0xFB00, 0xFFEF), (0x1F300, 0x1FAFF), (0x1, 0x1F), (0x7F, 0xA0), (0x1D400, 0x1D7FF),
    (0x2000, 0x206F), (0xE0000, 0xE007F),
    # Scripts newer than many tables, private use, noncharacters, and stacked marks.
    (0x11F00, 0x11F59), (0x17000, 0x17FFF), (0x18B00, 0x18CD5), (0x16D40, 0x16D79), (0x1E4D0, 0x1E4FF), (0x10D40, 0x10D8F),
    (0xE000, 0xE0FF), (0xF0000, 0xF00FF), (0xFFF0, 0xFFFF), (0x1FBF0, 0x1FBF9), (0xFE00, 0xFE0F), (0x300, 0x345), (0x20D0, 0x20F0),
    (0x1AB0, 0x1ACE), (0x0, 0x1F), (0x80, 0x9F), (0x3400, 0x34FF), (0x20000, 0x200FF), (0x30000, 0x300FF), (0x2E80, 0x2FDF),
    (0x700, 0x74F), (0x780, 0x7BF), (0xA00, 0xDFF), (0xE80, 0xFFF), (0x1400, 0x18FF), (0xA000, 0xABFF), (0x10000, 0x10FFF)]


# Characters that are newer or older than Python's Unicode: transformers' slow tokenizers use Python's tables,
# attend and `tokenizers` their own.
UTF8PROC = ctypes.CDLL("libutf8proc.so.2")
UTF8PROC.utf8proc_category_string.restype = ctypes.c_char_p


def is_disputed(c):
    return (unicodedata.category(c) == "Cn") != (UTF8PROC.utf8proc_category_string(ord(c)) == b"Cn")


def random_text(rng, size):
    parts = []
    while sum(map(len, parts)) < size:
        kind = rng.random()
        if kind < 0.5:
            parts.append(rng.choice(CORPUS.split()) + rng.choice(["", " ", "  ", "\t", ","]))
        elif kind < 0.7:
            parts.append(rng.choice(TEXTS))
        else:
            first, last = rng.choice(BLOCKS)
            characters = (chr(rng.randint(first, last)) for _ in range(rng.randint(1, 5)))
            parts.append("".join(c for c in characters if c not in "\n\r"))
    return "".join(parts)


def attend_encodings(options, model, texts, *more):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    result = subprocess.run([*options.attend.split(), "tokenize", str(model), "--json", *more], input=lines,
                            capture_output=True, text=True, timeout=300)
    if result.returncode != 0 and not result.stdout:
        return [{"error": result.stderr.strip()}] * len(texts)
    # Not splitlines(): a token may contain one of the rarer line ends.
    return [json.loads(line) for line in result.stdout.split("\n") if line]


def draw_tokenizer(rng, maps):
    normalizers = [
        lambda: N.NFC(), lambda: N.NFD(), lambda: N.NFKC(), lambda: N.NFKD(), lambda: N.Lowercase(), lambda: N.StripAccents(),
        lambda: N.Strip(rng.random() < 0.5, rng.random() < 0.5), lambda: N.Nmt(), lambda: N.Replace(rng.choice("ae "), rng.choice(["", "xy"])),
        lambda: N.Replace(Regex(rng.choice([" {2,}", r"\s+", r"\p{P}", "[aeiou](?=n)"])), rng.choice(["", " ", "-+"])),
        lambda: N.Prepend(rng.choice(["▁", "xy"])), lambda: N.Precompiled(rng.choice(maps)),
        lambda: N.BertNormalizer(rng.random() < 0.5, rng.random() < 0.5, rng.choice([None, True, False]), rng.random() < 0.5)]
    behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    pre_tokenizers = [
        lambda: P.BertPreTokenizer(), lambda: P.ByteLevel(rng.random() < 0.5, use_regex=rng.random() < 0.5),
        lambda: P.Metaspace(prepend_scheme=rng.choice(["always", "first", "never"]), split=rng.random() < 0.5),
        lambda: P.Whitespace(), lambda: P.WhitespaceSplit(), lambda: P.Digits(rng.random() < 0.5), lambda: P.UnicodeScripts(),
        lambda: P.Punctuation(rng.choice(behaviors)), lambda: P.CharDelimiterSplit(rng.choice("ae ")),
        lambda: P.FixedLength(length=rng.randint(1, 7)),
        lambda: P.Split(rng.choice([" ", "an", Regex(r"\w+"), Regex(r"\s+"), Regex("[aeiou]+|$"), Regex(r"\p{N}{1,3}")]),
                        rng.choice(behaviors), invert=rng.random() < 0.3)]
    kind = rng.choice(["bpe", "bpe", "wordpiece", "unigram"])
    tokenizer = Tokenizer(M.BPE(unk_token=rng.choice([None, "<unk>"]), fuse_unk=rng.random() < 0.5, byte_fallback=rng.random() < 0.5,
                                ignore_merges=rng.random() < 0.3))
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    trainer = T.BpeTrainer(vocab_size=600, special_tokens=["<unk>"] + bytes_, show_progress=False)
    normalizers = [make() for make in rng.sample(normalizers, rng.randint(0, 3))]
    pre_tokenizers = [make() for make in rng.sample(pre_tokenizers, rng.randint(1, 2))]
    tokenizer.normalizer = N.Sequence(normalizers) if normalizers else None
    tokenizer.pre_tokenizer = P.Sequence(pre_tokenizers)
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainer)
    vocabulary = sorted(tokenizer.get_vocab())
    if kind == "wordpiece":
        tokens = vocabulary + ["##" + token for token in vocabulary]
        tokenizer.model = M.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="<unk>")
    if kind == "unigram":
        tokenizer.model = M.Unigram([("<unk>", 0.0)] + [(token, -rng.random() * 9 - 1) for token in vocabulary if token != "<unk>"],
                                    unk_id=0, byte_fallback=rng.random() < 0.5)
    # Of the special tokens of training, only <unk> stays special.
    fields = json.loads(tokenizer.to_str())
    fields["added_tokens"] = [token for token in fields["added_tokens"] if token["content"] == "<unk>"]
    if rng.random() < 0.3:
        fields["truncation"] = {"direction": rng.choice(["Left", "Right"]), "max_length": rng.randint(3, 20),
                                "strategy": "LongestFirst", "stride": rng.randint(0, 2)}
    if rng.random() < 0.3:
        fields["padding"] = {"strategy": {"Fixed": rng.randint(1, 30)}, "direction": rng.choice(["Left", "Right"]),
                             "pad_to_multiple_of": rng.choice([None, 8]), "pad_id": 3, "pad_type_id": 1, "pad_token": "x"}
    return fields


def expected(encoding):
    return {"ids": encoding.ids, "tokens": encoding.tokens, "type_ids": encoding.type_ids, "attention_mask": encoding.attention_mask,
            "special_tokens_mask": encoding.special_tokens_mask, "offsets": [list(span) for span in encoding.offsets],
            "word_ids": encoding.word_ids, "overflowing": [expected(e) for e in encoding.overflowing]}


class Report:
    def __init__(self):
        self.compared, self.different = 0, Counter()

    def add(self, what, text, ours, theirs):
        self.compared += 1
        if ours == theirs:
            return
        self.different[what] += 1
        if self.different.total() <= 12:
            fields = [name for name in theirs if ours.get(name) != theirs[name]]
            print(f"DIFFERENT {what} {text!r}\n  ours   {ours.get('error') or [ours.get(f) for f in fields][:1]}"
                  f"\n  theirs {[theirs[f] for f in fields][:1]}")


def check_fast(options, rng, directory, report):
    maps = [charsmap(), charsmap("nmt_nfkc"), charsmap("nmt_nfkc_cf")]
    for number in range(options.count):
        fields = draw_tokenizer(rng, maps)
        path = directory / "tokenizer.json"
        path.write_text(json.dumps(fields))
        tokenizer = Tokenizer.from_file(str(path))
        texts = [random_text(rng, rng.choice([5, 20, 80])) for _ in range(options.texts)]
        ours = attend_encodings(options, path, texts, "--truncation", "saved", "--padding", "saved")
        what = json.dumps({name: fields[name] for name in ("normalizer", "pre_tokenizer")})[:300] + fields["model"]["type"]
        for text, found in zip(texts, ours):
            try:
                theirs = expected(tokenizer.encode(text))
            except BaseException:  # includes a panic of Rust
                theirs = None
            if theirs is None:
                continue
            report.add(f"{number} {what}", text, found, theirs)


def check_slow(options, rng, directory, report):
    from slow_tokenizers import NAMES, SENTENCEPIECE, build
    for name in NAMES:
        for rules in ("nmt_nfkc", "nmt_nfkc_cf", "identity") if name in SENTENCEPIECE else (None,):
            fields = {} if rules is None or name in ("llama", "llama_unused", "bpe_symbols") else {"rules": rules}
            tokenizer = build(name, directory / f"{name}-{rules}", **fields)
            # The last text is so long that Unigram's sums start again.
            texts = ["".join(c for c in random_text(rng, length) if not is_disputed(c))
                     for length in [*rng.choices([5, 20, 80, 400], k=options.texts), 60_000]]
            for text, found in zip(texts, attend_encodings(options, directory / f"{name}-{rules}", texts)):
                report.add(f"{name} {rules}", text, {"ids": found.get("ids"), "error": found.get("error")},
                           {"ids": tokenizer(text).input_ids, "error": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attend", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as directory:
        (check_slow if options.slow else check_fast)(options, random.Random(options.seed), pathlib.Path(directory), report)
    for what, count in report.different.items():
        print(f"{count:5} different {what}")
    print(f"{report.compared} texts compared, {report.different.total()} different")
    sys.exit(1 if report.different or not report.compared else 0)


if __name__ == "__main__":
    main()
