"""Writes tests/data/token_weights: sparse vectors of sentence-transformers' SparseEncoder (SPLADE), and of BGE-M3 its sparse vectors and
those of its tokens, as FlagEmbedding defines them; these few lines are written out here.

    python tests/oracle/make_token_weight_goldens.py

The bodies are those of tests/data/models; every other file of a directory is in the goldens, or lies next to them.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SparseEncoder
from transformers import AutoModel, AutoTokenizer

from sentence_cases import MODELS, tokenizer_json

TEXTS = ["the quick red fox", "a b red a [MASK] unknown", "the river the night the lantern the day the car"]
DATA = MODELS.parent / "token_weights"
WIDTH, COLBERT_WIDTH = 12, 6  # of the body, and of the vectors of its tokens
Json = dict[str, Any]


def tokenizer_files() -> Json:
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]",
              "eos_token": "[SEP]", "sep_token": "[SEP]", "mask_token": "[MASK]", "model_max_length": 12,
              "model_input_names": ["input_ids", "attention_mask"]}  # fmt: skip
    return {"tokenizer.json": tokenizer_json(True), "tokenizer_config.json": config}


def write(directory: Path, body: str, files: Json) -> None:
    directory.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(MODELS / body / name, directory / name)
    for name, content in files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(json.dumps(content))


def splade(directory: Path, transformer: str, pooling: Json) -> Json:
    modules = [{"idx": 0, "name": "0", "path": "", "type": f"sentence_transformers.{transformer}"},
               {"idx": 1, "name": "1", "path": "1_SpladePooling",
                "type": "sentence_transformers.sparse_encoder.models.SpladePooling"}]  # fmt: skip
    files = tokenizer_files() | {"modules.json": modules, "1_SpladePooling/config.json": pooling}
    files["config_sentence_transformers.json"] = {"model_type": "SparseEncoder", "prompts": {"query": "query: ", "document": ""}}
    files["sentence_bert_config.json"] = {"max_seq_length": 10, "do_lower_case": False}
    if transformer.endswith("Transformer") and "MLM" not in transformer:
        files["sentence_bert_config.json"]["transformer_task"] = "fill-mask"
    write(directory, "bert-masked-lm", files)
    model = SparseEncoder(str(directory), device="cpu", model_kwargs={"attn_implementation": "eager"})
    calls = []
    for options in ({}, {"prompt_name": "query"}):
        vectors = model.encode(TEXTS, convert_to_sparse_tensor=False, **options)
        names = model.tokenizer.convert_ids_to_tokens(range(vectors.shape[1]))
        weights = [{names[i] or f"#{i}": row[i].item() for i in row.nonzero().flatten().tolist()} for row in vectors]
        calls.append({"options": options, "weights": weights})
    return {"body": "bert-masked-lm", "files": files, "calls": calls}


def bge_m3(directory: Path) -> Json:
    """FlagEmbedding's M3: token weights relu(linear), equal tokens by their largest, special ones left out; vectors of the tokens after
    the first, of length 1."""
    files = tokenizer_files()
    write(directory, "roberta-masked-lm", files)
    torch.manual_seed(5)
    linears = {"sparse_linear": torch.nn.Linear(WIDTH, 1), "colbert_linear": torch.nn.Linear(WIDTH, COLBERT_WIDTH)}
    linears["sparse_linear"].bias.data.fill_(0.3)  # so that some weights are above 0
    for name, linear in linears.items():
        torch.save(linear.state_dict(), DATA / f"{name}.pt")
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModel.from_pretrained(directory, attn_implementation="eager").eval()
    left_out = {tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    weights, vectors = [], []
    for text in TEXTS:
        ids = tokenizer(text, truncation=True, max_length=12)["input_ids"]
        with torch.no_grad():
            hidden = model(torch.tensor([ids])).last_hidden_state[0]
            of_tokens = torch.relu(linears["sparse_linear"](hidden)).flatten().tolist()
            vectors.append(torch.nn.functional.normalize(linears["colbert_linear"](hidden[1:]), dim=-1))
        best: dict[str, float] = {}
        for token, weight in zip(ids, of_tokens):
            if token not in left_out and weight > 0:
                name = tokenizer.convert_ids_to_tokens(token)
                best[name] = max(best.get(name, 0.0), weight)
        weights.append(best)
    scores = [[(a @ b.T).max(dim=1).values.mean().item() for b in vectors] for a in vectors]
    return {"body": "roberta-masked-lm", "files": files, "calls": [{"options": {}, "weights": weights}],
            "vectors": [each.tolist() for each in vectors], "late_interaction": scores}  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    DATA.mkdir(exist_ok=True)
    old, new = "sparse_encoder.models.MLMTransformer", "base.modules.transformer.Transformer"
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        cases = {
            "SPLADE": splade(at / "max", old, {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None}),
            "sums": splade(at / "sum", new, {"pooling_strategy": "sum", "activation_function": "relu"}),
            "two logarithms": splade(at / "twice", new, {"pooling_strategy": "max", "activation_function": "log1p_relu"}),
            "BGE-M3": bge_m3(at / "m3"),
        }
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items())
    (DATA / "goldens.json").write_text(f'{{"texts": {json.dumps(TEXTS)},\n{text}}}\n')


if __name__ == "__main__":
    main()
