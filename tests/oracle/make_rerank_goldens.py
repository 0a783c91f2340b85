"""Writes tests/data/rerank/goldens.json: scores of queries and documents by a language model that answers yes or no.

    python tests/oracle/make_rerank_goldens.py

Directories of sentence-transformers with a LogitScore module are its own (CrossEncoder.predict). A directory without one is read as
Qwen3-Reranker's model card reads it; its few lines are written out here. The body is tests/data/models/qwen3, with room for longer
texts; every other file is in the goldens.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder
from transformers import AutoModelForCausalLM, AutoTokenizer

DATA = Path(__file__).resolve().parents[1] / "data"
SPECIAL = ["<pad>", "<unk>", "<|im_start|>", "<|im_end|>"]
WORDS = "yes no query: document: red fox river the Judge system user assistant . search web".split()
WORDS += ["<Query>:", "<Document>:", "<Instruct>:", "<think>", "\n"]
WORDS += ["0", "4"]  # sentence-transformers finds the end of a chat template by texts that end with these tokens
TEMPLATE = """{%- set system = messages | selectattr("role", "eq", "system") | map(attribute="content") | first -%}
<|im_start|>system
{{ system | default("Judge the document.", true) }}<|im_end|>
<|im_start|>user
query: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
document: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
"""
PAIRS = [["red fox", "the river"], ["the", "fox fox"], ["river", ""], ["the fox", "the red river . " * 6]]
TYPES = "sentence_transformers."
MODULES = [{"idx": 0, "name": "0", "path": "", "type": TYPES + "base.modules.transformer.Transformer"},
           {"idx": 1, "name": "1", "path": "1_LogitScore", "type": TYPES + "cross_encoder.modules.logit_score.LogitScore"}]  # fmt: skip
MESSAGE = {"method": "forward", "method_output_name": "logits", "format": "flat"}
Json = dict[str, Any]


def split(text: str, behavior: str) -> Json:
    return {"type": "Split", "pattern": {"String": text}, "behavior": behavior, "invert": False}


def tokenizer_files(max_length: int) -> Json:
    added = [
        {"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, name in enumerate(SPECIAL)
    ]
    words = {"type": "WordLevel", "unk_token": "<unk>", "vocab": {word: i for i, word in enumerate(SPECIAL + WORDS)}}
    pieces = {"type": "Sequence", "pretokenizers": [split(" ", "Removed"), split("\n", "Isolated")]}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                 "pre_tokenizer": pieces, "post_processor": None, "decoder": None, "model": words}  # fmt: skip
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "<|im_end|>",
              "model_max_length": max_length, "padding_side": "left"}  # fmt: skip
    return {"tokenizer.json": tokenizer, "tokenizer_config.json": config}


def logit_score_files(yes: int, no: int | None, max_length: int) -> Json:
    use = {"model_type": "CrossEncoder", "prompts": {"web": "the red river", "short": "fox"}, "default_prompt_name": None}
    return tokenizer_files(max_length) | {
        "modules.json": MODULES,
        "1_LogitScore/config.json": {"true_token_id": yes, "false_token_id": no, "module_input_name": "causal_logits"},
        "sentence_bert_config.json": {"transformer_task": "text-generation", "module_output_name": "causal_logits",
                                      "modality_config": {"text": MESSAGE | {"format": None}, "message": MESSAGE}},
        "config_sentence_transformers.json": use | {"activation_fn": "torch.nn.modules.activation.Sigmoid"},
        "chat_template.jinja": TEMPLATE,
    }  # fmt: skip


def write(directory: Path, files: Json) -> None:
    directory.mkdir()
    body = DATA / "models/qwen3"
    shutil.copyfile(body / "model.safetensors", directory / "model.safetensors")
    config = json.loads((body / "config.json").read_text()) | {"max_position_embeddings": 256}
    for name, content in (files | {"config.json": config}).items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(content if isinstance(content, str) else json.dumps(content))


def scores_of_module(directory: Path, options: Json) -> list[float]:
    model = CrossEncoder(str(directory), device="cpu", model_kwargs={"attn_implementation": "eager"})
    given = dict(options)
    activation = torch.nn.Identity() if given.pop("raw_scores", False) else torch.nn.Sigmoid()
    given.pop("truncate", None)
    return model.predict([tuple(pair) for pair in PAIRS], activation_fn=activation, **given).tolist()


def scores_of_card(directory: Path, options: Json) -> list[float]:
    """As in the model card of Qwen3-Reranker: the template's start and end are tokenized apart, the middle is cut."""
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager").eval()
    start = ('<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. '
             'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n')  # fmt: skip
    end = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    instruction = options.get("prompt", "Given a web search query, retrieve relevant passages that answer the query")
    start_ids, end_ids = (tokenizer.encode(text, add_special_tokens=False) for text in (start, end))
    most = tokenizer.model_max_length - len(start_ids) - len(end_ids)
    yes, no = tokenizer.convert_tokens_to_ids("yes"), tokenizer.convert_tokens_to_ids("no")
    scores = []
    for query, document in PAIRS:
        text = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
        ids = tokenizer(text, add_special_tokens=False, truncation="longest_first", max_length=most)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([start_ids + ids + end_ids])).logits[0, -1]
        pair = torch.nn.functional.log_softmax(torch.stack([logits[no], logits[yes]]), dim=0)
        scores.append(pair[1].exp().item())
    return scores


def main() -> None:
    torch.set_num_threads(1)
    calls = [{}, {"prompt_name": "web"}, {"prompt": "river"}, {"raw_scores": True}]
    cases = [
        ("yes and no", logit_score_files(4, 5, 256), calls, scores_of_module),
        ("one token", logit_score_files(7, None, 256), [{}, {"raw_scores": True}], scores_of_module),
        ("cut", logit_score_files(4, 5, 34), [{"truncate": True}], scores_of_module),
        ("as published", tokenizer_files(256), [{}, {"prompt": "the river"}], scores_of_card),
        ("as published, cut", tokenizer_files(85), [{"truncate": True}], scores_of_card),
    ]
    goldens = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, files, asked, scores) in enumerate(cases):
            directory = Path(folder) / str(i)
            write(directory, files)
            answers = [{"options": options, "scores": scores(directory, options)} for options in asked]
            goldens.append({"name": name, "files": files, "calls": answers})
    text = ",\n".join(json.dumps(golden) for golden in goldens)
    (DATA / "rerank").mkdir(exist_ok=True)
    (DATA / "rerank/goldens.json").write_text(f'{{"pairs": {json.dumps(PAIRS)},\n"cases": [\n{text}]}}\n')


if __name__ == "__main__":
    main()
