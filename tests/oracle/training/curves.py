"""The training loss over fifty steps against PyTorch and transformers, which read the very same batches.

Tiny models are trained without dropout, with AdamW, warm-up, a linear schedule, clipping and several batches to a step: by
attend, and here from the batches that it saved. All losses of metrics.jsonl, which has every tenth step, and the weights after
the last step must agree. The worst of three seeds is printed; weights, data and masked tokens depend on the seed.

    python tests/oracle/training/curves.py build/release/attend [model ...] [--seed N]
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from distillation import gpt2, marian
from pretraining import CASES, LIMIT, LINES, Case, alone, arguments, differences, run_all, run_both, token_loss

STEPS, WARMUP, CLIP, SMOOTHING, SEEDS = 50, 5, 0.5, 0.1, 3
LOSS_LIMIT = 1e-3

MODELS = {
    "gpt2": Case("causal-lm", alone(lambda: gpt2(2)), token_loss, options=["--length", 12]),
    "marian": Case("sequence-to-sequence", alone(lambda: marian(2)), token_loss, LINES),
    "marian, smoothed labels": Case("sequence-to-sequence", alone(lambda: marian(2)), partial(token_loss, smoothing=SMOOTHING),
                                    LINES, ["--label-smoothing", SMOOTHING]),
    "bert, words and pairs": CASES["next-sentence bert"],
    "electra, both networks": CASES["replaced-tokens electra"],
}  # fmt: skip


def rate_factor(step: int) -> float:
    """As attend's: transformers' first step has a rate of zero, attend's does not."""
    return min((step + 1) / WARMUP, (STEPS - step) / (STEPS - WARMUP))


def losses_of(folder: Path) -> dict[int, float]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["train/loss"] for line in lines if "train/loss" in line}


def check(program: Path, name: str, seed: int) -> bool:
    found, weights = [], []  # difference, place, seed
    for each in range(seed, seed + SEEDS):
        torch.manual_seed(each)
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            nets, theirs = run_both(program, folder, MODELS[name], each, CLIP, steps=STEPS,
                                    schedule=("linear", "--warmup", WARMUP), factor=rate_factor)  # fmt: skip
            ours = losses_of(folder / "out")
            weights.append((*differences(nets, folder / "out"), each))
        assert set(ours) >= set(range(10, STEPS + 1, 10)), f"losses of steps {sorted(ours)}"
        found += [(abs(loss - theirs[step - 1]), step, each) for step, loss in ours.items()]
    (worst, step, of), (weight, where, whose) = max(found), max(weights)
    good = worst <= LOSS_LIMIT and weight <= LIMIT
    print(f"{'ok  ' if good else 'FAIL'} {name:24} worst of {len(found)} losses {worst:.1e} (step {step}, seed {of}), "
          f"of all weights {weight:.1e} ({where}, seed {whose}); loss {theirs[0]:.3f} to {theirs[-1]:.3f}", flush=True)  # fmt: skip
    return good


def main() -> int:
    options = arguments(__doc__)
    return run_all({name: partial(check, options.program, name, options.seed) for name in MODELS}, options)


if __name__ == "__main__":
    sys.exit(main())
