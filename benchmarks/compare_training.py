#!/usr/bin/env python3
"""Training steps with Attend and with PyTorch: speed and peak memory on this machine, in one run.

    python benchmarks/compare_training.py --attend build/release/attend --threads 2 --json training.json

Both train the same models, fresh ones of usual shapes, on the same texts with the same optimizer and dropout. They
take turns, each time in a new process whose peak of resident memory counts. PyTorch runs transformers in a plain
loop: eager, padded as transformers' collators do, in bfloat16 under autocast. Only real tokens count:
padding is no useful work. Needs the packages of tests/oracle/requirements.txt.
"""

import argparse
import json
import math
import multiprocessing
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from compare import mixed_lengths, roof, timed

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MINILM = ["hidden_size=384", "num_hidden_layers=6", "num_attention_heads=12", "intermediate_size=1536"]
RATE, DECAY, CLIP = 1e-5, 0.01, 1.0
WARM_UP = 2  # steps that do not count, on either side


@dataclass(frozen=True)
class Case:
    name: str
    family: str
    objective: str
    kind: str  # transformers' class
    batch: int
    length: int = 0  # tokens of each text; 0: as long as sentences are
    vocabulary: int = 0  # 0: reads pictures
    frame: str = "$A"  # what the tokenizer puts around a text
    causal: bool = False
    unit: str = "tokens"
    longest: int = 128  # tokens of a sentence
    lora: int = 0  # rank of an adapter for all matrices, which is trained instead of the model
    settings: list[str] = field(default_factory=list)


FRAME = "[CLS] $A [SEP]"
CASES = {
    "bert": Case("BERT-base, masked LM, 8 x 128", "bert", "masked-lm", "AutoModelForMaskedLM", 8, 128, 30522, FRAME),
    "gpt2": Case("GPT-2 small, causal LM, 4 x 256", "gpt2", "causal-lm", "AutoModelForCausalLM", 4, 256, 50257,
                 causal=True),
    "gpt2-lora": Case("GPT-2 small, LoRA of rank 8 for all matrices, 4 x 256", "gpt2", "causal-lm",
                      "AutoModelForCausalLM", 4, 256, 50257, causal=True, lora=8),
    "marian": Case("Marian-base, 64 pairs of mixed lengths", "marian", "sequence-to-sequence",
                   "AutoModelForSeq2SeqLM", 64, 0, 32000, "$A [SEP]", causal=True),
    "minilm": Case("MiniLM, classification, 32 of mixed lengths", "bert", "classification",
                   "AutoModelForSequenceClassification", 32, 0, 30522, FRAME, longest=60, settings=MINILM),
    "vit": Case("ViT-B/16, classification, 8 pictures", "vit", "image-classification",
                "AutoModelForImageClassification", 8, unit="images"),
}  # fmt: skip


@dataclass
class Round:
    items: int  # real tokens, or images
    seconds: float
    peak: int  # bytes of memory
    flops: float  # that the work needs, without padding


def peak_memory(process: int | str) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


# The work: a model's directory, and files with texts or pictures, which both sides read.


def make_tokenizer(case: Case, directory: Path) -> None:
    """Words of four letters, each of them a token."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["".join(letters) for letters in islice(product(ascii_lowercase, repeat=4), case.vocabulary)]
    numbers = {word: i for i, word in enumerate((SPECIAL_TOKENS + words)[: case.vocabulary])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [(token, numbers[token]) for token in SPECIAL_TOKENS]
    tokenizer.post_processor = processors.TemplateProcessing(single=case.frame, special_tokens=special)
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="[SEP]", **names).save_pretrained(directory)


def make_model(case: Case, folder: Path, attend: str) -> Path:
    directory, tokenizer = folder / "model", folder / "tokenizer"
    command = [attend, "init", case.family, directory, "--quiet"]
    if case.vocabulary:
        make_tokenizer(case, tokenizer)
        command += ["--tokenizer", tokenizer]
    subprocess.run(command + [part for setting in case.settings for part in ("--set", setting)], check=True)
    return directory


def make_texts(model: Path, lengths: list[int], seed: int) -> list[str]:
    """Texts of words that are one token each."""
    from transformers import AutoTokenizer

    vocabulary = sorted(AutoTokenizer.from_pretrained(model).get_vocab())
    words = np.array([word for word in vocabulary if word.isascii() and word.isalpha() and word.islower()])
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, length)) for length in lengths]


def make_data(case: Case, folder: Path, model: Path, steps: int) -> list[Path]:
    """Files that Attend trains on; more than the steps read, because behind an epoch it saves."""
    count, rng = case.batch * (steps + WARM_UP + 12), np.random.default_rng(11)
    if case.objective == "image-classification":
        from PIL import Image

        for i in range(count):
            path = folder / "pictures" / ("even", "odd")[i % 2] / f"{i:04}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (224, 224, 3), np.uint8)).save(path)
        return [folder / "pictures"]
    specials = len(case.frame.split()) - 1
    lengths = [case.length - specials] * count if case.length else [min(n, case.longest) for n in mixed_lengths(count)]
    texts = make_texts(model, lengths, 1)
    files = {folder / "source.txt": texts}
    if case.objective == "masked-lm":
        files = {folder / "texts.txt": [line for text in texts for line in (text, "")]}
    elif case.objective == "classification":
        files = {folder / "texts.tsv": [f"{text}\t{i % 2}" for i, text in enumerate(texts)]}
    elif case.objective == "sequence-to-sequence":
        others = np.clip(np.array(lengths) * np.exp(rng.normal(0, 0.15, count)), 3, 140).astype(int)
        files[folder / "target.txt"] = make_texts(model, others, 2)
    for path, lines in files.items():
        path.write_text("\n".join(lines) + "\n")
    return list(files)


# PyTorch


def torch_examples(case: Case, model: Path, data: list[Path], count: int) -> tuple[list[dict], object]:
    """What a data set holds once it is tokenized, and the collator that its users take for it."""
    import transformers as tf

    if case.objective == "image-classification":
        from PIL import Image

        processor = tf.AutoImageProcessor.from_pretrained(model, use_fast=False)
        pictures = sorted(data[0].rglob("*.png"), key=lambda path: path.name)[:count]
        return [{"pixel_values": processor(Image.open(path))["pixel_values"][0],
                 "label": int(path.parent.name == "odd")} for path in pictures], tf.default_data_collator  # fmt: skip
    tokenizer = tf.AutoTokenizer.from_pretrained(model, model_input_names=["input_ids", "attention_mask"])
    columns = [[line for line in path.read_text().split("\n") if line][:count] for path in data]
    if case.objective == "sequence-to-sequence":
        examples = [dict(tokenizer(text), labels=tokenizer(other).input_ids) for text, other in zip(*columns)]
        return examples, tf.DataCollatorForSeq2Seq(tokenizer)
    if case.objective == "classification":
        rows = [line.split("\t") for line in columns[0]]
        return [dict(tokenizer(text), label=int(label)) for text, label in rows], tf.DataCollatorWithPadding(tokenizer)
    collator = tf.DataCollatorForLanguageModeling(tokenizer, mlm=case.objective == "masked-lm")
    return [dict(tokenizer(text)) for text in columns[0]], collator


def run_torch(case: Case, model: Path, data: list[Path], precision: str, steps: int, threads: int) -> Round:
    """A round in this process."""
    import torch
    import transformers as tf

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    tf.logging.set_verbosity_error()
    network = getattr(tf, case.kind).from_pretrained(model).train()
    if case.lora:
        import peft

        config = peft.LoraConfig(r=case.lora, lora_alpha=2 * case.lora, target_modules="all-linear")
        network = peft.get_peft_model(network, config).train()
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY, fused=True)
    examples, collate = torch_examples(case, model, data, case.batch * (WARM_UP + steps))
    batches = [collate(examples[i : i + case.batch]) for i in range(0, len(examples), case.batch)]
    del examples  # not part of the peak
    for i, batch in enumerate(batches):
        if i == WARM_UP:
            begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = network(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, CLIP)
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - begin
    assert math.isfinite(loss.item())
    return measured(case, model, batches[WARM_UP:], seconds, peak_memory("self"))


# Attend


def step_size(case: Case, data: list[Path]) -> list:
    """The options that give a step as many examples, or tokens, as PyTorch's."""
    if case.objective != "sequence-to-sequence":
        return ["--batch-size", case.batch]
    sides = [[len(line.split()) + 1 for line in path.read_text().splitlines()] for path in data]
    return ["--batch-tokens", round(case.batch * statistics.mean(map(max, *sides)))]


def attend_command(
    case: Case, model: Path, data: list[Path], folder: Path, size: list, precision: str, steps: int, threads: int,
    attend: str,
) -> list[str]:  # fmt: skip
    """`attend train`, which writes a file for the batch of each step when the step begins."""
    if case.lora:
        size = size + ["--lora", case.lora, "--lora-targets", "all-linear"]
    more = {"causal-lm": ["--length", case.length], "masked-lm": ["--max-length", case.length]}
    command = [attend, "train", "--objective", case.objective, "--model", model, "--train", *data, "--output",
               folder / "output", "--save-batches", folder, "--steps", 2 * steps + 100, *size,
               *more.get(case.objective, []), "--precision", precision, "--threads", threads,
               "--optimizer", "adamw", "--learning-rate", RATE, "--schedule", "constant", "--warmup", 0, "--beta2", 0.999,
               "--epsilon", 1e-8, "--weight-decay", DECAY, "--max-grad-norm", CLIP, "--quiet"]  # fmt: skip
    return [str(part) for part in command]


def run_attend(
    case: Case, model: Path, data: list[Path], precision: str, steps: int, threads: int, attend: str
) -> Round:
    """A round of `attend train`: the times of its batch files tell how long steps take. It is killed before it saves."""
    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory() as folder:
        first, last = (Path(folder) / f"step-{1 + WARM_UP + i}.0.safetensors" for i in (0, steps))
        size = step_size(case, data)
        process = subprocess.Popen(
            attend_command(case, model, data, Path(folder), size, precision, steps, threads, attend)
        )
        try:
            while not last.exists():
                if process.poll() is not None:
                    raise SystemExit(f"attend train ended with status {process.returncode} before its last step")
                time.sleep(0.02)
            peak = peak_memory(process.pid)
        finally:
            process.kill()
            process.wait()
        seconds = (last.stat().st_mtime_ns - first.stat().st_mtime_ns) / 1e9
        batches = [load_file(first.with_name(f"step-{1 + WARM_UP + i}.0.safetensors")) for i in range(steps)]
    return measured(case, model, batches, seconds, peak)


# What was done


def weights_of_layers(model: Path) -> dict[str, int]:
    """How many numbers the matrices of the layers hold, of encoder and decoder."""
    from safetensors import safe_open

    counts = {"encoder": 0, "decoder": 0}
    with safe_open(model / "model.safetensors", "pt") as weights:
        for name in weights.keys():
            shape = weights.get_slice(name).get_shape()
            if len(shape) == 2 and re.search(r"\b(layer|layers|h)\.\d+\.", name):
                counts["decoder" if "decoder." in name else "encoder"] += math.prod(shape)
    return counts


def measured(case: Case, model: Path, batches: list[dict], seconds: float, peak: int) -> Round:
    """Of batches with transformers' names. FLOPs are 6 (4 where it stays as it is) for each weight and row, 12 for each number of a pair of rows
    in attention (half of it where it is causal), and as many for each weight of the head and row with a label."""
    config = json.loads((model / "config.json").read_text())
    width = next(config[name] for name in ("hidden_size", "n_embd", "d_model") if name in config)
    layers = next(config[name] for name in ("num_hidden_layers", "n_layer", "encoder_layers") if name in config)
    weights, items, flops = weights_of_layers(model), 0, 0.0
    each = 4 if case.lora else 6
    for batch in batches:
        if "pixel_values" in batch:
            items += len(batch["pixel_values"])
            rows = np.full(len(batch["pixel_values"]), 1 + (config["image_size"] // config["patch_size"]) ** 2)
        else:
            rows = batch["attention_mask"].sum(-1).double().numpy()
            items += int(rows.sum())
        reads_ahead = case.objective == "sequence-to-sequence" or not case.causal
        pairs = (rows**2).sum() if reads_ahead else (rows**2).sum() / 2
        flops += each * weights["encoder"] * rows.sum()
        if case.objective == "sequence-to-sequence":
            targets = (batch["labels"] != -100).sum(-1).double().numpy()
            items += int(targets.sum())
            pairs += (targets**2).sum() / 2 + (rows * targets).sum()
            flops += each * weights["decoder"] * targets.sum()
        flops += 12 * layers * width * pairs
        if case.kind in ("AutoModelForMaskedLM", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM"):
            flops += each * width * case.vocabulary * int((batch["labels"] != -100).sum())
    return Round(items, seconds, peak, flops)


def roofs(threads: int) -> dict[str, float]:
    """GFLOP/s of a large matrix product with oneDNN."""
    import torch

    torch.set_num_threads(threads)
    a, b = (torch.randn(2048, 2048).bfloat16() for _ in range(2))
    bfloat16 = 2 * 2048**3 / min(timed(lambda: torch.mm(a, b)) for _ in range(10)) / 1e9
    return {"float32": roof(threads), "bfloat16": bfloat16}


def apart(function, *arguments):
    """The function's result, from a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def compare(case: Case, model: Path, data: list[Path], precision: str, best: float, options) -> dict:
    arguments = (case, model, data, precision, options.steps, options.threads)
    pairs = [(apart(run_torch, *arguments), run_attend(*arguments, options.attend)) for _ in range(options.rounds)]
    theirs, ours = zip(*pairs)
    row = {"case": case.name, "precision": precision, "unit": f"{case.unit}/s"}
    for name, rounds in (("torch", theirs), ("attend", ours)):
        row[name] = statistics.median(r.items / r.seconds for r in rounds)
        row[f"{name}_peak"] = max(r.peak for r in rounds)
        row[f"{name}_roof"] = statistics.median(r.flops / r.seconds for r in rounds) / (best * 1e9)
    return row


def print_row(row: dict) -> None:
    digits = 2 if row["unit"] == "images/s" else 0
    speeds = " | ".join(f"{row[name]:.{digits}f} {row['unit']}" for name in ("torch", "attend"))
    peaks = " | ".join(f"{row[name] / 1e6:.0f} MB" for name in ("torch_peak", "attend_peak"))
    print(f"| {row['case']:43} | {row['precision']:8} | {speeds} | {row['attend'] / row['torch']:.2f} | {peaks} "
          f"| {row['attend_peak'] / row['torch_peak']:.2f} | {row['torch_roof']:.0%} | {row['attend_roof']:.0%} |",
          flush=True)  # fmt: skip


def rows(options) -> Iterator[dict]:
    best = apart(roofs, options.threads)
    print(f"roofs: {best['float32']:.0f} GFLOP/s float32, {best['bfloat16']:.0f} bfloat16, on {options.threads} "
          "threads; PyTorch is eager\n")  # fmt: skip
    print(f"| {'case':43} | numbers  | PyTorch | Attend | ratio | PyTorch's peak | Attend's | ratio "
          f"| roof: PyTorch | Attend |\n|{'-' * 45}|{'-' * 10}|{'---:|' * 8}")  # fmt: skip
    for name in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            case = CASES[name]
            model = make_model(case, Path(folder), options.attend)
            data = make_data(case, Path(folder), model, options.steps)
            for precision in options.precisions:
                yield compare(case, model, data, precision, best[precision], options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--precisions", nargs="+", choices=["float32", "bfloat16"], default=["float32", "bfloat16"])
    parser.add_argument("--steps", type=int, default=10, help="that are timed in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    options = parser.parse_args()
    figures = []
    for row in rows(options):
        print_row(row)
        figures.append(row)
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
