"""Ten steps of `pairs` and `scored-pairs` against sentence-transformers' losses, and what they leave behind.

A tiny BERT is made with transformers, `attend train --save-batches` trains it without dropout, and the same steps are
made here from the saved batches with sentence-transformers' losses and torch's AdamW. All weights must agree; the
directory that is left must be one of sentence-transformers, with the vectors of `attend embed`.

    python tests/oracle/training/vectors.py build/release/attend
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from pretraining import DECAY, LIMIT, RATE, SEED, SMALL, STEPS, Tensors, WORDS, differences, save_tokenizer, train, without_dropout
from sentence_transformers import SentenceTransformer, losses, models
from transformers import BertConfig, BertModel

WIDTHS = [16, 8]


def write_pairs(folder: Path) -> None:
    """No text comes twice: sentence-transformers knows of no false negatives."""
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


def check(program: Path, objective: str, widths: list[int], mode: str, clip: float) -> bool:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder)
        BertModel(BertConfig(**SMALL)).save_pretrained(folder / "model")
        save_tokenizer(folder / "model", with_types=True)
        if mode != "mean":
            with_pooling(folder / "model", mode).save(str(folder / "model"))
        sentences = with_pooling(folder / "model", mode)
        net = without_dropout(sentences[0].auto_model)
        data = folder / ("pairs.tsv" if objective == "pairs" else "scored.tsv")
        call = [program, "train", "--objective", objective, "--model", folder / "model", "--train", data, "--validation", data,
                "--output", folder / "out", "--steps", STEPS, "--schedule", "constant", "--warmup", 0, "--rate", RATE,
                "--weight-decay", DECAY, "--beta2", 0.98, "--epsilon", 1e-6, "--clip", clip, "--dropout", 0,
                "--attention-dropout", 0, "--batch-size", 7, "--seed", SEED, "--average", 1, "--validate-every", STEPS,
                "--save-batches", folder / "batches"]  # fmt: skip
        call += ["--matryoshka", *widths] if widths else []
        done = subprocess.run(list(map(str, call)), capture_output=True, timeout=300)
        if done.returncode != 0:
            print(f"FAIL {objective}: {done.stderr.decode()[-600:]}")
            return False
        loss = (losses.MultipleNegativesRankingLoss if objective == "pairs" else losses.CosineSimilarityLoss)(sentences)
        if widths:
            loss = losses.MatryoshkaLoss(sentences, loss, [SMALL["hidden_size"], *widths])

        def loss_of(nets, batches, step):  # noqa: ANN001
            assert len(batches) == 1
            return loss(halves(batches[0]), batches[0]["text_labels"])

        train({"": net}, loss_of, folder / "batches", clip)
        worst, where = differences({"": net}, folder / "out")
        vectors = same_vectors(program, folder / "out")
        good = worst <= LIMIT and vectors <= LIMIT
        print(f"{'ok  ' if good else 'FAIL'} {objective} {widths} {mode} clip {clip}: weights {worst:.1e} {where}, vectors {vectors:.1e}")
        return good


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    results = [
        check(program, objective, widths, mode, clip)
        for objective in ("pairs", "scored-pairs")
        for widths in ([], WIDTHS)
        for mode, clip in (("mean", 0.0), ("mean", 0.25), ("cls", 0.0), ("max", 0.0))
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
