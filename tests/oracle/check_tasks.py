"""attend run against transformers' pipelines: tiny random models, real tokenizers, the JSON of every task.

    python check_tasks.py --attend build/release/attend --minilm ALL_MINILM_L6_V2
    python check_tasks.py --attend build/release/attend --minilm ALL_MINILM_L6_V2 --task fill-mask --seeds 5

All inputs of a case go through one call of attend, so that they share batches, in turn as JSON, CSV and TSV; the
pipeline gets them one at a time. Texts and places must be equal, scores within 1e-4. What is wrong must be refused in one line.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import sys
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from PIL import Image
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer, PreTrainedTokenizerFast, ViTImageProcessor, pipeline

import slow_tokenizers
from common import Attend, AttendFailed, Table

LIMIT = 1e-4
REAL = "all-MiniLM-L6-v2"  # with its weights
UNSEEN = 1e-6  # answers with lower probability have no particular order
BYTE_LEVEL = Path(__file__).parents[1] / "data/tokenizers/roberta/tokenizer.json"

TEXTS = [
    "Ada Lovelace moved from London to a small house in Bath.",
    "What a day!",
    "The extraordinarily well-behaved dog, Rex, doesn't bite; it only barks at Dr. O'Neill's car.",
    "Zoë paid 12,50 € for naïve café crème in 東京 -- really?",
    "no punctuation here just a row of plain words that goes on and on until it ends somewhere",
    "x",
    "Unbelievable!!! (Is it?) e-mail me at someone@example.org \U0001f600 please.",
]
LONG = " ".join(f"Then {name} went to {place}." for name in ("Ada", "Bob", "Zoë", "Rex") for place in
                ("Bath", "London", "Rome", "Oslo", "Kyoto", "Lima"))  # fmt: skip
QUESTIONS = [
    {"question": "Who moved?", "context": TEXTS[0]},
    {"question": "What does the dog bark at?", "context": TEXTS[2]},
    {"question": "Where?", "context": "Bath"},
    {"question": "Where did Zoë go first of all?", "context": LONG},
    {"question": "How much did it cost?", "context": TEXTS[3]},
]
MASKED = ["The [MASK] barks.", "[MASK]", "A [MASK] and a [MASK], both unbelievable.", "Paris is the [MASK] of France ."]
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]
WORD_LABELS = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
NLI = ["contradiction", "neutral", "entailment"]
NLI_LABELS = {"id2label": dict(enumerate(NLI)), "label2id": {label: i for i, label in enumerate(NLI)}}


@dataclass
class Case:
    task: str
    model: str  # an architecture of transformers, or REAL
    inputs: list[Any]
    config: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)  # options of the pipeline; attend has the same
    tokenizer: str = "minilm"
    settings: dict[str, Any] = field(default_factory=dict)  # of tokenizer_config.json


def pairs(texts: list[str]) -> list[dict[str, str]]:
    return [{"text": a, "text_pair": b} for a, b in zip(texts, texts[1:])]


GREEDY = {"do_sample": False, "max_new_tokens": 12}
CASES = [
    Case("text-classification", "BertForSequenceClassification", TEXTS, {"num_labels": 3}),
    Case("text-classification", "BertForSequenceClassification", pairs(TEXTS), {"num_labels": 4}, {"top_k": 3}),
    Case("text-classification", "DistilBertForSequenceClassification", TEXTS, {"num_labels": 3}, {"top_k": None}),
    Case("text-classification", "ElectraForSequenceClassification", TEXTS, {"num_labels": 1}),
    Case("text-classification", "BertForSequenceClassification", TEXTS,
         {"num_labels": 3, "problem_type": "multi_label_classification"}, {"top_k": None}),
    Case("text-classification", "BertForSequenceClassification", TEXTS,
         {"num_labels": 1, "problem_type": "regression"}),
    Case("text-classification", "BertForSequenceClassification", TEXTS, {"num_labels": 2},
         {"function_to_apply": "none", "top_k": None}),
    Case("text-classification", "RobertaForSequenceClassification", TEXTS, {"num_labels": 3}, tokenizer="roberta"),
    Case("text-classification", "BartForSequenceClassification", TEXTS, {"num_labels": 3}, tokenizer="roberta"),
    Case("text-classification", "GPT2ForSequenceClassification", TEXTS, {"num_labels": 3}, tokenizer="roberta"),
    *(Case("token-classification", "BertForTokenClassification", TEXTS, WORD_LABELS, {"aggregation_strategy": how})
      for how in ("none", "simple", "first", "average", "max")),
    Case("token-classification", "DistilBertForTokenClassification", TEXTS, WORD_LABELS,
         {"aggregation_strategy": "simple", "ignore_labels": ["O", "MISC"]}),
    *(Case("token-classification", "RobertaForTokenClassification", TEXTS, WORD_LABELS,
           {"aggregation_strategy": how}, "roberta") for how in ("none", "average")),
    Case("token-classification", "BertForTokenClassification", [LONG, *TEXTS[:2]], WORD_LABELS,
         {"aggregation_strategy": "simple", "stride": 8}, settings={"model_max_length": 40}),
    Case("token-classification", "BertForTokenClassification", [LONG], WORD_LABELS,
         {"aggregation_strategy": "first"}, settings={"model_max_length": 40}),
    Case("fill-mask", "BertForMaskedLM", MASKED),
    Case("fill-mask", "BertForMaskedLM", MASKED, {}, {"top_k": 2}, settings={"clean_up_tokenization_spaces": True}),
    Case("fill-mask", "DistilBertForMaskedLM", MASKED, {}, {"targets": ["dog", "house", "##ing", "cat"]}),
    Case("fill-mask", "ElectraForMaskedLM", MASKED[:2], {}, {"top_k": 7}),
    Case("fill-mask", "RobertaForMaskedLM", [text.replace("[MASK]", "<mask>") for text in MASKED],
         tokenizer="roberta"),
    Case("question-answering", "BertForQuestionAnswering", QUESTIONS),
    Case("question-answering", "BertForQuestionAnswering", QUESTIONS, {}, {"top_k": 4, "max_answer_len": 4}),
    Case("question-answering", "BertForQuestionAnswering", QUESTIONS, {},
         {"top_k": 3, "max_seq_len": 48, "doc_stride": 12}),
    Case("question-answering", "DistilBertForQuestionAnswering", QUESTIONS, {},
         {"top_k": 2, "handle_impossible_answer": True}),
    Case("question-answering", "BertForQuestionAnswering", QUESTIONS, {}, {"align_to_words": False, "top_k": 3}),
    Case("question-answering", "RobertaForQuestionAnswering", QUESTIONS, {}, {"top_k": 2}, "roberta"),
    Case("zero-shot-classification", "BertForSequenceClassification", TEXTS, NLI_LABELS,
         {"candidate_labels": ["travel", "animals", "food and drink"]}),
    Case("zero-shot-classification", "BertForSequenceClassification", TEXTS, NLI_LABELS,
         {"candidate_labels": ["travel", "animals"], "multi_label": True, "hypothesis_template": "It's about {}!"}),
    Case("zero-shot-classification", "BertForSequenceClassification", [LONG], NLI_LABELS,
         {"candidate_labels": ["travel", "animals"]}, settings={"model_max_length": 40}),
    Case("zero-shot-classification", "BartForSequenceClassification", TEXTS[:3], NLI_LABELS,
         {"candidate_labels": ["travel", "animals"]}, "roberta"),
    Case("feature-extraction", "BertModel", TEXTS),
    Case("feature-extraction", "BertForMaskedLM", TEXTS),
    Case("feature-extraction", "GPT2Model", TEXTS, tokenizer="roberta"),
    Case("text-generation", "GPT2LMHeadModel", TEXTS, {}, GREEDY, "roberta"),
    Case("text-generation", "GPT2LMHeadModel", TEXTS, {}, {**GREEDY, "return_full_text": False}, "roberta"),
    Case("text-generation", "GPT2LMHeadModel", TEXTS, {},
         {**GREEDY, "num_beams": 3, "num_return_sequences": 2}, "roberta"),
    Case("text2text-generation", "BartForConditionalGeneration", TEXTS, {}, {"max_new_tokens": 12}, "roberta"),
    Case("text2text-generation", "BartForConditionalGeneration", TEXTS, {},
         {"max_new_tokens": 8, "num_return_sequences": 3}, "roberta"),
    Case("summarization", "BartForConditionalGeneration", TEXTS,
         {"task_specific_params": {"summarization": {"prefix": "summarize: ", "num_beams": 2, "max_new_tokens": 9}}},
         {}, "roberta"),
    Case("translation_en_to_de", "BartForConditionalGeneration", TEXTS,
         {"task_specific_params": {"translation_en_to_de": {"prefix": "to German: "}}}, {"max_new_tokens": 9},
         "roberta"),
    Case("translation", "M2M100ForConditionalGeneration", TEXTS, {},
         {"src_lang": "de", "tgt_lang": "fr", "max_new_tokens": 9}, "m2m_100"),
    Case("translation_fr_to_en", "M2M100ForConditionalGeneration", TEXTS, {}, {"max_new_tokens": 9}, "m2m_100"),
    *(Case("image-classification", "ViTForImageClassification", [], {"num_labels": 7, **more}, options, "",
           settings) for more, options, settings in [
        ({}, {}, {}), ({"problem_type": "multi_label_classification"}, {"top_k": 3}, {"resample": 3}),
        ({}, {"function_to_apply": "none"}, {"do_normalize": False, "resample": 1}),
        ({}, {"top_k": 7}, {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]})]),
    *(Case("sentence-similarity", REAL, [{"source_sentence": each, "sentences": TEXTS} for each in TEXTS], {},
           {"similarity": how}) for how in ("cosine", "dot", "euclidean", "manhattan")),
]  # fmt: skip

# Calls that must end with status 1 and one line with these words.
BAD = [
    (Case("fill-mask", "BertForMaskedLM", ["No mask here."]), "[MASK]"),
    (Case("fill-mask", "BertForMaskedLM", ["A [MASK]."], {}, {"top_k": 100000}), "top_k"),
    (Case("fill-mask", "BertForSequenceClassification", ["A [MASK]."]), "BertForSequenceClassification"),
    (Case("text-classification", "BertForMaskedLM", TEXTS), "ForSequenceClassification"),
    (Case("text-classification", "BertForSequenceClassification", ["Fine.", ""]), "line 2"),
    (Case("text-classification", "BertForSequenceClassification", [{"txt": "Fine."}]), "text"),
    (Case("text-classification", "BertForSequenceClassification", ["many words " * 400]), "tokens"),
    (Case("token-classification", "BertForTokenClassification", TEXTS, WORD_LABELS, {"ignore_labels": ["NO"]}), "NO"),
    (Case("token-classification", "BertForTokenClassification", TEXTS, WORD_LABELS, {"stride": 4}), "aggregation"),
    (Case("question-answering", "BertForQuestionAnswering", [{"question": "Who?"}]), "context"),
    (Case("question-answering", "BertForQuestionAnswering", [{"question": "", "context": "x"}]), "empty"),
    (Case("zero-shot-classification", "BertForSequenceClassification", TEXTS, NLI_LABELS,
          {"candidate_labels": ["a"], "hypothesis_template": "nothing"}), "hypothesis"),
    (Case("text-generation", "BartForConditionalGeneration", TEXTS, tokenizer="roberta"), "decoder"),
    (Case("translation", "M2M100ForConditionalGeneration", TEXTS, tokenizer="m2m_100"), "--src-lang"),
    (Case("translation_xx_to_en", "M2M100ForConditionalGeneration", TEXTS, tokenizer="m2m_100"), "'xx'"),
    (Case("summarization", "GPT2LMHeadModel", TEXTS, tokenizer="roberta"), "encoder-decoder"),
    (Case("text-generation", "GPT2LMHeadModel", TEXTS, {}, {"num_beams": "many"}, "roberta"), "num_beams"),
]  # fmt: skip


def make_tokenizer(case: Case, minilm: Path) -> Any:
    if case.tokenizer == "m2m_100":
        with TemporaryDirectory() as folder:
            return slow_tokenizers.build(case.tokenizer, Path(folder))
    if case.tokenizer == "minilm":
        settings = dict(case.settings)
        if case.model.startswith("DistilBert"):
            settings["model_input_names"] = ["input_ids", "attention_mask"]
        return AutoTokenizer.from_pretrained(minilm, **settings)
    special = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
               "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}  # fmt: skip
    names = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_file=str(BYTE_LEVEL), model_input_names=names, **special, **case.settings)


def sizes(name: str) -> dict[str, Any]:
    if name.startswith(("Bart", "M2M100")):
        return {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
                "max_position_embeddings": 512, "init_std": 0.3}  # fmt: skip
    if name.startswith("GPT2"):
        return {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.3}
    if name.startswith("DistilBert"):
        return {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "initializer_range": 0.3}
    return {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
            "embedding_size": 32, "max_position_embeddings": 514, "initializer_range": 0.3}  # fmt: skip


def make_pictures(directory: Path, seed: int) -> list[str]:
    """Colours that run into each other, in every form of file."""
    random.seed(seed)
    names = []
    for i, (mode, name, options) in enumerate([
        ("RGB", "small.jpg", {"quality": 90}), ("RGB", "plain.png", {}), ("L", "grey.jpg", {}), ("L", "grey.png", {}),
        ("RGBA", "clear.png", {}), ("P", "palette.png", {}), ("1", "bits.png", {}), ("LA", "grey-clear.png", {}),
        ("RGB", "turned.jpg", {"quality": 95, "subsampling": 0}), ("RGB", "progressive.jpg", {"progressive": True}),
    ]):  # fmt: skip
        noise = Image.frombytes("RGB", (5, 4), random.randbytes(60))
        picture = noise.resize((random.randint(8, 90), random.randint(8, 90)), Image.Resampling.BICUBIC)
        if name.startswith("turned"):
            exif = Image.Exif()
            exif[0x0112] = 2 + (seed * 3 + i) % 7
            options = {**options, "exif": exif}
        picture.convert(mode).save(directory / name, **options)
        names.append(str(directory / name))
    return names


def make_vision_directory(case: Case, seed: int, directory: Path) -> None:
    architecture = getattr(transformers, case.model)
    torch.manual_seed(seed)
    config = architecture.config_class(image_size=32, patch_size=8, **sizes(case.model), **case.config)
    architecture(config).eval().save_pretrained(directory)
    ViTImageProcessor(size={"height": 32, "width": 32}, **case.settings).save_pretrained(directory)


def make_directory(case: Case, seed: int, minilm: Path, directory: Path) -> None:
    if case.model.startswith("ViT"):
        return make_vision_directory(case, seed, directory)
    tokenizer = make_tokenizer(case, minilm)
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "bos", "eos")}
    architecture = getattr(transformers, case.model)
    if case.model.startswith(("Bart", "M2M100")):
        ids |= {"decoder_start_token_id": ids["eos_token_id"], "forced_eos_token_id": None}
    config = architecture.config_class(vocab_size=len(tokenizer), **sizes(case.model), **ids, **case.config)
    torch.manual_seed(seed)
    model = architecture(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.normal_(0, 0.1)  # else a head's is zero
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def similarities(case: Case, directory: Path) -> list[list[float]]:
    model = SentenceTransformer(str(directory), device="cpu", similarity_fn_name=case.options["similarity"])
    return [model.similarity(*(model.encode(each[name]) for name in ("source_sentence", "sentences")))[0].tolist()
            for each in case.inputs]  # fmt: skip


def original(case: Case, directory: Path) -> list[Any]:
    if case.task == "sentence-similarity":
        return similarities(case, directory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = pipeline(case.task, model=str(directory), device="cpu")
        options = dict(case.options)
        if case.task == "zero-shot-classification":
            return [pipe(text, **options) for text in case.inputs]
        if case.task == "question-answering":
            return [pipe(**each, **options) for each in case.inputs]
        answers = [pipe(each, **options) for each in case.inputs]
    # A single text gives a list of one label, a pair the label itself.
    return [[a] if case.task == "text-classification" and isinstance(a, dict) else a for a in answers]


def arguments(case: Case) -> list[str]:
    result = []
    for name, value in case.options.items():
        flag = "--" + name.replace("_", "-")
        if name in ("multi_label", "handle_impossible_answer"):
            result.append(flag)
        elif name in ("align_to_words", "return_full_text"):
            result.append(flag if value else "--no-" + flag[2:])
        elif isinstance(value, list):
            result += [flag, ",".join(value)]
        elif value is None:
            result += [flag, "0"]
        else:
            result += [flag, json.dumps(value) if isinstance(value, bool) else str(value)]
    return result


def difference(got: Any, wanted: Any, place: str = "") -> str | None:
    """Where the two differ, or nothing."""
    if isinstance(wanted, float) and isinstance(got, (int, float)):
        return None if abs(got - wanted) <= LIMIT * max(1, abs(wanted)) else f"{place}: {got} for {wanted}"
    if isinstance(wanted, dict) and isinstance(got, dict):
        if list(got) != list(wanted):
            return f"{place}: fields {list(got)} for {list(wanted)}"
        return next((d for key in wanted if (d := difference(got[key], wanted[key], f"{place}.{key}"))), None)
    if isinstance(wanted, list) and isinstance(got, list):
        if len(got) != len(wanted):
            return f"{place}: {len(got)} for {len(wanted)}: {str(got)[:150]} for {str(wanted)[:150]}"
        return next((d for i in range(len(wanted)) if (d := difference(got[i], wanted[i], f"{place}[{i}]"))), None)
    return None if got == wanted else f"{place}: {got!r} for {wanted!r}"


def seen(answer: Any) -> Any:
    """A question's answers without those of no probability, which the original fills its list with."""
    if isinstance(answer, dict):
        return answer
    kept = [each for each in answer if each["score"] > UNSEEN]
    return kept[0] if len(kept) == 1 else kept


def as_json(value: Any) -> Any:
    """numpy's numbers as Python's."""
    return json.loads(json.dumps(value, default=lambda number: number.item()))


def standard_input(case: Case, form: str) -> tuple[list[str], str]:
    """The inputs in this form, and the options that say so. In a table the first field has a column of another name."""
    if form == "json":
        lines = (json.dumps(each, ensure_ascii=random.random() < 0.5) for each in case.inputs)
        return ["--input-format", "json"], "".join(line + "\n" for line in lines)
    rows = [each if isinstance(each, dict) else {"text": each} for each in case.inputs]
    first, *others = rows[0]
    table = io.StringIO()
    writer = csv.writer(table, "excel" if form == "csv" else "excel-tab")
    writer.writerows([["the first", *others, "unused"], *([*row.values(), "x, \"y\"\n"] for row in rows)])
    return ["--input-format", form, "--column", f"{first}=the first"], table.getvalue()


def check(attend: Attend, case: Case, seed: int, minilm: Path) -> list[str]:
    with TemporaryDirectory() as folder:
        directory = minilm if case.model == REAL else Path(folder)
        if case.model != REAL:
            make_directory(case, seed, minilm, directory)
        if case.task == "image-classification":
            case = replace(case, inputs=make_pictures(directory, seed))
        wanted = as_json(original(case, directory))
        listed = case.task == "sentence-similarity"  # a table's columns cannot contain lists
        form, stdin = standard_input(case, "json" if listed else ("json", "csv", "tsv")[seed % 3])
        try:
            output = attend.run("run", case.task, directory, *form, *arguments(case), stdin=stdin)
        except AttendFailed as error:
            return [str(error)]
    got = [json.loads(line) for line in output.splitlines()]
    if case.task == "question-answering":
        wanted, got = [seen(a) for a in wanted], [seen(a) for a in got]
    if len(got) != len(wanted):
        return [f"{len(got)} answers to {len(wanted)} inputs"]
    return [d for i in range(len(wanted)) if (d := difference(got[i], wanted[i], f"input {i}"))]


def check_bad(attend: Attend, case: Case, words: str, minilm: Path) -> list[str]:
    with TemporaryDirectory() as folder:
        make_directory(case, 0, minilm, Path(folder))
        stdin = "".join(json.dumps(each) + "\n" for each in case.inputs)
        try:
            output = attend.run("run", case.task, folder, "--json-input", *arguments(case), stdin=stdin)
        except AttendFailed as error:
            status, _, text = str(error).partition(": ")
            one_line = "\n" not in text and text.startswith("attend: ")
            return [] if status == "exit 1" and one_line and words in text else [f"not about {words}: {error}"]
    return [f"no error, but {output[:200]}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--minilm", type=Path, required=True, help="a directory with all-MiniLM-L6-v2")
    parser.add_argument("--task", help="only this one")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    table = Table([("task", 25), ("model", 36), ("seed", 4), ("inputs", 6), ("options", 60)])
    for case in CASES:
        for seed in range(options.seeds):
            if options.task not in (None, case.task):
                continue
            findings = check(Attend(options.attend.resolve()), case, seed, options.minilm)
            shown = json.dumps(case.options)[:60]
            table.row([case.task, case.model, seed, len(case.inputs), shown], bool(findings), findings[:5])
    for case, words in BAD:
        if options.task in (None, case.task):
            findings = check_bad(Attend(options.attend.resolve()), case, words, options.minilm)
            table.row([case.task, case.model, "bad", len(case.inputs), words], bool(findings), findings)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
