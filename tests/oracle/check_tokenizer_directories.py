"""Compares `attend tokenize` and `attend detokenize` with AutoTokenizer on directories drawn by chance.

    python check_tokenizer_directories.py --attend ../../build/release/attend [--seed N] [--count N] [--texts N]
        [--kind KIND...] [--keep DIRECTORY]

--count directories of every kind of tokenizer_directories.py. Of each: texts and pairs with every field that
transformers gives, cut and padded, and ids back to text with special tokens and without. Prints what
differs and exits with 1 if anything does.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from collections import Counter

import transformers

import tokenizer_directories as directories
from check_tokenizers import random_text

transformers.logging.set_verbosity_error()
INSERTS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<extra_id_0>", "<eos>", "</s> x", " <s> ",
           "__de__", ">>fr<<", "en_XX", "<sep>", "<eop>", "<special3>", "<|endoftext|>", "<|ENDOFTEXT|>", "’", "Ж", "\r\n",
           "𖼀", "𗀀", "𘬀", "𑼀", "😀", "👩‍👩‍👧", "don't do n't .", "a . b ! c ? 's", "▁", "  ", "\u3000", "[mask]", "<MASK!>"]
INSERTS += directories.NAMES


SPACES = "\t\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2003\u2007\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"


def long_word(rng):
    letters = rng.choice(["abc", "aé", "пр", "日本", "!?", "0123456789", "a\u0301", "😀", "-a", "Ab", "▁x", "\u0301", "ก็"])
    return "".join(rng.choice(letters) for _ in range(rng.choice([99, 101, 150, 400])))


def nasty_text(rng):
    parts = [random_text(rng, rng.choice([3, 10, 40]))]
    if rng.random() < 0.1:
        parts.append(long_word(rng))
    if rng.random() < 0.2:
        parts.append("".join(rng.choice(SPACES) for _ in range(rng.randint(1, 4))).join(["a", "Die", ".", ""]))
    for _ in range(rng.randint(0, 4)):
        parts.append(rng.choice(INSERTS) + rng.choice(["", " ", "  "]))
        parts.append(random_text(rng, rng.choice([1, 5, 15])))
    rng.shuffle(parts)
    return "".join(parts).replace("\ufffe", "")


def run(options, verb, directory, lines, *more):
    result = subprocess.run([*options.attend.split(), verb, str(directory), "--json", *more], capture_output=True, text=True,
                            input="".join(json.dumps(line) + "\n" for line in lines), timeout=300)
    found = [json.loads(line) for line in result.stdout.split("\n") if line]  # a bad line has its own error
    return found if len(found) == len(lines) else [{"error": result.stderr.strip()}] * len(lines)


def expected(tokenizer, text, pair=None, target=False, **more):
    # transformers' slow and fast tokenizers return different fields of an encoding; both return these. Slow
    # ones whose models take no types return too few of them.
    typed = tokenizer.is_fast or ("token_type_ids" in tokenizer.model_input_names and "add_special_tokens" not in more)
    given = {"text_target": text} if target else {"text": text, "text_pair": pair}
    found = tokenizer(**given, return_token_type_ids=typed, return_special_tokens_mask=True, return_attention_mask=True, **more)
    result = {"ids": found["input_ids"], "attention_mask": found["attention_mask"]}
    if len(found["special_tokens_mask"]) == len(found["input_ids"]):  # not if T5's tokenizer finds the end
                                                                      # token in the text already
        result["special_tokens_mask"] = found["special_tokens_mask"]
    if typed:
        result["type_ids"] = found["token_type_ids"]
    if tokenizer.is_fast:
        result["tokens"] = found.tokens()
        result["offsets"] = [list(span) for span in found.encodings[0].offsets]
    return result


def has_token(tokenizer, number):
    try:
        token = tokenizer.convert_ids_to_tokens(number)
        # Slow tokenizers treat an id without a token as the unknown token; attend rejects it.
        return token is not None and (token != tokenizer.unk_token or number == tokenizer.unk_token_id)
    except IndexError:
        return False


class Report:
    def __init__(self, most):
        self.compared, self.different, self.most = 0, Counter(), most

    def add(self, directory, what, text, ours, theirs):
        self.compared += 1
        fields = [name for name in theirs if ours.get(name) != theirs[name]]
        if not fields:
            return
        key = f"{directory} {what} {fields[0]}" + (f" {ours['error'][:90]}" if "error" in ours else "")
        self.different[key] += 1
        if self.different[key] == 1 and self.most > 0:
            self.most -= 1
            print(f"DIFFERENT {key} {text!r}\n  ours   {ours.get('error') or ours.get(fields[0])}\n  theirs {theirs[fields[0]]}")


def tries(rng, tokenizer):
    """Options of attend, and the same of transformers."""
    yield [], {}
    if "Marian" in type(tokenizer).__name__ or getattr(tokenizer, "tgt_lang", None) is not None:
        yield ["--target"], {"target": True}
    yield ["--no-special-tokens"], {"add_special_tokens": False}
    length = rng.randint(6, 14)
    yield ["--max-length", str(length)], {"truncation": True, "max_length": length}
    if tokenizer.pad_token is not None:
        yield ["--max-length", "9", "--padding", "max_length", "--truncation", "longest_first"], {
            "truncation": "longest_first", "max_length": 9, "padding": "max_length"}
    strategy = rng.choice(["only_first", "only_second"])
    yield ["--max-length", "60", "--truncation", strategy], {"truncation": strategy, "max_length": 60}


def check(options, rng, directory, name, report):
    tokenizer = directories.load(directory)
    texts = [nasty_text(rng) for _ in range(options.texts)]
    ids = []
    for arguments, fields in tries(rng, tokenizer):
        for paired in (False, True):
            lines = [{"text": a} | ({"text_pair": b} if paired else {}) for a, b in zip(texts, texts[1:] + texts[:1])]
            if (paired and fields.get("target")) or (fields.get("truncation") == "only_second" and not paired):
                continue
            for line, ours in zip(lines, run(options, "tokenize", directory, lines, *arguments)):
                try:
                    theirs = expected(tokenizer, line["text"], line.get("text_pair"), **fields)
                except Exception:  # the text to truncate is too short
                    continue
                if str(fields.get("truncation")).startswith("only") and len(theirs["ids"]) > 60:  # likewise,
                                                                                                  # but
                                                                                                  # without an
                                                                                                  # error
                    continue
                if not fields and not paired:
                    ids.append(theirs["ids"])
                report.add(name, f"{'pair' if paired else 'text'} {' '.join(arguments)}", line, ours, theirs)
    size = len(tokenizer)
    size = min(size, tokenizer.vocab_size) if "TransfoXL" in type(tokenizer).__name__ else size  # it cannot
                                                                                                 # decode
                                                                                                 # larger ids
    known = [i for i in range(size) if has_token(tokenizer, i)]
    of_target = set(known)  # with separate vocabularies, a source's ids may not be among them
    ids = [[i for i in row if i in of_target] for row in ids]
    ids += [rng.choices(known, k=12) for _ in range(len(texts) if known else 0)]
    for skip in (False, True):
        found = run(options, "detokenize", directory, [{"ids": row} for row in ids], *(["--skip-special-tokens"] if skip else []))
        for row, ours in zip(ids, found):
            report.add(name, f"decode{' skip' if skip else ''}", row, ours, {"text": tokenizer.decode(row, skip_special_tokens=skip)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attend", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2, help="directories of each kind")
    parser.add_argument("--texts", type=int, default=30)
    parser.add_argument("--kind", nargs="*", default=directories.KINDS, choices=directories.KINDS)
    parser.add_argument("--keep", type=pathlib.Path, help="where the directories stay")
    parser.add_argument("--most", type=int, default=40, help="differences that are printed")
    options = parser.parse_args()
    report, failed, total = Report(options.most), Counter(), 0
    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or pathlib.Path(temporary)
        for kind in options.kind:
            for number in range(options.count):
                rng = random.Random(f"{options.seed} {kind} {number}")
                directory = root / f"{kind}-{options.seed}-{number}"
                try:
                    drawn = directories.draw(rng, kind, directory)
                    directories.load(directory)
                except Exception as error:  # the original cannot read it
                    print(f"not read by transformers: {directory.name} {type(error).__name__} {str(error)[:200]!r}")
                    continue
                total += 1
                before = report.different.total()
                check(options, rng, directory, directory.name, report)
                failed[kind] += report.different.total() > before
                if report.different.total() > before:
                    print(f"FAILED {directory.name} {drawn}")
    for what, count in report.different.items():
        print(f"{count:5} different {what}")
    print(f"{report.compared} cases compared, {report.different.total()} different; {total} directories, {failed.total()} with "
          f"differences: {dict(failed)}")
    sys.exit(1 if failed.total() or not total else 0)


if __name__ == "__main__":
    main()
