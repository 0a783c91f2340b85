"""attend train against PyTorch: ten steps of AdamW on every objective, over several families, weight by weight.

    python check_training.py --attend build/release/attend
    python check_training.py --attend build/release/attend --objective question-answering --family roberta
    python check_training.py --attend build/release/attend --fine-tuned
    python check_training.py --self-test

Attend trains a tiny model of transformers (training_models.py) without dropout. A step always takes all the data: in one
batch, in batches of one text, and in batches of three with a shorter last one, with and without clipping. The original
takes the same steps in float64 (training_steps.py), text by text, so without padding. It divides each term of the loss by
its number of labels in the step. The rows of attend's batches (--save-batches) are compared with those that transformers'
examples make of the data with their tokenizer (training_objectives.py). transformers must load attend's result without
missing or unexpected tensors.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Any, Sequence

import torch
import transformers
from transformers import PreTrainedModel

import training_data as data
from check_tasks import difference
from common import Attend, AttendFailed, Table, Tensors
from models import randomize
from training_models import FAMILIES, load, make
from training_objectives import LONGEST, OBJECTIVES, Row
from training_steps import DECAY, EPSILON, RATE, STEPS, steps_in, take_steps, texts_of

LIMIT = 5e-6  # of a weight, after the last step
# A gradient that is zero in exact arithmetic (of a key's bias, or of any value that does not change a softmax) is only
# rounding, which AdamW turns into steps. Numbers whose gradients stay below ZERO in float64 have the limit ZERO_LIMIT. A
# weight may contain some (in GPT-2 the key's bias is between two others). A gradient of exactly zero, as of a token that
# does not occur, has no rounding.
ZERO, ZERO_LIMIT = 1e-12, 1e-4
# Errors of a row. Later rows still run.
FAILURES = (AttendFailed, TimeoutExpired, RuntimeError, KeyError, ValueError)
SECONDS = 600  # the limit of a run: the machine may be busy


@dataclass(frozen=True)
class Way:
    """How the data becomes steps."""

    batch_size: int
    clip: float

    def __str__(self) -> str:
        return f"{self.batch_size} to a batch, clip {self.clip:g}"


WAYS = [Way(1000, 0), Way(1, 0.3), Way(3, 0)]


def as_row(text: Tensors) -> Row:
    labels = [text[name].flatten().tolist() for name in ("text_labels", "start_positions", "end_positions") if name in text]
    ids = [each["input_ids"][0].tolist() for each in text["choices"]] if "choices" in text else text["input_ids"][0].tolist()
    return (ids, *labels)


def differences(wanted: PreTrainedModel, got: PreTrainedModel, largest: Tensors | None = None) -> list[tuple[float, str, float]]:
    """The largest difference of each weight, its name and its limit, in descending order. Numbers whose gradient is only
    rounding are separate."""
    ours, found = got.state_dict(), []
    for name, weight in wanted.state_dict().items():
        if weight.is_floating_point():
            apart = (weight - ours[name]).abs()
            zero = (largest[name] > 0) & (largest[name] < ZERO) if largest and name in largest else torch.zeros_like(apart, dtype=torch.bool)
            found += [(float(apart[rows].max()), name, limit) for rows, limit in ((~zero, LIMIT), (zero, ZERO_LIMIT)) if rows.any()]
    return sorted(found, reverse=True)


def train(attend: Attend, name: str, model: Path, files: Sequence[Path], output: Path, way: Way) -> None:
    attend.run(
        "train", "--objective", name, "--model", model, "--train", *files, "--output", output,
        "--save-batches", output.parent / "batches", "--steps", str(STEPS), "--batch-size", str(way.batch_size),
        "--batch-tokens", "100000", "--gradient-accumulation-steps", "1000", "--learning-rate", str(RATE), "--schedule", "linear", "--warmup", "0",
        "--weight-decay", str(DECAY), "--beta1", "0.9", "--beta2", "0.999", "--epsilon", str(EPSILON), "--max-grad-norm", str(way.clip),
        "--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0", "--max-length", str(LONGEST),
        "--threads", "1", "--quiet", *OBJECTIVES[name].options,
    )  # fmt: skip


def check_case(attend: Attend, name: str, family: str, seed: int, report: Table, ways: Sequence[Way]) -> None:
    objective = OBJECTIVES[name]
    for way in ways:
        with TemporaryDirectory() as folder:
            base = Path(folder)
            model = base / "model"
            tokenizer = make(model, family, objective, seed)
            if tokenizer is None:
                return
            worst, found = "-", []
            try:
                files = objective.write(base)
                train(attend, name, model, files, base / "trained", way)
                steps = steps_in(base / "batches")
                if objective.rows is not None:
                    made = sorted(as_row(text) for batch in steps[-1] for text in texts_of(batch))
                    expected = sorted(objective.rows(tokenizer, files))
                    if made != expected:
                        found.append(f"batches: {len(made)} rows, {len(expected)} expected; first that differ: "
                                     f"{next(((a, b) for a, b in zip(made, expected) if a != b), None)}")  # fmt: skip
                original, trained = load(model, objective), load(base / "trained", objective)
                largest = take_steps(original, objective, steps, way.clip)
                errors = differences(original, trained, largest)
                worst = f"{max(error for error, _, limit in errors if limit == LIMIT):.1e}"
                found += [f"{each}: {error:.1e}" for error, each, limit in errors if not error <= limit][:5]
            except FAILURES as error:
                found.append(f"{type(error).__name__}: {error}"[:700])
            report.row([name, family, way, worst], bool(found), found)


# A model that is fine-tuned from a body without a head, and used like a pipeline.
SHORT = [data.SENTENCES[i] for i in (0, 2, 4, 9)]
PIPELINES: dict[str, tuple[str, list[Any]]] = {
    "classification": ("text-classification", SHORT),
    "regression": ("text-classification", SHORT),
    "multi-label": ("text-classification", SHORT),
    "token-classification": ("token-classification", SHORT),
    "question-answering": ("question-answering", [{"question": "When?", "context": SHORT[0]}]),
}


def answers(task: str, directory: Path, inputs: list[Any]) -> list[Any]:
    pipe = transformers.pipeline(task, model=str(directory), device="cpu")
    made = [pipe(**each) if isinstance(each, dict) else pipe(each) for each in inputs]
    return json.loads(json.dumps(made, default=lambda number: number.item()))  # type: ignore[no-any-return]


def check_fine_tuned(attend: Attend, name: str, family: str, seed: int, report: Table) -> None:
    """A body that attend trains with a new head: the result loads without missing tensors and keeps its tokenizer, and
    `attend run` answers as the pipeline does."""
    objective = OBJECTIVES[name]
    with TemporaryDirectory() as folder:
        base = Path(folder)
        tokenizer = make(base / "headed", family, objective, seed)
        if tokenizer is None:
            return
        config = transformers.AutoConfig.from_pretrained(base / "headed")
        config.id2label, config.label2id, config.problem_type = {0: "LABEL_0", 1: "LABEL_1"}, {"LABEL_0": 0, "LABEL_1": 1}, None
        body = transformers.AutoModel.from_config(config)
        randomize(body, torch.Generator().manual_seed(seed))
        body.save_pretrained(base / "model")
        tokenizer.save_pretrained(base / "model")
        found = []
        task, inputs = PIPELINES[name]
        try:
            train(attend, name, base / "model", objective.write(base), base / "trained", Way(4, 1))
            made = load(base / "trained", objective).config
            if list(made.id2label.values()) != list(objective.labels):
                found.append(f"id2label: {made.id2label}")
            if made.problem_type != objective.problem:
                found.append(f"problem_type: {made.problem_type}")
            again = transformers.AutoTokenizer.from_pretrained(base / "trained")
            if again(data.SENTENCES, data.SENTENCES)["input_ids"] != tokenizer(data.SENTENCES, data.SENTENCES)["input_ids"]:
                found.append("the tokenizer is another one")
            said = attend.run("run", task, base / "trained", "--input-format", "json", stdin="".join(json.dumps(each) + "\n" for each in inputs))
            got = [json.loads(line) for line in said.splitlines()]
            found += [d for i, wanted in enumerate(answers(task, base / "trained", inputs)) if (d := difference(got[i], wanted, f"input {i}"))]
        except FAILURES as error:
            found.append(f"{type(error).__name__}: {error}"[:700])
        report.row([name, family, "fine-tuned from a body", "-"], bool(found), found)


def self_test() -> int:
    """The comparison itself: equal models pass; a slightly different weight and a missing step fail."""
    objective = OBJECTIVES["classification"]
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        tokenizer = make(directory, "bert", objective, 0)
        assert tokenizer is not None
        rows = [tokenizer(text, return_tensors="pt") | {"text_labels": torch.tensor([i % 3])} for i, text in enumerate(data.SENTENCES)]
        steps = [[{k: v for k, v in row.items()} for row in rows]] * STEPS
        models = [load(directory, objective) for _ in range(3)]
        for model, count in zip(models, (STEPS, STEPS, STEPS - 1)):
            take_steps(model, objective, steps[:count], 1.0)
        same, short = differences(models[0], models[1])[0][0], differences(models[0], models[2])[0][0]
        with torch.no_grad():
            next(models[1].parameters())[3, 2] += 2 * LIMIT
        other = differences(models[0], models[1])[0][0]
    good = same <= LIMIT and short > LIMIT and other > LIMIT
    print(f"self-test {'passed' if good else 'FAILED'}: {same:.1e} {short:.1e} {other:.1e}")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--objective", choices=OBJECTIVES, action="append", help="only this one")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one-way", action="store_true", help="all the data in one batch only")
    parser.add_argument("--fine-tuned", action="store_true", help="train a body with a fresh head, and compare with the pipelines")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.self_test:
        return self_test()
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    attend = Attend(options.attend.resolve(), SECONDS)
    report = Table([("objective", 22), ("family", 12), ("way", 30), ("largest difference", 18)])
    for name in options.objective or OBJECTIVES:
        for family in options.family or OBJECTIVES[name].families or FAMILIES:
            if options.fine_tuned:
                if name in PIPELINES:
                    check_fine_tuned(attend, name, family, options.seed, report)
            elif not OBJECTIVES[name].families or family in OBJECTIVES[name].families:
                check_case(attend, name, family, options.seed, report, WAYS[: 1 if options.one_way else None])
    return report.status()


if __name__ == "__main__":
    sys.exit(main())
