"""Compares `attend tokenizer train --model unigram` with `tokenizers`' UnigramTrainer.

    python check_unigram_training.py --attend ../../build/release/attend --held-out VALID.txt TRAIN.txt...

Both learn from the same files with the same options. Compared are the log-likelihoods of the held-out text, summed
over all cuts of its words, and whether `tokenizers` makes the same ids of it with attend's file as attend does.
Exits with 1 if attend's likelihood is worse by more than 0.1 % or an id differs.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter

from tokenizers import Tokenizer
from tokenizers import models as M
from tokenizers import trainers as T

SPECIALS = ["</s>", "<unk>"]
MAX_CHARACTERS = 16


def train_theirs(ours, files, size):
    """With the normalizer and the pre-tokenizer of `ours`."""
    tokenizer = Tokenizer(M.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = ours.normalizer, ours.pre_tokenizer
    tokenizer.train(files, T.UnigramTrainer(vocab_size=size - 1, special_tokens=SPECIALS, unk_token="<unk>", show_progress=False))
    return tokenizer


def pieces(tokenizer):
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    return {piece: score for piece, score in vocabulary if piece not in SPECIALS}


def words(tokenizer, lines):
    counts = Counter()
    for line in lines:
        counts.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(line)))
    return counts


def log_likelihood(scores, counts):
    unknown, total = min(scores.values()) - 10, 0.0
    for word, count in counts.items():
        reached = [0.0] + [-math.inf] * len(word)
        for end in range(1, len(word) + 1):
            terms = []
            for begin in range(max(0, end - MAX_CHARACTERS), end):
                score = scores.get(word[begin:end], unknown if end - begin == 1 else None)
                if score is not None:
                    terms.append(reached[begin] + score)
            most = max(terms)
            reached[end] = most + math.log(sum(math.exp(term - most) for term in terms))
        total += count * reached[-1]
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attend", required=True)
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--held-out", required=True)
    parser.add_argument("--lines", type=int, default=2000, help="of the held-out text")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    lines = pathlib.Path(options.held_out).read_text(encoding="utf-8").splitlines()[:options.lines]
    with tempfile.TemporaryDirectory() as directory:
        start = time.time()
        subprocess.run([options.attend, "tokenizer", "train", "--model", "unigram", "--preset", "translation", "--vocab-size",
                        str(options.vocab_size), "--output", directory, *options.files], check=True)
        middle = time.time()
        path = str(pathlib.Path(directory) / "tokenizer.json")
        ours = Tokenizer.from_file(path)
        theirs = train_theirs(ours, options.files, options.vocab_size)
        print(f"trained in {middle - start:.1f} s, tokenizers' in {time.time() - middle:.1f} s")
        result = subprocess.run([options.attend, "tokenize", path, "--json"], input="".join(json.dumps({"text": line}) + "\n" for line in lines),
                                capture_output=True, text=True, check=True)
    ids = [json.loads(line)["ids"] for line in result.stdout.split("\n") if line]
    different = sum(found != encoding.ids for found, encoding in zip(ids, ours.encode_batch(lines), strict=True))
    found, expected = pieces(ours), pieces(theirs)
    counts = words(ours, lines)
    likelihoods = [log_likelihood(scores, counts) for scores in (found, expected)]
    worse = likelihoods[0] / likelihoods[1] - 1
    print(f"{len(found)} pieces, tokenizers' {len(expected)}, {len(found.keys() & expected.keys())} in both")
    print(f"log-likelihood {likelihoods[0]:.1f}, tokenizers' {likelihoods[1]:.1f}: {worse:+.5%} (plus is worse)")
    print(f"{len(lines)} lines encoded, {different} with other ids")
    sys.exit(1 if worse > 1e-3 or different or not lines else 0)


if __name__ == "__main__":
    main()
