"""Ten steps of `image-classification` and `masked-images` against transformers, and what they leave behind.

Tiny ViTs are made with transformers, `attend train --save-batches` trains them without dropout on pictures made here, and
the same steps are made here from the saved batches. All weights must agree, pictures must be those of ViTImageProcessor,
and the directory that is left must give transformers and `attend run` the same scores. So must a fresh model for grey
pictures of `attend init vit`.

    python tests/oracle/training/images.py build/release/attend [case ...] [--seed N]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy
import torch
from PIL import Image
from pretraining import LIMIT, STEPS, arguments, attend_train, differences, run_all, train, without_dropout
from safetensors.torch import load_file
from transformers import ViTConfig, ViTForImageClassification, ViTForMaskedImageModeling, ViTImageProcessor

SIZE, PATCH, RATE_HIDDEN = 12, 4, 0.5
CLASSES = ["cat", "dog", "owl"]


def write_pictures(folder: Path) -> list[Path]:
    draw = numpy.random.default_rng(3)
    paths = []
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for i in range(9):
            size = (int(draw.integers(9, 25)), int(draw.integers(9, 25)), 3)
            paths.append(folder / name / f"{i}.png")
            Image.fromarray(draw.integers(0, 256, size, dtype=numpy.uint8)).save(paths[-1])
    return paths


def config(**more: Any) -> ViTConfig:
    return ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, image_size=SIZE,
                     patch_size=PATCH, encoder_stride=PATCH, **more)  # fmt: skip


def run(program: Path, *arguments: Any) -> str:
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode()[-800:])
    return done.stdout.decode()


def known_pictures(folder: Path, paths: list[Path], batches: Path) -> bool:
    processor = ViTImageProcessor.from_pretrained(folder)
    known = processor([Image.open(path) for path in paths], return_tensors="pt")["pixel_values"]
    seen = torch.cat([load_file(file)["pixel_values"] for file in batches.iterdir()])
    return all(bool(((known - picture).flatten(1).abs().amax(1) < 1e-6).any()) for picture in seen)


def same_scores(program: Path, folder: Path, pictures: list[Path], images: list[Any]) -> float:
    """What transformers makes of `images` and attend of the files they are."""
    processor, net = ViTImageProcessor.from_pretrained(folder), ViTForImageClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        theirs = net(**processor(images, return_tensors="pt")).logits.softmax(1)
    worst = 0.0
    for path, scores in zip(pictures, theirs, strict=True):
        answer = json.loads(run(program, "run", "image-classification", folder, path, "--json", "--top-k", 0))
        labels = answer if isinstance(answer, list) else next(v for v in answer.values() if isinstance(v, list))
        for label in labels:
            worst = max(worst, abs(label["score"] - float(scores[net.config.label2id[label["label"]]])))
    return worst


def check(program: Path, objective: str, seed: int, clip: float) -> bool:
    masked = objective == "masked-images"
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_pictures(folder / "pictures")
        labels = {i: label for i, label in enumerate(CLASSES)}
        make = ViTForMaskedImageModeling if masked else ViTForImageClassification
        make(config(id2label=labels, label2id={v: k for k, v in labels.items()})).save_pretrained(folder / "model")
        ViTImageProcessor(size={"height": SIZE, "width": SIZE}).save_pretrained(folder / "model")
        net = without_dropout(make.from_pretrained(folder / "model"))
        attend_train(program, folder, objective, ["pictures"], seed, clip, "--validation", folder / "pictures", "--batch-size", 5,
                     "--validate-every", STEPS, *(["--mask-rate", RATE_HIDDEN] if masked else []))  # fmt: skip

        def loss_of(nets, batches, seed):  # noqa: ANN001
            batch = batches[0]
            if not masked:
                return nets[""](batch["pixel_values"], labels=batch["text_labels"]).loss
            hidden = batch["bool_masked_pos"]
            assert (hidden.sum(1) == int(RATE_HIDDEN * hidden.shape[1] + 0.5)).all()
            return nets[""](batch["pixel_values"], bool_masked_pos=hidden.bool()).loss

        train({"": net}, loss_of, folder / "batches", seed, clip)
        worst, where = differences({"": net}, folder / "out")
        good = worst <= LIMIT and known_pictures(folder / "out", paths, folder / "batches")
        scores = 0.0 if masked else same_scores(program, folder / "out", paths[::5], [Image.open(p) for p in paths[::5]])
        good = good and scores <= LIMIT
        print(f"{'ok  ' if good else 'FAIL'} {objective} clip {clip}: weights {worst:.1e} {where}, scores {scores:.1e}")
        return good


def check_fresh_grey(program: Path, seed: int) -> bool:
    with TemporaryDirectory() as name:
        folder = Path(name)
        run(program, "init", "vit", folder / "model", "--set", "image_size=28", "--set", "patch_size=4", "--set",
            "num_channels=1", "--set", "encoder_stride=4", "--set", "hidden_size=24", "--set", "num_attention_heads=3",
            "--set", "num_hidden_layers=2", "--set", "intermediate_size=40", "--seed", seed)  # fmt: skip
        draw = numpy.random.default_rng(5)
        grey = [draw.integers(0, 256, size, dtype=numpy.uint8) for size in ((28, 28), (28, 28), (40, 31))]
        paths = [folder / f"{i}.png" for i in range(len(grey))]
        for path, pixels in zip(paths, grey, strict=True):
            Image.fromarray(pixels).save(path)
        scores = same_scores(program, folder / "model", paths, [pixels[..., None] for pixels in grey])
        print(f"{'ok  ' if scores <= LIMIT else 'FAIL'} a fresh model of grey pictures: scores {scores:.1e}")
        return scores <= LIMIT


def main() -> int:
    options = arguments(__doc__)
    checks = {f"{objective}, clip {clip}": lambda case=(objective, options.seed, clip): check(options.program, *case)
              for objective in ("image-classification", "masked-images") for clip in (0.0, 0.05)}  # fmt: skip
    return run_all({**checks, "a fresh model of grey pictures": lambda: check_fresh_grey(options.program, options.seed)}, options)


if __name__ == "__main__":
    sys.exit(main())
