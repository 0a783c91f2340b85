"""attend train --weights W with an adapter (QLoRA) against PEFT over matrices that round as docs/low-precision.md says;
and with float32, where nothing rounds.

    python check_qlora.py --attend build/release/attend
    python check_qlora.py --attend build/release/attend --case gpt2 --weights int4 --seeds 5

`attend quantize` writes the weights, and this script reads them by the document alone: integers, scales, steps and
starts, and the rotation. In PyTorch each matrix then rounds its inputs row by row to 8 bits, multiplies and lets
gradients pass as if nothing had been rounded; tables are float32 with the same numbers. With bfloat16 inputs are
rounded to bfloat16, with float16 they are not. One step of SGD at a rate of 1 shows the gradient of every factor.

A number halfway between two integers may be rounded to either, as float32's last bit has it, and a tiny random model makes
much of that. How much is measured: the original again, its tables moved by 1e-6 of themselves, several times. attend may
be as far from the original as these are, times a factor, or as LIMIT; and that has to be nearer than the same model
with nothing rounded, or nothing would have been compared.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import peft
import torch
import transformers
from safetensors.torch import load_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

import training_data as data
from check_adapters import AdapterCase, make_adapter, stored_name
from check_training import FAILURES
from common import Attend, Table, Tensors
from model_cases import Case, Size
from model_configs import make_config
from models import randomize
from training_models import FAMILIES
from training_objectives import OBJECTIVES, Objective
from training_steps import texts_of

LIMIT = 3e-4  # of a factor's gradient: norm of the difference relative to its own norm
EXACT_LIMIT = 1e-4  # if inputs are not rounded
MOVED, TIMES, NOISE_FACTOR = 3e-7, 6, 3.0
# Widths with rotated runs of 64, 32 and 256, and a few remaining numbers at the end.
SIZE = Size(heads=3, head_width=27, layers=2, vocabulary=0, feed_forward=300, positions=64)
FORMATS = ("int8", "int4", "bfloat16", "float16", "float32")


@dataclass(frozen=True)
class Learning:
    objective: str
    family: str
    settings: dict[str, Any]  # of LoRA


CASES = {
    "bert": Learning("masked-lm", "bert", {"target_modules": ["query", "value", "output.dense"], "r": 3}),
    "bert-classifier": Learning("classification", "bert", {"task_type": "SEQ_CLS", "r": 4, "target_modules": ["key", "intermediate.dense"]}),
    "roberta-dora": Learning("masked-lm", "roberta", {"target_modules": ["query", "output.dense"], "use_dora": True}),
    "gpt2": Learning("causal-lm", "gpt2", {"target_modules": ["c_attn", "c_proj"], "r": 5, "fan_in_fan_out": True}),
    "gpt2-words": Learning("causal-lm", "gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["wte"], "fan_in_fan_out": True}),
    "gpt2-new-words": Learning("causal-lm", "gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["wte", "lm_head", "ln_f"], "fan_in_fan_out": True}),
    "bert-words": Learning("masked-lm", "bert", {"target_modules": ["query"], "modules_to_save": ["word_embeddings"], "bias": "all"}),
    "gpt2-fc": Learning("causal-lm", "gpt2", {"target_modules": ["c_fc"], "use_rslora": True, "fan_in_fan_out": True}),
    "bart": Learning("sequence-to-sequence", "bart", {"target_modules": ["q_proj", "v_proj", "fc2"], "r": 3}),
    "t5": Learning("sequence-to-sequence", "t5", {"target_modules": ["q", "k", "wo"], "r": 2}),
}  # fmt: skip


def hadamard(size: int) -> torch.Tensor:
    matrix = torch.ones(1, 1)
    while len(matrix) < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix / size**0.5


def rotated(rows: torch.Tensor) -> torch.Tensor:
    """Rows [..., n], and the same again turns them back."""
    parts, begin, n = [], 0, rows.shape[-1]
    runs = [256] * (n // 256) + [run for run in (128, 64, 32) if n % 256 & run]
    for run in runs:
        columns = rows[..., begin : begin + run].unflatten(-1, (run // 16, 16))
        parts.append((hadamard(run // 16).to(rows) @ columns).flatten(-2))
        begin += run
    return torch.cat([*parts, rows[..., begin:]], -1)


class Rounding(torch.autograd.Function):
    """Rows in 8 bits, each with its own scale; gradients pass."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        largest = rows.abs().amax(-1, keepdim=True)
        return torch.round(rows * (127 / largest)) * (largest / 127)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class RoundedLinear(nn.Linear):
    """weight [out, in], rotated."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(Rounding.apply(rotated(x)), rotated(self.weight), self.bias)


class ToBfloat16(torch.autograd.Function):
    """The nearest bfloat16; gradients pass."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        return rows.bfloat16().float()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class Bfloat16Linear(nn.Linear):
    """weight [out, in], rounded already."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(ToBfloat16.apply(x), self.weight, self.bias)


class Bfloat16Conv1D(Conv1D):
    """weight [in, out], rounded already."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(ToBfloat16.apply(x), self.weight.t(), self.bias)


class RoundedConv1D(Conv1D):
    """weight [in, out]."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(Rounding.apply(rotated(x)), rotated(self.weight.t()), self.bias)


def read_weights(directory: Path) -> Tensors:
    """The matrices [out, in] that the directory has in fewer bits, as the numbers that they stand for, turned back."""
    stored = load_file(directory / "model.safetensors")
    config = json.loads((directory / "config.json").read_text())["quantization_config"]
    matrices = {}
    for name, tensor in stored.items():
        if tensor.dtype not in (torch.int8, torch.uint8) or f"{name}_scale" not in stored:
            continue
        scale = stored[f"{name}_scale"]
        turned = tuple(scale.shape)[0] == 1  # as in GPT-2's checkpoints
        integers, scale = (tensor.t(), scale.t()) if turned else (tensor, scale)
        if config["weights"] == "int4":
            n = torch.stack([integers & 15, integers >> 4], -1).flatten(1).int()
            step, start = (stored[f"{name}_{what}"].int() for what in ("step", "start"))
            step, start = (step.t(), start.t()) if turned else (step, start)
            group = torch.arange(n.shape[1]) // 32
            integers = step[:, group] * n + start[:, group]
        rows = integers.float() * scale
        matrices[name] = rows
    return matrices


def is_matrix(module: nn.Module) -> bool:
    """One that is rounded: those with fewer outputs, such as classifiers, stay float32."""
    if isinstance(module, Conv1D):
        return module.nf >= 16
    return isinstance(module, nn.Linear) and module.out_features >= 16


def round_modules(model: PreTrainedModel, matrices: Tensors) -> int:
    """Puts them into the model; returns how many modules round their inputs from here on."""
    count, names = 0, {id(parameter): name for name, parameter in model.named_parameters()}
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    with torch.no_grad():
        for module in list(model.modules()):
            weight = getattr(module, "weight", None)
            name = names.get(id(weight), "")
            if name not in matrices:
                continue
            turned = isinstance(module, Conv1D)
            inputs = weight.shape[0 if turned else 1]
            rows = rotated(matrices[name][:, :inputs])
            if id(weight) in tables:  # and what is tied to one
                if isinstance(module, nn.Embedding):
                    weight.copy_(rows)
                continue
            weight.copy_(rows.t() if turned else rows)
            module.__class__ = RoundedConv1D if turned else RoundedLinear
            count += 1
    return count


def make(directory: Path, family: str, objective: Objective, seed: int) -> PreTrainedModel:
    kind, settings = FAMILIES[family]
    tokenizer = data.TOKENIZERS[kind]()
    if objective.labels:
        labels = dict(enumerate(objective.labels))
        settings = settings | {"id2label": labels, "label2id": {name: i for i, name in labels.items()}}
    size = Size(**(vars(SIZE) | {"vocabulary": len(tokenizer)}))
    model = getattr(transformers, f"AutoModelFor{objective.head}").from_config(make_config(Case(family, "", settings), size))
    randomize(model, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:  # scores near each other, so that rounding does not change a choice
                parameter.mul_(0.02 if name.endswith(".q.weight") else 0.3)  # T5's scores are not divided
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return model


def train(attend: Attend, case: Learning, folder: Path, weights: str) -> None:
    attend.run(
        "train", "--objective", case.objective, "--model", folder / "model", "--adapter", folder / "adapter",
        "--weights", weights, "--train", *OBJECTIVES[case.objective].write(folder), "--output", folder / "trained",
        "--save-batches", folder / "batches", "--steps", "1", "--batch-size", "1000", "--batch-tokens", "100000",
        "--optimizer", "sgd", "--learning-rate", "1", "--schedule", "constant", "--warmup", "0", "--weight-decay", "0", "--max-grad-norm", "0",
        "--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0", "--max-length", "60", "--threads", "1",
        "--quiet", *OBJECTIVES[case.objective].options,
    )  # fmt: skip


def gradients(adapted: Any, objective: Objective, batches: list[Tensors]) -> Tensors:
    sums, counts = 0.0, 0
    for batch in batches:
        for text in texts_of(batch):
            ((total, count),) = objective.loss(adapted, text)
            sums, counts = sums + total, counts + count
    (sums / counts).backward()  # type: ignore[attr-defined]
    return {stored_name(name): p.grad for name, p in adapted.named_parameters() if p.requires_grad and p.grad is not None}


def adapted_gradients(model: PreTrainedModel, folder: Path, objective: Objective, moved: int) -> Tensors:
    """Of a copy whose tables are moved, but for number 0."""
    model, generator = copy.deepcopy(model), torch.Generator().manual_seed(moved)
    with torch.no_grad():
        for module in model.modules():
            if moved and isinstance(module, nn.Embedding):
                module.weight.mul_(1 + MOVED * torch.randn(module.weight.shape, generator=generator))
    adapted = peft.PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True).eval()
    batches = [load_file(path) for path in sorted((folder / "batches").glob("step-1.*.safetensors"))]
    return gradients(adapted, objective, batches)


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm().clamp(min=1e-20))


def check_case(attend: Attend, name: str, weights: str, seed: int, table: Table) -> None:
    case, objective = CASES[name], OBJECTIVES[CASES[name].objective]
    worst, noise, unrounded, found, rounded = "-", "-", "-", [], 0
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            base = make(folder / "model", case.family, objective, seed)
            make_adapter(AdapterCase("", case.settings), base, seed, folder / "adapter")
            train(attend, case, folder, weights)
            model = getattr(transformers, f"AutoModelFor{objective.head}").from_pretrained(folder / "model", attn_implementation="eager")
            plain = adapted_gradients(model, folder, objective, 0)
            if weights.startswith("int"):
                attend.run("quantize", folder / "model", folder / "quantized", "--weights", weights)
                rounded = round_modules(model, read_weights(folder / "quantized"))
            elif weights != "float32":
                kind = getattr(torch, weights)
                tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
                with torch.no_grad():
                    for module in model.modules():
                        if is_matrix(module) or module is model.get_input_embeddings():
                            module.weight.copy_(module.weight.to(kind).float())
                            rounded += 1
                            if weights == "bfloat16" and id(module.weight) not in tables:
                                module.__class__ = Bfloat16Conv1D if isinstance(module, Conv1D) else Bfloat16Linear
            wanted, *others = [adapted_gradients(model, folder, objective, moved) for moved in range(TIMES + 1)]
            before, after = (load_file(folder / part / "adapter_model.safetensors") for part in ("adapter", "trained"))
            errors, noises = {}, {}
            for each, gradient in wanted.items():
                errors[each] = distance(before[each] - after[each], gradient)
                noises[each] = max(distance(other[each], gradient) for other in others)
            if max(noises.values()) > 1:  # mathematically zero, such as that of a key's bias
                errors, noises = ({each: of[each] for each in of if noises[each] <= 1} for of in (errors, noises))
            worst, noise = f"{max(errors.values()):.1e}", f"{max(noises.values()):.1e}"
            limit = EXACT_LIMIT if weights.startswith("float") else LIMIT
            limits = {each: max(limit, NOISE_FACTOR * of) for each, of in noises.items()}
            found = [f"{each}: {error:.1e}, may be {limits[each]:.1e}" for each, error in errors.items() if not error <= limits[each]][:5]
            matter = max(distance(plain[each], wanted[each]) for each in errors)
            unrounded = f"{matter:.1e}"
            if weights != "float32" and not max(limits.values()) < matter:
                found.append(f"with nothing rounded it is {unrounded}, which might pass")
        except FAILURES as error:
            found.append(f"{type(error).__name__}: {error}"[:700])
    table.row([name, weights, seed, rounded, worst, noise, unrounded], bool(found), found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--weights", choices=FORMATS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    attend = Attend(options.attend.resolve(), 300)
    table = Table([("case", 16), ("weights", 9), ("seed", 6), ("round", 6), ("largest difference", 18), ("moved", 8), ("unrounded", 9)])
    for name in options.case or CASES:
        for weights in options.weights or FORMATS:
            for seed in range(options.seed, options.seed + options.seeds):
                check_case(attend, name, weights, seed, table)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
