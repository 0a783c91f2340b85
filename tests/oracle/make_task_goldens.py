"""Remakes tests/data/tasks: tiny random models with a tokenizer, and what transformers' pipelines answer with them.

    python make_task_goldens.py [--check]

goldens.json is a list of cases: a task, a folder here, the pipeline's options, the inputs and the answer to each.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import BertTokenizerFast, RobertaTokenizerFast, ViTImageProcessor, pipeline

DATA = Path(__file__).parents[1] / "data"
TASKS = DATA / "tasks"
IMAGES = DATA / "images"
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ("the dog cat good bad who lives in bath ada has moved to rome this example is about travel food where what a "
         "film was not and very house day").split()  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
         "initializer_range": 0.5}  # fmt: skip
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
NLI = ["contradiction", "neutral", "entailment"]

TEXTS = ["Ada has moved to Rome.", "a good film", "", "Unbelievable, is it not?", "x"]
LONG = "Ada lives in Bath, and the dog is in Rome. " * 4
QUESTIONS = [
    {"question": "Who lives in Bath?", "context": "Ada has moved to Bath."},
    {"question": "Where is the dog?", "context": LONG},
    {"question": "Who?", "context": " "},
    {"question": "Who?", "context": "x"},
]
MASKED = ["The [MASK] was good.", "[MASK]", "A [MASK] and a [MASK]."]
COMMAS = ["food, travel", "a house", "cat"]


def named(labels: list[str]) -> dict[str, Any]:
    return {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "classifier": ("BertForSequenceClassification", named(["bad", "good", "so, so"])),
    "tags": ("BertForTokenClassification", named(TAGS)),
    "masks": ("BertForMaskedLM", {}),
    "answers": ("BertForQuestionAnswering", {}),
    "entailment": ("BertForSequenceClassification", named(NLI)),
    # Of 34 positions 30 can be used, and the tokenizer has no max length.
    "no-length": ("RobertaForSequenceClassification", {"max_position_embeddings": 34, "pad_token_id": 3}),
    "pictures": ("ViTForImageClassification", named(["cat", "dog", "house"])),
}
CASES: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("text-classification", "classifier", {}, TEXTS),
    ("text-classification", "classifier", {"top_k": None}, [{"text": "a good film", "text_pair": "bad"}]),
    ("text-classification", "classifier", {"top_k": 2, "function_to_apply": "sigmoid"}, TEXTS),
    ("text-classification", "classifier", {"truncation": True}, [LONG * 2]),
    ("text-classification", "no-length", {"truncation": True, "max_length": 30}, ["a " * 50, "a film"]),
    ("token-classification", "tags", {}, TEXTS),
    *(("token-classification", "tags", {"aggregation_strategy": how}, [*TEXTS, LONG * 2])
      for how in ("simple", "first", "average", "max")),
    ("token-classification", "tags", {"aggregation_strategy": "simple", "stride": 5}, [LONG * 4, TEXTS[0]]),
    ("token-classification", "tags", {"ignore_labels": ["O", "B-PER"]}, TEXTS[:2]),
    ("fill-mask", "masks", {}, MASKED),
    ("fill-mask", "masks", {"top_k": 2}, MASKED),
    ("fill-mask", "masks", {"targets": [",", "dog"]}, MASKED),
    ("question-answering", "answers", {}, QUESTIONS),
    ("question-answering", "answers", {"top_k": 3, "max_seq_len": 30, "doc_stride": 6}, QUESTIONS[:2]),
    ("question-answering", "answers", {"handle_impossible_answer": True}, QUESTIONS[:2]),
    ("zero-shot-classification", "entailment", {"candidate_labels": COMMAS}, [TEXTS[0], TEXTS[1], LONG * 2]),
    ("zero-shot-classification", "entailment",
     {"candidate_labels": ["travel"], "multi_label": True, "hypothesis_template": "About {}"}, [TEXTS[0]]),
    ("image-classification", "pictures", {"top_k": 2}, ["colours.jpg", "grey.png", "clear.png"]),
]  # fmt: skip


def make_tokenizer(name: str, directory: Path) -> Any:
    if name == "no-length":
        alphabet = transformers.models.roberta.tokenization_roberta.bytes_to_unicode().values()
        tokens = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", *alphabet]
        (directory / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
        (directory / "merges.txt").write_text("#version: 0.2\n")
        return RobertaTokenizerFast(str(directory / "vocab.json"), str(directory / "merges.txt"))
    rest = [*".,!?'-", *LETTERS, *("##" + letter for letter in LETTERS), *WORDS[:-1], "##s", "##ing"]
    tokens = list(dict.fromkeys([*SPECIALS, *rest]))
    (directory / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
    return BertTokenizerFast(str(directory / "vocab.txt"), model_max_length=48)


def make_model(name: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    architecture, config = MODELS[name]
    kind = getattr(transformers, architecture)
    torch.manual_seed(len(name))
    if name == "pictures":
        settings = {"image_size": 16, "patch_size": 8}
        ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(directory)
    else:
        tokenizer = make_tokenizer(name, directory)
        tokenizer.save_pretrained(directory)
        for file in ("vocab.txt", "vocab.json", "merges.txt"):
            (directory / file).unlink(missing_ok=True)  # tokenizer.json contains it
        settings = {"vocab_size": len(tokenizer), "max_position_embeddings": 48}
        if name == "no-length":
            fields = json.loads((directory / "tokenizer_config.json").read_text())
            fields.pop("model_max_length", None)
            (directory / "tokenizer_config.json").write_text(json.dumps(fields, indent=2) + "\n")
    kind(kind.config_class(**SIZES, **{**settings, **config})).eval().save_pretrained(directory)


def answer(task: str, name: str, options: dict[str, Any], inputs: list[Any], models: Path) -> list[Any]:
    pipe = pipeline(task, model=str(models / name), device="cpu")
    if task == "question-answering":
        return [pipe(**each, **options) for each in inputs]
    if task == "image-classification":
        return [pipe(str(IMAGES / each), **options) for each in inputs]
    answers = [pipe(each, **options) for each in inputs]
    # A single text gives a list of one label, a pair the label itself.
    return [[a] if task == "text-classification" and isinstance(a, dict) else a for a in answers]


def make(directory: Path) -> list[dict[str, Any]]:
    for name in MODELS:
        make_model(name, directory / name)
    return [{"task": task, "model": name, "options": options, "inputs": inputs,
             "answers": json.loads(json.dumps(answer(task, name, options, inputs, directory),
                                              default=lambda number: number.item()))}
            for task, name, options, inputs in CASES]  # fmt: skip


def near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) < 1e-5
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(near(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    return bool(a == b)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare with what is committed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    goldens = TASKS / "goldens.json"
    if options.check:
        cases = [{**case, "answers": answer(case["task"], case["model"], case["options"], case["inputs"], TASKS)}
                 for case in json.loads(goldens.read_text())]  # fmt: skip
        same = near(json.loads(json.dumps(cases, default=lambda number: number.item())), json.loads(goldens.read_text()))
        print("as committed" if same else "other answers than those committed")
        return 0 if same else 1
    cases = make(TASKS)
    goldens.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
