"""Training a classifier's own head further, against transformers and PEFT.

    python check_heads.py --attend build/release/attend

A BERT classifier, made by transformers, knows the labels good, bad and mixed. attend trains it on data with two of
them, so little that no number changes: transformers must read the same labels and scores in the result as in the
original. Then an adapter (LoRA) is trained: PEFT must load it with the original, and give the same probabilities as
attend. Both with the labels' names and with their ids in the data.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import peft
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

LABELS = ["good", "bad", "mixed"]
WORDS = ["a", "fine", "dull", "film", "it", "is"]
TEXTS = ["a fine film", "it is dull", "film it fine"]
LIMIT = 1e-5


def write_model(path: Path) -> None:
    torch.manual_seed(3)
    config = BertConfig(vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=24, max_position_embeddings=32, id2label=dict(enumerate(LABELS)),
                        label2id={name: i for i, name in enumerate(LABELS)}, initializer_range=0.5)  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(path)
    (path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))


def probabilities(model: torch.nn.Module, tokenizer: AutoTokenizer) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits.softmax(-1)


class Check:
    def __init__(self, attend: str, folder: Path) -> None:
        self.attend, self.folder, self.failures = attend, folder, 0

    def run(self, *arguments: str | Path) -> str:
        done = subprocess.run([self.attend, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"attend {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def train(self, output: Path, labels: list[str], *more: str) -> Path:
        data = self.folder / "data.tsv"
        data.write_text("".join(f"{text}\t{label}\n" for text, label in zip(TEXTS, labels)))
        self.run("train", "--objective", "classification", "--model", self.folder / "model", "--train", data, "--output",
                 output, "--schedule", "constant", "--warmup", "0", *more)  # fmt: skip
        return output

    def says(self, output: Path) -> torch.Tensor:
        rows = []
        for line in self.run("run", "text-classification", output, "--top-k", "3", *TEXTS).splitlines():
            scores = {item["label"]: item["score"] for item in json.loads(line)}
            rows.append([scores[label] for label in LABELS])
        return torch.tensor(rows)

    def same(self, what: str, found: object, expected: object) -> None:
        if isinstance(found, torch.Tensor):
            error = (found - expected).abs().max().item()
            well, found = error < LIMIT, f"{error:.1e} away"
        else:
            well = found == expected
        print(f"{'ok    ' if well else 'FAILED'} {what}: {found}")
        self.failures += not well


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", default="build/release/attend")
    attend = str(Path(parser.parse_args().attend).resolve())
    with TemporaryDirectory() as folder:
        check = Check(attend, Path(folder))
        model = check.folder / "model"
        write_model(model)
        tokenizer = AutoTokenizer.from_pretrained(model)
        before = probabilities(AutoModelForSequenceClassification.from_pretrained(model), tokenizer)
        for name, labels in (("names", ["mixed", "bad", "mixed"]), ("ids", ["2", "1", "2"])):
            still = check.train(check.folder / f"still-{name}", labels, "--steps", "1", "--learning-rate", "1e-12")
            after = AutoModelForSequenceClassification.from_pretrained(still)
            check.same(f"{name}: labels", list(after.config.id2label.values()), LABELS)
            check.same(f"{name}: transformers reads the same scores", probabilities(after, tokenizer), before)
            adapter = check.train(check.folder / f"adapter-{name}", labels, "--steps", "30", "--learning-rate", "0.01", "--lora", "2")
            base = AutoModelForSequenceClassification.from_pretrained(model)
            adapted = probabilities(peft.PeftModel.from_pretrained(base, str(adapter)), tokenizer)
            check.same(f"{name}: PEFT loads the adapter with the original", adapted, check.says(adapter))
            check.same(f"{name}: and it has learned", adapted.argmax(-1).tolist(), [2, 1, 2])
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
