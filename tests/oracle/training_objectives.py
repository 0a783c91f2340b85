"""The objectives of check_training.py: the loss of one text, and the rows that transformers' examples make of the data.

A new objective needs a function that writes its data (training_data.py), a function that returns the sums of its loss for
one text, and a row of OBJECTIVES.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

import torch
from torch.nn import functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerFast

import training_data as data
from common import Tensors

LONGEST = 60  # tokens: longer texts are truncated
IGNORED = -100  # a label that does not count

# Losses: for one text, a list of (sum over labels, number of labels), one for each term.
Term = tuple[torch.Tensor, int]


def inputs_of(text: Tensors) -> Tensors:
    return {name: text[name] for name in ("input_ids", "token_type_ids", "attention_mask", "decoder_input_ids") if name in text}


def scores_of(model: PreTrainedModel, text: Tensors) -> torch.Tensor:
    logits: torch.Tensor = model(**inputs_of(text)).logits
    return logits


def one_label(model: PreTrainedModel, text: Tensors) -> list[Term]:
    return [(F.cross_entropy(scores_of(model, text), text["text_labels"], reduction="sum"), 1)]


def numbers(model: PreTrainedModel, text: Tensors) -> list[Term]:
    wanted = text["text_labels"].double()
    return [(((scores_of(model, text) - wanted) ** 2).sum(), wanted.numel())]


def several_labels(model: PreTrainedModel, text: Tensors) -> list[Term]:
    wanted = text["text_labels"].double()
    return [(F.binary_cross_entropy_with_logits(scores_of(model, text), wanted, reduction="sum"), wanted.numel())]


def label_per_token(model: PreTrainedModel, text: Tensors) -> list[Term]:
    labels = text["labels" if "labels" in text else "text_labels"].flatten()
    loss = F.cross_entropy(scores_of(model, text)[0], labels, ignore_index=IGNORED, reduction="sum")
    return [(loss, int((labels != IGNORED).sum()))]


def span(model: PreTrainedModel, text: Tensors) -> list[Term]:
    found = model(**inputs_of(text))
    return [(F.cross_entropy(found.start_logits, text["start_positions"], reduction="sum") / 2, 1),
            (F.cross_entropy(found.end_logits, text["end_positions"], reduction="sum") / 2, 1)]  # fmt: skip


def choice(model: PreTrainedModel, text: Tensors) -> list[Term]:
    scores = torch.cat([model(**{k: v[None] for k, v in inputs_of(each).items()}).logits for each in text["choices"]], 1)
    return [(F.cross_entropy(scores, text["text_labels"], reduction="sum"), 1)]


# The rows that transformers' examples make of the data. Attend's batches must contain them, in any order.
Row = tuple[Any, ...]


def encoded(tokenizer: PreTrainedTokenizerFast, *texts: str, **more: Any) -> list[int]:
    ids: list[int] = tokenizer(*texts, truncation=True, max_length=LONGEST, **more)["input_ids"]
    return ids


def table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def classified(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    return [(encoded(tokenizer, text), [data.LABELS.index(label)]) for text, label in table(files[0])]


def measured(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    return [(encoded(tokenizer, a, b), [float(number)]) for a, b, number in table(files[0])]


def labelled(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    rows = json_rows(files[0])
    return [(encoded(tokenizer, row["text"]), [float(label in row["labels"]) for label in data.LABELS]) for row in rows]


def tagged(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    """As run_ner. For a byte-level tokenizer the words begin with their spaces."""
    rows = []
    byte_level = "ByteLevel" in tokenizer.backend_tokenizer.to_str().split('"model"')[0].split('"post_processor"')[0]
    for block in files[0].read_text().strip().split("\n\n"):
        words, tags = zip(*(line.split("\t") for line in block.split("\n")))
        given = [" " * (byte_level and i > 0) + word for i, word in enumerate(words)]
        encoding = tokenizer(given, is_split_into_words=True, truncation=True, max_length=LONGEST)
        labels, before = [], None
        for word in encoding.word_ids():
            labels.append(IGNORED if word is None or word == before else data.TAGS.index(tags[word]))
            before = word
        rows.append((encoding["input_ids"], labels))
    return rows


def asked(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    """As run_qa in training."""
    rows = []
    for question in json_rows(files[0]):
        specials = tokenizer.num_special_tokens_to_add(pair=True)
        room = LONGEST - specials - len(tokenizer(question["question"], add_special_tokens=False)["input_ids"])
        encoding = tokenizer(
            question["question"], question["context"], truncation="only_second", max_length=LONGEST,
            stride=min(128, room // 2), return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        for i, ids in enumerate(encoding["input_ids"]):
            none = ids.index(tokenizer.cls_token_id) if tokenizer.cls_token_id in ids else 0
            place = (none, none)
            context = [k for k, sequence in enumerate(encoding.sequence_ids(i)) if sequence == 1]
            offsets = encoding["offset_mapping"][i]
            if question["answers"]["text"]:
                begin = question["answers"]["answer_start"][0]
                end = begin + len(question["answers"]["text"][0])
                if offsets[context[0]][0] <= begin and offsets[context[-1]][1] >= end:
                    place = (max(k for k in context if offsets[k][0] <= begin), min(k for k in context if offsets[k][1] >= end))
            rows.append((ids, [place[0]], [place[1]]))
    return rows


def chosen(tokenizer: PreTrainedTokenizerFast, files: Sequence[Path]) -> list[Row]:
    """As run_swag, if there is a context."""
    rows = []
    for row in json_rows(files[0]):
        context, asked = row.get("context"), row["question"]
        pairs = [(context, f"{asked} {each}") if context else (asked, each) for each in row["choices"]]
        label = row["label"] if isinstance(row["label"], int) else row["choices"].index(row["label"])
        rows.append(([encoded(tokenizer, *pair) for pair in pairs], [label]))
    return rows


@dataclass(frozen=True)
class Objective:
    head: str  # the name of transformers' AutoModel...
    write: Callable[[Path], list[Path]]
    loss: Callable[[PreTrainedModel, Tensors], list[Term]]
    rows: Callable[[PreTrainedTokenizerFast, Sequence[Path]], list[Row]] | None = None
    labels: Sequence[str] = ()
    options: Sequence[str] = ()  # for attend train
    problem: str | None = None
    families: Sequence[str] = ()  # empty: all families with the head


ENCODERS = ("bert", "distilbert", "roberta", "electra", "albert", "deberta-v2", "big_bird", "modernbert", "mpnet")
OBJECTIVES: dict[str, Objective] = {
    "classification": Objective("SequenceClassification", data.classification, one_label, classified, data.LABELS,
                                problem="single_label_classification"),
    "regression": Objective("SequenceClassification", data.regression, numbers, measured, ["0"], problem="regression"),
    "multi-label": Objective("SequenceClassification", data.multi_label, several_labels, labelled, data.LABELS,
                             problem="multi_label_classification"),
    "token-classification": Objective("TokenClassification", data.token_classification, label_per_token, tagged, data.TAGS),
    "question-answering": Objective("QuestionAnswering", data.question_answering, span, asked, ["LABEL_0", "LABEL_1"]),
    "multiple-choice": Objective("MultipleChoice", data.multiple_choice, choice, chosen),
    "masked-lm": Objective("MaskedLM", data.running_text, label_per_token, options=["--mask-rate", "0.4"], families=ENCODERS),
    "causal-lm": Objective("CausalLM", data.running_text, label_per_token, options=["--length", "16"],
                           families=("gpt2", "gpt_neo", "mixtral", "llama", "gemma3_text")),
    "sequence-to-sequence": Objective("Seq2SeqLM", data.sequence_to_sequence, label_per_token, families=("bart", "t5")),
}  # fmt: skip
