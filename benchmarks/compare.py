#!/usr/bin/env python3
"""Attend against transformers on this machine, in one run, float32.

    python benchmarks/compare.py --attend build/release/attend --threads 2
    python benchmarks/compare.py --attend build/release/attend --families

Models have random weights and the shapes of real ones. The two take turns, round by round, so that a machine
that others use as well slows both; the ratio of the medians is what counts. transformers runs with its
fastest float32 attention (sdpa). Needs the packages of tests/oracle/requirements.txt.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from family_models import CONFIGS, family_inputs, load_original, make_family


@dataclass
class Case:
    name: str
    model: str
    work: str  # encode | translate | generate | train
    lengths: list[int]
    new_tokens: int = 0
    beams: int = 1
    goal: float = 1.0
    by_length: bool = True  # transformers gets its batches sorted by length, as sentence-transformers makes them
    precision: str = "float32"  # of training; bfloat16: torch's autocast


def mixed_lengths(count):
    rng = np.random.default_rng(7)
    return [int(n) for n in np.clip(np.exp(rng.normal(3.0, 0.6, count)), 5, 128)]


CASES = [
    Case("MiniLM encode, 256 sentences of mixed length", "minilm", "encode", mixed_lengths(256), goal=3),
    Case("MiniLM encode, the same in batches as they come", "minilm", "encode", mixed_lengths(256), goal=3, by_length=False),
    Case("MiniLM encode, 32 x 128 tokens", "minilm", "encode", [128] * 32, goal=1.5),
    Case("MiniLM encode, 1 x 16 tokens", "minilm", "encode", [16]),
    Case("BERT-base encode, 8 x 128 tokens", "bert-base", "encode", [128] * 8, goal=1.5),
    Case("Marian-base translate, beam 4, 8 x 30 + 40 tokens", "marian-base", "translate", [30] * 8, 40, 4, goal=3),
    Case("Marian-tiny translate, beam 4, 32 x 20 + 20 tokens", "marian-tiny", "translate", [20] * 32, 20, 4, goal=3),
    Case("GPT-2 small generate, 1 x 32 + 32 tokens", "gpt2", "generate", [32], 32),
    Case("Marian-tiny training step, 128 x 30 tokens", "marian-tiny", "train", [30] * 128, goal=1.5),
    Case("Marian-tiny training step, 256 sentences of mixed length", "marian-tiny", "train", mixed_lengths(256), goal=1.5),
    Case("GPT-2 small training step, 4 x 64 tokens", "gpt2", "train", [64] * 4, goal=1.5),
    Case("Marian-tiny training step in bfloat16, 128 x 30 tokens", "marian-tiny", "train", [30] * 128, precision="bfloat16"),
    Case("GPT-2 small training step in bfloat16, 4 x 64 tokens", "gpt2", "train", [64] * 4, precision="bfloat16"),
]


FAMILY = "family-"  # what their models are called
FAMILIES = [  # one pass of all stacks; pictures have no lengths
    Case(f"{family}, {name}", FAMILY + family, "encode", lengths, goal=goal)
    for family in CONFIGS
    for name, lengths, goal in [("16 x 128 tokens", [128] * 16, 1.5), ("64 sentences of mixed length", mixed_lengths(64), 3)]
    if family != "vit"
] + [Case("vit, 8 pictures", FAMILY + "vit", "encode", [1] * 8, goal=1.5)]


def make_model(name, directory):
    import torch
    import transformers as tf

    if os.path.exists(os.path.join(directory, "model.safetensors")):
        return
    torch.manual_seed(0)
    if name.startswith(FAMILY):
        return make_family(name.removeprefix(FAMILY), directory)
    # Padding comes last, where CTranslate2 expects it.
    marian = dict(vocab_size=10000, decoder_vocab_size=10000, max_position_embeddings=512, scale_embedding=True,
                  pad_token_id=9999, eos_token_id=0, decoder_start_token_id=9999, forced_eos_token_id=None)
    shapes = {
        "minilm": lambda: tf.BertModel(tf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                                     intermediate_size=1536)),
        "bert-base": lambda: tf.BertModel(tf.BertConfig()),
        "gpt2": lambda: tf.GPT2LMHeadModel(tf.GPT2Config()),
        "marian-base": lambda: tf.MarianMTModel(tf.MarianConfig(
            d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
            encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="relu", **(marian | {"vocab_size": 32000, "decoder_vocab_size": 32000, "pad_token_id": 31999, "decoder_start_token_id": 31999}))),
        "marian-tiny": lambda: tf.MarianMTModel(tf.MarianConfig(
            d_model=128, encoder_layers=4, decoder_layers=4, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=256, decoder_ffn_dim=256, activation_function="relu", **marian)),
    }
    shapes[name]().save_pretrained(directory)


def theirs(case, directory):
    """A function that does one round of the case with transformers."""
    import torch
    import transformers as tf

    rng = np.random.default_rng(1)
    kind = {"encode": tf.AutoModel, "generate": tf.AutoModelForCausalLM, "translate": tf.AutoModelForSeq2SeqLM,
            "train": tf.AutoModelForCausalLM if case.model == "gpt2" else tf.AutoModelForSeq2SeqLM}[case.work]
    family = case.model.removeprefix(FAMILY) if case.model.startswith(FAMILY) else None
    if family:
        model = load_original(family, directory)
    else:
        model = kind.from_pretrained(directory, attn_implementation="sdpa")
    order = sorted(case.lengths, reverse=True) if case.by_length else case.lengths
    size = 32 if case.work == "encode" else len(order)
    batches = []
    for begin in range(0, len(order), size):
        part = order[begin:begin + size]
        ids, mask = (np.zeros((len(part), max(part)), np.int64) for _ in range(2))
        for row, length in enumerate(part):
            ids[row, :length], mask[row, :length] = rng.integers(1000, 9999, length), 1
        batches.append((torch.from_numpy(ids), torch.from_numpy(mask)))
    if case.work == "train":
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def round_():
            for ids, mask in batches:
                labels = ids.masked_fill(mask == 0, -100)
                with torch.autocast("cpu", torch.bfloat16, enabled=case.precision == "bfloat16"):
                    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

        return round_
    model.eval()

    def round_():
        with torch.inference_mode():
            for ids, mask in batches:
                if family:
                    model(**family_inputs(family, ids, mask))
                elif case.work == "encode":
                    model(input_ids=ids, attention_mask=mask)
                else:
                    model.generate(ids, attention_mask=mask, do_sample=False, num_beams=case.beams, pad_token_id=0,
                                   min_new_tokens=case.new_tokens, max_new_tokens=case.new_tokens)

    return round_


def ours(case, directory, args, *options):
    command = [args.attend, "bench", directory, "--work", case.work, "--threads", str(args.threads), "--json",
               "--lengths", ",".join(map(str, case.lengths)), "--rounds", "3", *options]
    if case.work == "train":
        command += ["--precision", case.precision]
    if case.new_tokens:
        command += ["--new-tokens", str(case.new_tokens), "--beams", str(case.beams)]
    reply = subprocess.run(command, check=True, capture_output=True, text=True)
    return statistics.median(json.loads(reply.stdout)["seconds_per_round"])


def roof(threads):
    """GFLOP/s of the best large float32 product that this torch can do (oneDNN), as a yardstick."""
    import torch

    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    operator = torch.ops.mkldnn._linear_pointwise
    best = min(timed(lambda: operator(a, b, None, "none", [], "")) for _ in range(5))
    return 2 * 2048**3 / best / 1e9


def reading():
    """GB/s at which this torch reads a tensor that no cache holds: the roof where every weight is used once."""
    import torch

    numbers = torch.ones(1 << 27)
    return numbers.nbytes / min(timed(numbers.sum) for _ in range(5)) / 1e9


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def make_parser(description):
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", default="", help="only the cases whose name holds this")
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "attend-compare"))
    return parser


def begin(parser):
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    print(f"roofs: {roof(args.threads):.0f} GFLOP/s float32, {reading():.1f} GB/s, on {args.threads} threads\n")
    return args


def chosen(cases, args):
    """The cases asked for, each with the directory of its model."""
    for case in cases:
        if args.case in case.name:
            directory = os.path.join(args.models, case.model)
            make_model(case.model, directory)
            yield case, directory


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--families", action="store_true", help="one pass of every family, instead of the usual cases")
    args = begin(parser)
    print(f"| {'case':57} | transformers | attend | ratio | aim |")
    print(f"|{'-' * 59}|---:|---:|---:|---:|")
    for case, directory in chosen(FAMILIES if args.families else CASES, args):
        round_ = theirs(case, directory)
        round_()
        pairs = [(timed(round_), ours(case, directory, args)) for _ in range(args.rounds)]
        their, our = (statistics.median(column) for column in zip(*pairs))
        print(f"| {case.name:57} | {their * 1e3:.1f} ms | {our * 1e3:.1f} ms | {their / our:.2f} | {case.goal:g} |", flush=True)


if __name__ == "__main__":
    main()
