"""What the oracle scripts share: running attend, comparing tensors, printing tables."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Iterable, Protocol, Sequence

import torch
from safetensors.torch import load_file, save_file

Tensors = dict[str, torch.Tensor]

VALUE_LIMIT = 2e-5  # largest error of a tensor, relative to its largest absolute value
GRADIENT_LIMIT = 1e-4
SCORE_LIMIT = 1e-4  # of beams: sums of log-probabilities, which lose digits near zero
# A tensor whose float32 values are rounding noise in the original too (the gradient of a key's bias is zero
# in exact arithmetic) may differ by this many times the original's own distance from float64.
NOISE_FACTOR = 8
# One gradient is not noise and yet nearly cancels: the bias of DeBERTa's position queries has a gradient of
# as little as 0.003 of their matrix's. There the original's float32 differs from float64 by 0.7 to 11 times
# the limit, and attend by 0.7 to 2.3 times as much. So attend may differ by 3 times that distance, from half
# the limit on.
NEARLY_CANCELS, CANCELLED_FACTOR = "pos_q_proj.bias", 3


def limit_of(name: str) -> float:
    if name in ("sequences_scores", "transition_scores"):
        return SCORE_LIMIT
    return GRADIENT_LIMIT if name.startswith("grad.") else VALUE_LIMIT


class AttendFailed(RuntimeError):
    """attend ended with another status than 0; the text is its standard error."""


class Runner(Protocol):
    """What the checks need of attend. `Attend` is the command; stand_in.py plays it with the original."""

    def forward(self, model: Path, inputs: Tensors, *, states: bool = True, gradients: bool = False) -> Tensors: ...

    def generate(self, model: Path, inputs: Tensors, settings: dict[str, Any]) -> Tensors: ...

    def embed(self, model: Path, texts: Sequence[str], options: dict[str, Any] = {}) -> torch.Tensor: ...

    def search(self, model: Path, queries: Sequence[str], texts: Sequence[str]) -> torch.Tensor: ...

    def tokenize(self, model: Path, texts: Sequence[str]) -> list[list[int]]: ...


@dataclass(frozen=True)
class Attend:
    """The command `attend`."""

    program: Path
    seconds: float = 120

    def run(self, *arguments: str | Path, stdin: str = "") -> str:
        call = [str(self.program), *map(str, arguments)]
        done = subprocess.run(call, input=stdin.encode(), capture_output=True, timeout=self.seconds)
        if done.returncode != 0:
            raise AttendFailed(f"exit {done.returncode}: {done.stderr.decode(errors='replace').strip()[-500:]}")
        return done.stdout.decode()

    def forward(self, model: Path, inputs: Tensors, *, states: bool = True, gradients: bool = False) -> Tensors:
        """The part of attend that runs models makes the outputs, the one that trains gradients; both must agree."""
        flags = ["--hidden-states", "--attentions"] * states
        made = self._with_files("forward", model, inputs, flags)
        if not gradients:
            return made
        traced = self._with_files("forward", model, inputs, flags + ["--gradients"])
        for name, tensor in made.items():
            if name not in traced or not torch.allclose(tensor, traced[name], rtol=1e-3, atol=1e-4, equal_nan=True):
                raise AttendFailed(f"{name} is not the same with gradients")
        return traced | made

    def generate(self, model: Path, inputs: Tensors, settings: dict[str, Any]) -> Tensors:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "generation.json"
            path.write_text(json.dumps(settings))
            return self._with_files("generate", model, inputs, ["--generation-config", str(path)])

    def embed(self, model: Path, texts: Sequence[str], options: dict[str, Any] = {}) -> torch.Tensor:
        """Options as sentence_cases.Call has them."""
        flags = []
        for name, value in options.items():
            flag = "--prompt-name" if name == "role" else "--" + name.replace("_", "-")
            flags.append(f"{flag}={json.dumps(value) if isinstance(value, bool) else value}")
        lines = self._json_lines("embed", model, texts, *flags)
        return torch.tensor([line["embedding"] for line in lines])  # [texts, width]

    def search(self, model: Path, queries: Sequence[str], texts: Sequence[str]) -> torch.Tensor:
        """The score of each text for each query."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "texts"
            path.write_text("".join(text + "\n" for text in texts))
            answers = self._json_lines("embed", model, queries, "--search", str(path), "--top", str(len(texts)))
        scores = [{found["line"]: found["score"] for found in answer["results"]} for answer in answers]
        return torch.tensor([[each[i + 1] for i in range(len(texts))] for each in scores])

    def tokenize(self, model: Path, texts: Sequence[str]) -> list[list[int]]:
        stdin = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        return [json.loads(line)["ids"] for line in self.run("tokenize", model, "--json", stdin=stdin).splitlines()]

    def _json_lines(self, verb: str, model: Path, texts: Sequence[str], *flags: str) -> list[dict[str, Any]]:
        output = self.run(verb, model, "--json", *flags, stdin="".join(text + "\n" for text in texts))
        return [json.loads(line) for line in output.splitlines()]

    def _with_files(self, verb: str, model: Path, inputs: Tensors, flags: Sequence[str]) -> Tensors:
        with TemporaryDirectory() as folder:
            given, made = Path(folder) / "inputs.safetensors", Path(folder) / "outputs.safetensors"
            save_file(inputs, given)
            self.run(verb, model, "--inputs", given, "--outputs", made, *flags)
            return load_file(made)


@dataclass(frozen=True)
class Finding:
    """One tensor compared. `error` is infinite where it cannot be compared at all, and `remark` says why."""

    name: str
    error: float
    limit: float
    remark: str = ""
    noise: bool = False  # over the limit, but so is the original in float32

    def __str__(self) -> str:
        return f"{self.name}: error {self.error:.1e}, limit {self.limit:.0e} {self.remark}".rstrip()

    @property
    def failed(self) -> bool:
        return not self.noise and self.error > self.limit


def relative_error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest difference, relative to the largest absolute value wanted; infinite if there is a NaN.

    Infinite values must be the same, and else do not count.
    """
    if wanted.numel() == 0:
        return 0.0
    infinite = wanted.isinf() & (got == wanted)
    got, wanted = got.masked_fill(infinite, 0), wanted.masked_fill(infinite, 0)
    difference = (got.double() - wanted.double()).abs().max().item()
    largest = wanted.double().abs().max().item()
    if math.isnan(difference) or largest == 0:
        return 0.0 if difference == 0 else math.inf
    return difference / largest


def is_tied(scores: torch.Tensor) -> torch.Tensor:
    """Where in its row of [B, N] another is as good but for rounding, so that their order is the sort's."""
    near = (scores[:, :, None] - scores[:, None, :]).abs() <= 1e-6  # [B, N, N]
    return near.sum(-1) > 1


def compare(wanted: Tensors, got: Tensors, exact: Tensors | None = None) -> list[Finding]:
    """Every tensor of `wanted` against `got`; `exact` is the original in float64."""
    findings = []
    for name in sorted(wanted.keys() | got.keys()):
        limit = limit_of(name)
        if name not in got or name not in wanted:
            findings.append(Finding(name, math.inf, limit, "missing" if name not in got else "additional"))
            continue
        ours, original = got[name], wanted[name]
        if ours.shape != original.shape or ours.dtype != original.dtype:
            remark = f"{ours.dtype}{list(ours.shape)} for {original.dtype}{list(original.shape)}"
            findings.append(Finding(name, math.inf, limit, remark))
            continue
        if name.endswith("_top_index"):
            ours = ours.where(~is_tied(wanted[name.replace("_index", "_log_probs")]), original)
        error = relative_error(ours, original)
        if error <= limit or exact is None:
            findings.append(Finding(name, error, limit))
            continue
        own = (original.double() - exact[name]).abs().max().item()
        difference = (ours.double() - exact[name]).abs().max().item()
        largest = max(original.double().abs().max().item(), 1e-300)
        cancels = name.endswith(NEARLY_CANCELS)
        noise = own > limit * largest and difference <= NOISE_FACTOR * own
        noise |= cancels and own > limit / 2 * largest and difference <= CANCELLED_FACTOR * own
        # A gradient that is zero in exact arithmetic (a bias that all choices share) is only rounding.
        noise |= exact[name].abs().max().item() < 1e-12 and difference < 1e-6
        findings.append(Finding(name, error, limit, f"float32 of the original to float64: {own / largest:.1e}", noise))
    return findings


@dataclass
class Table:
    """Rows printed as they come, in columns; `failures` counts the rows that failed."""

    columns: Sequence[tuple[str, int]]
    failures: int = 0
    rows: int = 0

    def __post_init__(self) -> None:
        print("  ".join(f"{title:<{width}}" for title, width in self.columns), flush=True)

    def row(self, cells: Iterable[Any], failed: bool, details: Iterable[str] = ()) -> None:
        self.rows += 1
        self.failures += failed
        widths = (width for _, width in self.columns)
        print(
            "  ".join(f"{str(cell):<{width}}" for cell, width in zip(cells, widths, strict=True)),
            "FAILED" if failed else "ok",
        )
        for line in details:
            print("    " + line)
        sys.stdout.flush()

    def status(self) -> int:
        """The exit status; a table without rows has checked nothing, which is a failure too."""
        print(f"{self.rows} checked, {self.failures} failed")
        return 1 if self.failures or not self.rows else 0
