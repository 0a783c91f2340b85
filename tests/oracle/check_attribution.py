"""attend explain --attribute against Captum on transformers, and what Captum has not, by its definition.

    python check_attribution.py --attend build/release/attend
    python check_attribution.py --attend build/release/attend --model BertForMaskedLM --seeds 5

Captum gives gradient times input, integrated gradients and occlusion (as the ablation of one token's vector). Value
zeroing, rollout and the gradient-weighted rollout are computed here as their papers have them, and the measures of
faithfulness as ERASER has them. The originals compute in float64, attend in float32.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients
from PIL import Image

from attribution_originals import SIZES, VALUES, Original, Sides, ask, baseline_of, make_directory
from common import Attend, AttendFailed, Table
from originals import head_class

LIMIT = 1e-4  # of a score, relative to the method's largest
COMPLETE = 0.01  # of the score's change, with 50 steps
MANY_STEPS = 3000  # if 50 are not enough, also by Captum
ALL = ["gradient-input", "integrated-gradients", "occlusion", "value-zeroing", "rollout", "gradient-rollout"]


def value_zeroing(original: Original, x: Sides) -> Sides:
    paths = VALUES[original.kind]
    n = x[0].shape[1]

    def shares(side: int, number: int, of: int, tokens: int) -> torch.Tensor:
        layer = paths[side][0]
        return original.turned(x, (layer.format(number), number), paths[side][of].format(number), tokens)

    rows = torch.zeros(x[-1].shape[1], dtype=torch.float64)
    rows[original.read_row()] = 1
    source = torch.zeros(n, dtype=torch.float64)
    for number in reversed(range(original.layers(1) if len(x) > 1 else 0)):
        own, other = shares(1, number, 1, x[1].shape[1]), shares(1, number, 2, n)
        sums = own.sum(1, keepdim=True) + other.sum(1, keepdim=True)
        source, rows = source + rows @ (other / sums), rows @ (own / sums)
    first = source if len(x) > 1 else rows
    for number in reversed(range(original.layers(0))):
        own = shares(0, number, 1, n)[:n]  # BigBird's blocks may extend beyond the text
        first = first @ (own / own.sum(1, keepdim=True))
    return [first, rows] if len(x) > 1 else [first]


def half_past(mean: torch.Tensor) -> torch.Tensor:
    both = mean + torch.eye(len(mean), dtype=mean.dtype)
    return both / both.sum(1, keepdim=True)


def rollout(original: Original, x: Sides) -> Sides:
    _, kinds = original.attentions(x)
    means = [[layer[0].mean(0).detach()[:, -layer.shape[2] if len(x) == 1 else 0 :] for layer in kind] for kind in kinds]
    n = [side.shape[1] for side in x]
    rollout = torch.eye(n[0], dtype=torch.float64)
    for mean in means[0]:
        rollout = half_past(mean) @ rollout
    if len(x) == 1:
        return [rollout[original.read_row()]]
    own, source = torch.eye(n[1], dtype=torch.float64), torch.zeros(n[1], n[0], dtype=torch.float64)
    for self_mean, cross_mean in zip(means[1], means[2], strict=True):
        own, source = half_past(self_mean) @ own, half_past(self_mean) @ source
        own, source = own / 2, source / 2 + cross_mean @ rollout / 2
    return [source[original.read_row()], own[original.read_row()]]


def handle_residual(relevance: torch.Tensor) -> torch.Tensor:
    """As in the authors' code, but that a row without anything stays so."""
    rest = relevance - torch.eye(len(relevance), dtype=relevance.dtype)
    sums = rest.sum(1, keepdim=True)
    return torch.where(sums > 0, rest / sums.clamp_min(1e-300), 0) + torch.eye(len(rest), dtype=rest.dtype)


def gradient_rollout(original: Original, x: Sides) -> Sides | None:
    x = [side.clone().requires_grad_() for side in x]
    out, kinds = original.attentions(x)
    score = original.pick(original.logits(out)).sum()
    flat = [layer for kind in kinds for layer in kind]
    found = torch.autograd.grad(score, flat, allow_unused=True)
    if all(gradient is None for gradient in found):  # as for BigBird's blocks, whose attentions are assembled
                                                     # only for output
        return None
    gradients = iter(found)

    def step(layer: torch.Tensor, gradient: torch.Tensor | None) -> torch.Tensor:
        weighted = torch.zeros_like(layer) if gradient is None else gradient * layer
        mean = weighted[0].clamp(min=0).mean(0).detach()
        return mean[:, -mean.shape[0] :] if len(x) == 1 else mean

    steps = [[step(layer, next(gradients)) for layer in kind] for kind in kinds]
    n = [side.shape[1] for side in x]
    encoder = torch.eye(n[0], dtype=torch.float64)
    for cam in steps[0]:
        encoder = encoder + cam @ encoder
    row = original.read_row()
    if len(x) == 1:
        return [encoder[row] - torch.eye(n[0])[row]]
    target, source = torch.eye(n[1], dtype=torch.float64), torch.zeros(n[1], n[0], dtype=torch.float64)
    for own, cross in zip(steps[1], steps[2], strict=True):
        target, source = target + own @ target, source + own @ source
        source = source + handle_residual(target).T @ cross @ handle_residual(encoder)
    return [source[row], target[row] - torch.eye(n[1])[row]]


def differentiated(original: Original, x: Sides, baseline: Sides, replaceable: list[list[int]]) -> dict[str, Sides]:
    """What Captum makes of it."""
    x, baseline = [side.clone().requires_grad_() for side in x], [side.clone() for side in baseline]
    sums = lambda found: [side[0].sum(-1).detach() for side in found]  # noqa: E731
    kinds = {
        "gradient-input": sums(InputXGradient(original.asked).attribute(tuple(x))),
        "integrated-gradients": sums(IntegratedGradients(original.asked).attribute(
            tuple(x), tuple(baseline), n_steps=50, method="gausslegendre", internal_batch_size=25)),
    }  # fmt: skip
    with torch.no_grad():
        first = 0
        masks = []
        for side in x:
            tokens = torch.arange(first, first + side.shape[1])
            masks.append(tokens[None, :, None].expand(side.shape))
            first += side.shape[1]
        ablated = FeatureAblation(original.asked).attribute(tuple(x), tuple(baseline), feature_mask=tuple(masks))
    kinds["occlusion"] = [torch.zeros(side.shape[1], dtype=torch.float64) for side in x]
    for side, tokens in enumerate(replaceable):
        for token in tokens:
            kinds["occlusion"][side][token] = ablated[side][0, token, 0]
    return kinds


def faithfulness(original: Original, x: Sides, baseline: Sides, order: list[tuple[int, int]]) -> list[float]:
    """Comprehensiveness, sufficiency, and the curve of certainty, of tokens in this order."""

    def without(taken: list[tuple[int, int]]) -> float:
        changed = [side.clone() for side in x]
        for side, token in taken:
            changed[side][0, token] = baseline[side][0, token]
        return float(original.certainty(*changed)[0])

    n, whole = len(order), without([])
    shares = [math.ceil(share * n) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
    lost = sum(whole - without(order[:count]) for count in shares) / 5
    kept = sum(whole - without(order[count:]) for count in shares) / 5
    steps = min(n, 20)
    return [lost, kept, *(without(order[: n * step // steps]) for step in range(steps + 1))]


def gap_of(complete: dict[str, float]) -> float:
    """By what share of the score's change the sum of all numbers misses it."""
    return abs(complete["gap"]) / max(1e-12, abs(complete["score"] - complete["baseline"]))


def check(attend: Attend, name: str, seed: int) -> tuple[str, dict[str, float], float, list[str]]:
    pick = random.Random(f"{name} {seed}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        directory = folder / "model"
        tokenizer = make_directory(name, seed, directory)
        given, options = ask(name, seed, pick, tokenizer, folder)

        def explained(methods: str, *more: str) -> dict[str, Any]:
            attend.run("explain", directory, *given, "--attribute", methods, *options, *more, "--json", folder / "all.json",
                       "--threads", "1")  # fmt: skip
            return json.loads((folder / "all.json").read_text())

        found = explained(",".join(ALL[:-1]) if name.endswith("/blocks") else "all")  # blocks' weights have no gradients
        (result,) = found["attributions"]
        model = head_class(name.split("/")[0]).from_pretrained(directory, attn_implementation="eager").to(torch.float64).eval()
        pixels = None
        if tokenizer is None:
            processor = transformers.ViTImageProcessor.from_pretrained(directory)
            pixels = processor(Image.open(folder / "picture.png"), return_tensors="pt")["pixel_values"].to(torch.float64)
        ids = [torch.tensor([token["id"] for token in side["tokens"]]) for side in found["sides"]]
        original = Original(model, ids, result, pixels)
        x = original.inputs()
        plain = [[i for i, token in enumerate(side["tokens"]) if not token.get("special")] for side in found["sides"]]
        if not result["label"]:
            place = result["place"]
            plain[-1] = [i for i in plain[-1] if (i <= place if original.causal else i != place)]
        wrong = []
        with torch.no_grad():
            scores = original.scores(*x)[0]
            if "--toward" not in options and len(x) == 1 and int(scores.argmax()) != result["toward_id"]:
                wrong.append(f"asked for {result['toward_id']}, the likeliest is {int(scores.argmax())}")
        baseline = baseline_of(original, x, plain, tokenizer, options)
        wanted: dict[str, Sides | None] = dict(differentiated(original, x, baseline, plain))
        with torch.no_grad():
            wanted["value-zeroing"] = value_zeroing(original, x)
            wanted["rollout"] = rollout(original, x)
        wanted["gradient-rollout"] = gradient_rollout(original, x)
        errors, gap = {}, 0.0
        for method in result["methods"]:
            own = [torch.tensor(side["scores"], dtype=torch.float64) for side in method["sides"]]
            theirs = wanted[method["method"]]
            error = float("nan")
            if theirs is not None:
                largest = max(float(side.abs().max()) for side in theirs)
                error = max(float((a - b).abs().max()) for a, b in zip(own, theirs, strict=True)) / max(largest, 1e-12)
                if not error <= LIMIT:
                    wrong.append(f"{method['method']}: off by {error:.1e}")
            errors[method["method"]] = error
            if complete := method.get("completeness"):
                gap = gap_of(complete)
                if gap > COMPLETE:
                    finer = explained("integrated-gradients", "--steps", str(MANY_STEPS))["attributions"][0]["methods"][0]
                    options += ["--steps", str(MANY_STEPS)]
                    # If positive and negative scores cancel, relative to both.
                    both = sum(abs(score) for side in finer["sides"] for score in side["scores"])
                    gap = abs(finer["completeness"]["gap"]) / max(both, abs(complete["score"] - complete["baseline"]))
                if gap > COMPLETE:
                    wrong.append(f"the gap of completeness is {gap:.3f} of the change")
            places = [(side, token) for side, tokens in enumerate(plain) for token in tokens]
            order = sorted(places, key=lambda place: -float(own[place[0]][place[1]]))
            with torch.no_grad():
                measures = faithfulness(original, x, baseline, order)
            faithful = method["faithfulness"]
            said = [faithful["comprehensiveness"], faithful["sufficiency"], *faithful["certainty"]]
            off = max(abs(a - b) for a, b in zip(said, measures, strict=True))
            if off > 1e-5:
                wrong.append(f"{method['method']}: measures of faithfulness are off by {off:.1e}")
        return " ".join(options), errors, gap, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--model", choices=SIZES, help="one architecture only")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    attend = Attend(options.attend.resolve())
    table = Table([("model", 36), ("seed", 4), *((method, len(method)) for method in ALL), ("gap", 8), ("asked", 40)])
    for name in [options.model] if options.model else SIZES:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            try:
                asked, errors, gap, wrong = check(attend, name, seed)
            except AttendFailed as failure:
                asked, errors, gap, wrong = "", {}, math.nan, [str(failure)]
            cells = [f"{errors.get(method, math.nan):.1e}" for method in ALL]
            table.row([name, seed, *cells, f"{gap:.1e}", asked], bool(wrong), wrong)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
