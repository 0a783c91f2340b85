"""Ten steps of `pairs` and `scored-pairs` against sentence-transformers' losses, and what they leave behind.

A tiny BERT is made with transformers, `attend train --save-batches` trains it without dropout, and the same steps are
made here from the saved batches with sentence-transformers' losses and torch's AdamW. All weights must agree; the
directory that is left must be one of sentence-transformers, with the vectors of `attend embed`.

    python tests/oracle/training/vectors.py build/release/attend [case ...] [--seed N]
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from pretraining import (
    LIMIT, SMALL, STEPS, WORDS, Tensors, arguments, attend_train, differences, run_all, save_tokenizer, train, without_dropout,
)  # fmt: skip
from sentence_transformers import SentenceTransformer, losses, models
from transformers import BertConfig, BertModel

WIDTHS = [16, 8]
# A key's bias has no effect: its gradient is only rounding, which Adam turns into full steps.
NOISE = "key.bias"


def write_pairs(folder: Path) -> None:
    """No text is repeated, because sentence-transformers does not exclude false negatives."""
    draw, seen = random.Random(2), set()

    def sentence() -> str:
        while True:
            text = " ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 9)))
            if text not in seen:
                seen.add(text)
                return text

    rows = [(sentence(), sentence(), round(draw.uniform(0, 5), 2)) for _ in range(60)]
    rows[0], rows[1] = (*rows[0][:2], 0.0), (*rows[1][:2], 5.0)
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b, _ in rows))
    (folder / "scored.tsv").write_text("".join(f"{score}\t{a}\t{b}\n" for a, b, score in rows))


def with_pooling(folder: Path, mode: str) -> SentenceTransformer:
    transformer = models.Transformer(str(folder))
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode=mode)
    return SentenceTransformer(modules=[transformer, pooling], device="cpu")


def halves(batch: Tensors) -> list[Tensors]:
    """What the two columns of texts read."""
    count = len(batch["input_ids"]) // 2
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    return [{name: rows[part] for name, rows in inputs.items()} for part in (slice(0, count), slice(count, None))]


def same_vectors(program: Path, folder: Path) -> float:
    texts = [" ".join(WORDS[i : i + 4]) for i in range(0, 24, 3)]
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts, convert_to_tensor=True)
    lines = subprocess.run([program, "embed", folder, "--json"], input="\n".join(texts).encode(), capture_output=True, check=True)
    ours = torch.tensor([json.loads(line)["embedding"] for line in lines.stdout.decode().splitlines()])
    return float((ours - theirs).abs().max())


def check(program: Path, objective: str, widths: list[int], mode: str, seed: int, clip: float) -> bool:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder)
        # Vectors of texts must differ: gradients of cosines near 1 are rounding, in torch as in attend.
        BertModel(BertConfig(**SMALL, initializer_range=0.3)).save_pretrained(folder / "model")
        save_tokenizer(folder / "model", with_types=True)
        if mode != "mean":
            with_pooling(folder / "model", mode).save(str(folder / "model"))
        sentences = with_pooling(folder / "model", mode)
        net = without_dropout(sentences[0].auto_model)
        data = "pairs.tsv" if objective == "pairs" else "scored.tsv"
        attend_train(program, folder, objective, [data], seed, clip, "--validation", folder / data, "--batch-size", 7, "--average", 1,
                     "--validate-every", STEPS, *(["--matryoshka", *widths] if widths else []))  # fmt: skip
        loss = (losses.MultipleNegativesRankingLoss if objective == "pairs" else losses.CosineSimilarityLoss)(sentences)
        if widths:
            loss = losses.MatryoshkaLoss(sentences, loss, [SMALL["hidden_size"], *widths])

        def loss_of(nets, batches, seed):  # noqa: ANN001
            assert len(batches) == 1
            return loss(halves(batches[0]), batches[0]["text_labels"])

        train({"": net}, loss_of, folder / "batches", seed, clip)
        worst, where = differences({"": net}, folder / "out", without=NOISE)
        vectors = same_vectors(program, folder / "out")
        good = worst <= LIMIT and vectors <= LIMIT
        print(f"{'ok  ' if good else 'FAIL'} {objective} {widths} {mode} clip {clip}: weights {worst:.1e} {where}, vectors {vectors:.1e}")
        return good


def main() -> int:
    options = arguments(__doc__)
    return run_all({
        f"{objective} {widths} {mode}, clip {clip}":
            lambda case=(objective, widths, mode, options.seed, clip): check(options.program, *case)
        for objective in ("pairs", "scored-pairs")
        for widths in ([], WIDTHS)
        for mode, clip in (("mean", 0.0), ("mean", 0.25), ("cls", 0.0), ("max", 0.0))
    }, options)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
