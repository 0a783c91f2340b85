"""Writes the small files that the C++ tests compare with: tests/data/models/<name>/.

    python make_goldens.py            # remakes those that differ
    python make_goldens.py --check    # makes them elsewhere and compares them with the committed ones

In each folder: config.json and model.safetensors (a tiny random model), then either inputs.safetensors and
expected.safetensors (see forward.py), or generation.json, a list of {inputs, settings, sequences,
sequences_scores?} (see check_generation.py). The random numbers are the same everywhere; the last bits of what the
original computes may differ between machines.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from check_generation import all_settings, differences, load_generator, make_generator, stable_case
from common import Tensors, compare
from configurations import make_configuration
from float64 import double_of
from forward import expect
from model_cases import SMALL
from models import make_model
from random_inputs import label_padding, make_inputs

DATA = Path(__file__).resolve().parent.parent / "data" / "models"
LARGEST_FILE = 90_000  # bytes
LARGEST_TOTAL = 10_000_000

FORWARD = {  # case: layout and seed
    "bert-masked-lm": ("right", 1),
    "bert-masked-lm-untied": ("left", 2),
    "bert-classifier": ("right", 3),
    "bert-regression": ("plain", 4),
    "bert-multi-label": ("right", 5),
    "bert-model": ("right", 6),
    "gpt2": ("right", 7),
    "gpt2-inverse-layer": ("left", 8),
    "gpt2-unscaled": ("plain", 9),
    "gpt2-inner": ("positions", 10),
    "marian": ("right", 11),
    "marian-unequal": ("targets", 12),
    "marian-unscaled": ("left", 13),
    "bert-pre-training": ("right", 14),
    "bert-question-answering": ("left", 15),
    "roberta-masked-lm": ("right", 16),
    "roberta-sequence-classification": ("right", 17),
    "distilbert-multiple-choice": ("right", 18),
    "electra-pre-training": ("right", 19),
    "albert-groups": ("left", 20),
    "albert-token-classification": ("right", 21),
    "openai-gpt": ("left", 22),
    "ctrl": ("right", 23),
    "gpt-neo": ("positions", 24),
    "gptj": ("left", 25),
    "bart": ("right", 26),
    "m2m-100": ("left", 27),
    "gpt2-double-heads-model": ("right", 28),
    "gpt2-sequence-classification": ("left", 29),
    "gpt-neo-question-answering": ("left", 30),
    "bart-sequence-classification": ("left", 31),
    "roberta-causal-lm": ("left", 32),
    "vit-masked-image-modeling": ("plain", 33),
    "vit-image-classification": ("larger", 34),
    "xlm-with-lmhead-model": ("left", 35),
    "xlm-multiple-choice": ("lengths", 36),
    "xlm-question-answering-simple": ("right", 37),
    "t5": ("targets", 38),
    "t5-gated": ("left", 39),
    "deberta-masked-lm": ("right", 40),
    "deberta-v2-xl": ("left", 41),
    "deberta-v2-linear": ("right", 42),
    "xlnet": ("left", 43),
    "big-bird-masked-lm": ("plain", 44),
    "transfo-xl": ("plain", 45),
    "transfo-xl-same-length": ("plain", 46),
    "attend-gpt3": ("positions", 47),
    "xlnet-short-memory": ("memory", 48),
    "xlnet-without-memory": ("permuted", 49),
    "xlnet-sequence-classification": ("right", 50),
    "xlnet-question-answering": ("right", 51),
    "xlm-question-answering": ("lengths", 52),
    "transfo-xl-sequence-classification": ("memory", 53),
    "t5-sequence-classification": ("right", 54),
    "big-bird-question-answering": ("plain", 55),
    "llama": ("left", 60),
    "llama-biases": ("right", 61),
    "llama-llama3": ("positions", 62),
    "llama-dynamic": ("plain", 63),
    "llama-yarn": ("plain", 64),
    "llama-question-answering": ("right", 65),
    "mistral": ("left", 66),
    "qwen2": ("right", 67),
    "qwen2-windows": ("plain", 68),
    "qwen2-token-classification": ("right", 69),
    "qwen3": ("left", 70),
    "qwen3-sequence-classification": ("left", 71),
    "gemma": ("right", 72),
    "gemma2": ("left", 73),
    "gemma3": ("right", 74),
    "gemma3-both-ways": ("left", 75),
    "phi": ("left", 76),
    "phi-normed": ("plain", 77),
    "phi3": ("right", 78),
    "smollm3": ("left", 79),
    "granite": ("right", 80),
    "olmo2": ("left", 81),
    "olmo3": ("right", 82),
    "gpt-neox": ("left", 83),
    "gpt-neox-token-classification": ("right", 84),
    "stablelm": ("right", 85),
    "starcoder2": ("left", 86),
    "cohere": ("right", 87),
    "cohere-normed": ("plain", 88),
    "mixtral": ("left", 89),
    "qwen2-moe": ("right", 90),
    "qwen2-moe-balanced": ("left", 91),
    "qwen3-moe": ("right", 92),
    "olmoe": ("left", 93),
    "gpt-oss": ("right", 94),
    "gpt-oss-token-classification": ("left", 95),
    "mpnet-sequence-classification": ("right", 56),
    "mpnet-model": ("left", 103),
    "camembert-causal-lm": ("left", 57),
    "mt5": ("targets", 58),
    "opt-350m": ("left", 59),
    "opt-question-answering": ("left", 60),
    "mbart": ("targets", 80),
    "pegasus": ("right", 62),
    "data2vec-text-model": ("right", 63),
    "ernie-tasks": ("right", 64),
    "blenderbot": ("left", 65),
    "blenderbot-small": ("targets", 66),
    "codegen": ("left", 67),
    "xglm": ("left", 68),
    "biogpt-sequence-classification": ("left", 69),
    "megatron-bert-pre-training": ("right", 70),
    "roberta-prelayernorm-model": ("right", 71),
    "xlm-roberta-xl-masked-lm": ("left", 72),
    "umt5": ("right", 73),
    "plbart": ("targets", 80),
    "vit-msn-image-classification": ("plain", 75),
    "roformer-multiple-choice": ("right", 76),
    "bloom": ("left", 90),
    "bloom-adds-to-normed": ("right", 91),
    "falcon": ("left", 92),
    "falcon-grouped": ("right", 93),
    "falcon-linear": ("left", 94),
    "mpt": ("left", 96),
    "mpt-sequence-classification": ("right", 97),
    "modernbert-masked-lm": ("left", 98),
    "nomic-bert-pre-training": ("right", 104),
    "nomic-bert-plain": ("left", 105),
    "nomic-bert-growing": ("plain", 106),
    "nomic-bert-sequence-classification": ("left", 107),
    "gte-masked-lm": ("left", 108),
    "gte-model": ("right", 109),
    "gte-sequence-classification": ("right", 110),
    "jina-bert-masked-lm": ("right", 111),
    "jina-bert-reglu": ("left", 112),
    "jina-bert-model": ("left", 113),
    "modernbert-biases": ("right", 99),
    "modernbert-mean": ("left", 100),
    "modernbert-multiple-choice": ("left", 101),
    "modernbert-question-answering": ("right", 102),
}
CONFIGURED = {  # random configurations: family, head, seed, layout
    "encoder-decoder-tied": ("encoder-decoder", "EncoderDecoderModel", 116, "targets"),
    "vision-encoder-decoder": ("vision-encoder-decoder", "VisionEncoderDecoderModel", 3, "right"),
    "gpt2-labelled-padding": ("gpt2", "GPT2LMHeadModel", 10, "left"),
    "bert-labelled-padding": ("bert", "BertForTokenClassification", 11, "right"),
    "olmoe-labelled-padding": ("olmoe", "OlmoeForCausalLM", 4, "left"),
    "gpt-neo-window-of-padding": ("gpt_neo", "GPTNeoForQuestionAnswering", 3, "right"),
}
GENERATION_SEEDS = {"gpt2": 0, "marian": 0, "xlnet": 0, "xlm": 0, "transfo-xl": 1}
BEAM_CASES = 12


def generation_cases(family: str, seed: int, directory: Path) -> list[dict[str, Any]]:
    make_generator(family, seed, directory, dataclasses.replace(SMALL, positions=40))
    float32, float64 = load_generator(directory, torch.float32), load_generator(directory, double_of(family))
    cases = []
    for index, settings in enumerate(all_settings(float32.model.config, seed, BEAM_CASES)):
        inputs, made = stable_case(float32, float64, settings, index)
        tensors = {name: tensor.tolist() for name, tensor in made.items()}
        cases.append({"inputs": {n: t.tolist() for n, t in inputs.items()}, "settings": settings} | tensors)
    return cases


def make_all(root: Path) -> None:
    for name, (layout, seed) in FORWARD.items():
        directory = root / name
        make_model(name, seed, directory, SMALL)
        inputs = make_inputs(AutoConfig.from_pretrained(directory), layout, seed)
        save_file(inputs, directory / "inputs.safetensors")
        save_file(expect(directory, inputs), directory / "expected.safetensors")
    for name, (family, head, seed, layout) in CONFIGURED.items():
        directory = root / name
        make_configuration(family, head, seed, directory)
        inputs = make_inputs(AutoConfig.from_pretrained(directory), layout, seed)
        if name.endswith("labelled-padding"):
            inputs |= label_padding(inputs, torch.Generator().manual_seed(seed))
        save_file(inputs, directory / "inputs.safetensors")
        save_file(expect(directory, inputs), directory / "expected.safetensors")
    for family, seed in GENERATION_SEEDS.items():
        directory = root / f"{family}-generation"
        lines = [json.dumps(case) for case in generation_cases(family, seed, directory)]
        (directory / "generation.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    sizes = {path: path.stat().st_size for path in root.rglob("*") if path.is_file()}
    for path, size in sizes.items():
        path.chmod(0o644)
        if size > LARGEST_FILE:
            raise SystemExit(f"{path}: {size} bytes are too many to commit")
    if sum(sizes.values()) > LARGEST_TOTAL:
        raise SystemExit(f"{root}: {sum(sizes.values())} bytes are too many to commit")
    print(f"{len(sizes)} files, {sum(sizes.values()) / 1000:.0f} kB, the largest {max(sizes.values()) / 1000:.0f} kB")


def changed(committed: Path, made: Path) -> list[str]:
    """What differs between a committed file and the same file made again."""
    if not committed.exists():
        return ["is not there"]
    if made.name == "expected.safetensors":
        findings = compare(load_file(made), load_file(committed))
        # A gradient that is zero except for rounding is not worth storing.
        return [str(f) for f in findings if f.failed and not is_rounding(f.name, made)]
    if made.name == "generation.json":
        pairs = zip(json.loads(made.read_text()), json.loads(committed.read_text()), strict=True)
        return [line for new, old in pairs for line in generation_changes(new, old)]
    return [] if committed.read_bytes() == made.read_bytes() else ["other bytes"]


def is_rounding(name: str, path: Path) -> bool:
    tensors: Tensors = load_file(path)
    largest = max(t.abs().max().item() for n, t in tensors.items() if n.startswith("grad."))
    return name.startswith("grad.") and name in tensors and tensors[name].abs().max().item() < 1e-6 * largest


def generation_changes(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    if (new["inputs"], new["settings"]) != (old["inputs"], old["settings"]):
        return ["other inputs or settings"]
    made, kept = ({n: torch.tensor(v) for n, v in c.items() if n.startswith("sequences")} for c in (new, old))
    return differences(made, kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        root = Path(folder) / "models"
        make_all(root)
        wrong = 0
        for directory in sorted(root.iterdir()):  # only this script's folders: other scripts may have folders here
            paths = sorted(p for p in directory.rglob("*") if p.is_file())
            lines = [f"{path.relative_to(root)}: {line}" for path in paths for line in changed(DATA / path.relative_to(root), path)]
            if lines and not options.check:  # not those whose last bits differ
                shutil.rmtree(DATA / directory.name, ignore_errors=True)
                shutil.copytree(directory, DATA / directory.name)
            print("\n".join(lines), end="\n" if lines else "")
            wrong += len(lines)
        print(f"{wrong} differences")
        return 1 if wrong and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
