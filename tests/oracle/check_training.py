"""attend train against PyTorch: ten steps of AdamW on every objective, over several families, weight by weight.

    python check_training.py --attend build/release/attend
    python check_training.py --attend build/release/attend --objective question-answering --family roberta
    python check_training.py --attend build/release/attend --fine-tuned
    python check_training.py --self-test

A tiny model of transformers' own making is trained by attend without dropout: the data as one batch, as batches of one
text, and as batches of three with a shorter last one, with and without clipping; a step always takes all the data. The
original takes the same steps in float64, text by text and so without padding, each term of the loss divided by its
number of labels in the whole step. What attend's batches hold (--save-batches) is compared with what transformers'
examples make of the data with their tokenizer. What attend leaves must load in transformers without a remark.

A new objective is a function that writes its data (training_data.py), one that gives the sums of its loss for one
text, and a row of OBJECTIVES.
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
from typing import Any, Callable, Iterator, Sequence

import torch
import transformers
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerFast

import training_data as data
from check_tasks import difference
from common import Attend, AttendFailed, Table, Tensors
from model_cases import Case, Size
from model_configs import make_config
from models import randomize

LIMIT = 5e-6  # of a weight, after the last step
STEPS = 10
RATE, DECAY, EPSILON = 1e-3, 0.1, 1e-5
# A gradient that is zero in exact arithmetic (of a key's bias, or of any value that does not change a
# softmax) is rounding, which AdamW turns into steps. These are the numbers whose gradients stay below this
# limit in float64; a weight may contain some (GPT-2 has the key's bias between two others). A gradient of
# exactly zero, as of a token that does not occur, has no rounding.
ZERO, ZERO_LIMIT = 1e-12, 1e-4
FAILURES = (AttendFailed, TimeoutExpired, RuntimeError, KeyError, ValueError)  # errors of a row; later rows
                                                                               # still run
SECONDS = 600  # that a run may take: the machine may be busy
LONGEST = 60  # tokens: longer texts are truncated
SIZE = Size(heads=3, head_width=4, layers=2, vocabulary=0, feed_forward=19, positions=64)
IGNORED = -100


@dataclass(frozen=True)
class Way:
    """How the data becomes steps."""

    batch_size: int
    clip: float

    def __str__(self) -> str:
        return f"{self.batch_size} to a batch, clip {self.clip:g}"


WAYS = [Way(1000, 0), Way(1, 0.3), Way(3, 0)]


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


# The data as prepared by transformers' examples: rows that must be in attend's batches, in any order.
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
    """As run_ner. A byte-level tokenizer is told of the spaces by the words."""
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
    """As run_qa prepares what it trains on."""
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
    """As run_swag where there is a context."""
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

# Families, each with its tokenizer and additional fields of its config.json.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("bert", {}),
    "distilbert": ("distilbert", {}),
    "electra": ("bert", {}),
    "big_bird": ("bert", {"attention_type": "original_full", "sep_token_id": 3}),
    "roberta": ("roberta", {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "albert": ("albert", {}),
    "deberta-v2": ("albert", {}),
    "gpt2": ("gpt2", {"pad_token_id": 0}),
    "gpt_neo": ("gpt2", {"pad_token_id": 0}),
    "mixtral": ("gpt2", {}),
    "llama": ("gpt2", {"pad_token_id": 0}),
    "gemma3_text": ("gpt2", {"pad_token_id": 0}),
    "modernbert": ("distilbert", {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}),
    "mpnet": ("roberta", {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "xlnet": ("xlnet", {}),
    "bart": ("roberta", {}),
    "t5": ("t5", {"eos_token_id": 1}),
}


def make(directory: Path, family: str, objective: Objective, seed: int) -> PreTrainedTokenizerFast | None:
    """A directory with a model and its tokenizer; nothing if transformers has no such head."""
    kind, settings = FAMILIES[family]
    tokenizer = data.TOKENIZERS[kind]()
    if objective.labels:
        names = dict(enumerate(objective.labels))
        settings = settings | {"id2label": names, "label2id": {name: i for i, name in names.items()}}
    if objective.problem:
        settings = settings | {"problem_type": objective.problem}
    size = Size(**(vars(SIZE) | {"vocabulary": len(tokenizer)}))
    config = make_config(Case(family, "", settings), size)
    try:
        model = getattr(transformers, f"AutoModelFor{objective.head}").from_config(config)
    except ValueError:
        return None
    randomize(model, torch.Generator().manual_seed(seed))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return tokenizer


def load(directory: Path, objective: Objective) -> PreTrainedModel:
    """In float64, without dropout; an error for whatever transformers remarks."""
    kind = getattr(transformers, f"AutoModelFor{objective.head}")
    more = {"attention_probs_dropout_prob": 0.0} if json.loads((directory / "config.json").read_text())["model_type"] == "big_bird" else {}
    model, info = kind.from_pretrained(directory, attn_implementation="eager", output_loading_info=True, **more)
    wrong = [f"{what}: {names}" for what, names in info.items() if names]
    if wrong:
        raise RuntimeError(f"{directory}: transformers loads it with {wrong}")
    return model.double().eval()


def texts_of(batch: Tensors) -> Iterator[Tensors]:
    """One text after the other, [1, L] without padding; of a question its choices together."""
    lengths = batch["attention_mask"].sum(1).tolist()
    targets = batch["decoder_attention_mask"].sum(1).tolist() if "decoder_attention_mask" in batch else None
    texts = []
    begin = 0
    for b, length in enumerate(lengths):
        text = {name: batch[name][b : b + 1, :length] for name in ("input_ids", "attention_mask", "token_type_ids") if name in batch}
        if targets:
            text["decoder_input_ids"] = batch["decoder_input_ids"][b : b + 1, : targets[b]]
        if "labels" in batch:
            text["labels"] = batch["labels"][b : b + 1, : targets[b] if targets else length]
        for name in ("start_positions", "end_positions"):
            if name in batch:
                text[name] = batch[name][b : b + 1]
        if "text_labels" in batch and "groups" not in batch:
            of_tokens = batch["text_labels"].dim() == 1 and len(batch["text_labels"]) != len(lengths)
            text["text_labels"] = batch["text_labels"][begin : begin + length] if of_tokens else batch["text_labels"][b : b + 1]
        begin += length
        texts.append(text)
    if "groups" not in batch:
        yield from texts
        return
    for question, count in enumerate(batch["groups"].tolist()):
        yield {"choices": texts[:count], "text_labels": batch["text_labels"][question : question + 1]}  # type: ignore[dict-item]
        texts = texts[count:]


def as_row(text: Tensors) -> Row:
    labels = [text[name].flatten().tolist() for name in ("text_labels", "start_positions", "end_positions") if name in text]
    ids = [each["input_ids"][0].tolist() for each in text["choices"]] if "choices" in text else text["input_ids"][0].tolist()
    return (ids, *labels)


def steps_in(folder: Path) -> list[list[Tensors]]:
    """The batches of each step."""
    steps: list[list[Tensors]] = []
    for step in range(1, STEPS + 1):
        count = len(list(folder.glob(f"step-{step}.*.safetensors")))
        steps.append([load_file(folder / f"step-{step}.{i}.safetensors") for i in range(count)])
    return steps


def take_steps(model: PreTrainedModel, objective: Objective, steps: list[list[Tensors]], clip: float) -> Tensors:
    """Gives the largest gradient of each number."""
    largest = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for _, p in named]
    decays = [p.ndim > 1 and not name.endswith("bias") for name, p in named]  # XLNet's biases are matrices
    groups = [{"params": [p for p, yes in zip(parameters, decays) if yes], "weight_decay": DECAY},
              {"params": [p for p, yes in zip(parameters, decays) if not yes], "weight_decay": 0.0}]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=EPSILON)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 0, STEPS)
    for batches in steps:
        sums: list[torch.Tensor] = []
        counts: list[int] = []
        for batch in batches:
            for text in texts_of(batch):
                terms = objective.loss(model, text)
                sums = [a + term for a, (term, _) in zip(sums or [torch.zeros(())] * len(terms), terms)]
                counts = [a + count for a, (_, count) in zip(counts or [0] * len(terms), terms)]
        optimizer.zero_grad()
        torch.stack([total / count for total, count in zip(sums, counts) if count]).sum().backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                largest[name] = torch.maximum(largest[name], parameter.grad.abs())
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        schedule.step()
    return largest


def differences(wanted: PreTrainedModel, got: PreTrainedModel, largest: Tensors | None = None) -> list[tuple[float, str, float]]:
    """The largest of each weight, its name and its limit, the largest first; numbers whose gradient is rounding apart."""
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
    """What attend leaves of a body that it gave a head: loads whole, keeps its tokenizer, says in `attend run` what the
    pipeline says."""
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
        beside = differences(models[0], models[1])[0][0]
    good = same <= LIMIT and short > LIMIT and beside > LIMIT
    print(f"self-test {'passed' if good else 'FAILED'}: {same:.1e} {short:.1e} {beside:.1e}")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--objective", choices=OBJECTIVES, action="append", help="only this one")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one-way", action="store_true", help="all the data in one batch only")
    parser.add_argument("--fine-tuned", action="store_true", help="what is left of a body with a fresh head, in the pipelines")
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
