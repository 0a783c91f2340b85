"""attend forward and generate with --adapter against PEFT.

    python check_adapters.py --attend build/release/attend
    python check_adapters.py --attend build/release/attend --case gpt2-dora --seeds 10
    python check_adapters.py --goldens            # remakes tests/data/adapters

Outputs, states, attentions, loss and gradients of what PEFT's model computes, unmerged, in float32; the ids that it
generates; and the files: what `attend train` would save of it, read by PEFT again.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import shutil
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import peft
import torch
from safetensors.torch import save_file
from torch import nn

from common import Attend, AttendFailed, Table, Tensors, compare
from float64 import double_of
from forward import Original
from model_cases import SMALL
from models import make_model
from originals import load_model
from random_inputs import has_loss, make_inputs

GOLDENS = Path(__file__).resolve().parent.parent / "data" / "adapters"
COLUMNS = [("case", 26), ("seed", 4), ("tensors", 7), ("value", 8), ("gradient", 8)]


@dataclass(frozen=True)
class AdapterCase:
    """A case of model_cases.py and the fields of the config of this kind."""

    model: str
    settings: dict[str, Any]
    kind: type = peft.LoraConfig
    layout: str = "right"
    generates: bool = False
    labelled: bool = True  # whether PEFT's model takes labels
    refused: str = field(default="")  # a part of the message, if attend must reject the adapter


BERT_ALL = ["query", "key", "value", "attention.output.dense", "intermediate.dense"]
CASES = {
    "bert-query-value": AdapterCase("bert-masked-lm", {"target_modules": ["query", "value"], "r": 3}),
    "bert-patterns": AdapterCase(
        "bert-masked-lm",
        {"target_modules": BERT_ALL, "r": 4, "lora_alpha": 3, "rank_pattern": {"layer.0.attention.self.query": 2},
         "alpha_pattern": {"key": 17, r"encoder\.layer\.0\..*dense": 5}},
    ),  # fmt: skip
    "bert-regex-rslora": AdapterCase(
        "bert-masked-lm", {"target_modules": r".*\.(query|intermediate\.dense)", "use_rslora": True, "r": 5}
    ),
    "bert-classifier": AdapterCase(
        "bert-classifier", {"target_modules": ["query"], "modules_to_save": ["classifier"], "bias": "all"}
    ),
    "bert-task": AdapterCase("bert-classifier", {"task_type": "SEQ_CLS", "r": 2, "bias": "lora_only"}),
    "bert-tags": AdapterCase("bert-token-classification", {"task_type": "TOKEN_CLS", "use_dora": True}, layout="left"),
    "bert-embeddings": AdapterCase("bert-classifier", {"target_modules": ["word_embeddings", "dense"]}),
    "bert-embeddings-tied": AdapterCase(
        "bert-masked-lm", {"target_modules": ["word_embeddings", "position_embeddings", "token_type_embeddings"], "use_dora": True}
    ),
    "bert-all-linear": AdapterCase(
        "bert-masked-lm", {"target_modules": "all-linear", "exclude_modules": ["key"], "lora_bias": True, "r": 2}
    ),
    "bert-layers": AdapterCase(
        "bert-question-answering", {"target_modules": ["dense"], "layers_to_transform": [0], "use_dora": True, "use_rslora": True}
    ),
    "bert-ia3": AdapterCase("bert-classifier", {"task_type": "SEQ_CLS"}, peft.IA3Config),
    "bert-ia3-query": AdapterCase(
        "bert-masked-lm", {"target_modules": ["query", "intermediate.dense"], "feedforward_modules": ["query"]}, peft.IA3Config
    ),
    "deberta": AdapterCase("deberta-masked-lm", {"r": 2}),
    "deberta-dora": AdapterCase("deberta-masked-lm", {"target_modules": ["in_proj", "pos_proj", "dense"], "use_dora": True}),
    "deberta-ia3": AdapterCase("deberta-token-classification", {"task_type": "TOKEN_CLS"}, peft.IA3Config),
    "deberta-v2": AdapterCase("deberta-v2-masked-lm", {"target_modules": ["query_proj", "key_proj", "value_proj"]}),
    "deberta-v2-ia3": AdapterCase("deberta-v2-masked-lm", {}, peft.IA3Config),
    "gpt2": AdapterCase("gpt2", {"target_modules": ["c_attn", "c_proj"], "bias": "lora_only"}, generates=True),
    "gpt2-dora": AdapterCase("gpt2", {"target_modules": "all-linear", "use_dora": True}, generates=True),
    "gpt2-ia3": AdapterCase("gpt2", {"task_type": "CAUSAL_LM"}, peft.IA3Config, generates=True),
    "gpt2-tied": AdapterCase("gpt2", {"target_modules": ["wte", "wpe"]}, generates=True),
    "gpt2-head": AdapterCase("gpt2-untied", {"target_modules": ["lm_head", "c_fc"]}, generates=True),
    "gpt2-classifier": AdapterCase(
        "gpt2-sequence-classification", {"target_modules": ["c_fc", "wte"], "modules_to_save": ["score"], "r": 2}
    ),
    "gpt2-norms": AdapterCase("gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["ln_f", "ln_1"], "bias": "all"}),
    # A saved module has its own matrix, even if the original's is tied to another.
    "gpt2-words": AdapterCase("gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["wte"]}, generates=True),
    "gpt2-new-words": AdapterCase("gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["wte", "lm_head"], "bias": "lora_only"}, generates=True),
    "gpt2-words-head": AdapterCase("gpt2", {"target_modules": ["c_attn"], "modules_to_save": ["lm_head"]}, generates=True),
    "bert-words": AdapterCase("bert-masked-lm", {"target_modules": ["query"], "modules_to_save": ["word_embeddings"], "bias": "all"}),
    "bert-predictions": AdapterCase("bert-masked-lm", {"target_modules": ["query"], "modules_to_save": ["cls"]}),
    "t5-words-head": AdapterCase("t5", {"target_modules": ["q"], "modules_to_save": ["lm_head"]}, generates=True),
    "t5-tables": AdapterCase("t5", {"target_modules": ["q"], "modules_to_save": ["embed_tokens"], "bias": "all"}, generates=True),
    "bart-tables": AdapterCase("bart", {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]}, generates=True),
    "bart-unread": AdapterCase("bart", {"target_modules": ["q_proj"], "modules_to_save": ["shared", "lm_head"]}),
    "gptj": AdapterCase("gptj", {"target_modules": ["q_proj", "fc_in"]}, generates=True),
    "llama": AdapterCase("llama", {"target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "up_proj"]}, generates=True),
    "llama-dora": AdapterCase("llama-biases", {"target_modules": ["k_proj", "down_proj"], "use_dora": True}, generates=True),
    "qwen2-ia3": AdapterCase("qwen2", {"task_type": "CAUSAL_LM"}, peft.IA3Config, generates=True),
    "mixtral": AdapterCase("mixtral", {"target_modules": ["q_proj", "gate", "w1", "w2"]}, generates=True),
    "mixtral-dora": AdapterCase("mixtral", {"target_modules": ["w3", "w2"], "use_dora": True}),
    "qwen2-moe-ia3": AdapterCase("qwen2-moe", {"target_modules": ["k_proj", "down_proj"], "feedforward_modules": ["down_proj"]}, peft.IA3Config),
    "gpt-oss": AdapterCase("gpt-oss", {"target_modules": ["q_proj", "v_proj"]}, generates=True),
    "qwen3-words": AdapterCase("qwen3", {"target_modules": ["v_proj"], "modules_to_save": ["k_proj"]}, generates=True),
    # All texts have the same length: transformers rotates by the longest of a batch (docs/models.md).
    "phi3": AdapterCase("phi3", {"target_modules": ["qkv_proj", "gate_up_proj"]}, layout="plain"),
    "gemma3": AdapterCase("gemma3", {"target_modules": ["q_proj", "k_proj", "o_proj", "gate_proj"], "use_dora": True}, generates=True),
    "granite": AdapterCase("granite", {"task_type": "CAUSAL_LM", "target_modules": ["q_proj", "v_proj"], "r": 3}, generates=True),
    "olmo2-words": AdapterCase("olmo2", {"target_modules": "all-linear", "modules_to_save": ["embed_tokens", "q_norm"]}, generates=True),
    "gpt-neox": AdapterCase("gpt-neox", {"target_modules": ["query_key_value"]}, generates=True),
    "falcon": AdapterCase("falcon-grouped", {"target_modules": ["query_key_value", "dense_4h_to_h"], "use_dora": True}, generates=True),
    "bloom-prefix": AdapterCase("bloom", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 3}, peft.PrefixTuningConfig, generates=True),
    "mpt": AdapterCase("mpt", {"task_type": "CAUSAL_LM"}, generates=True),
    "modernbert": AdapterCase("modernbert-masked-lm", {"target_modules": ["Wqkv", "Wo", "Wi"]}),
    "nomic-bert": AdapterCase("nomic-bert-pre-training", {"target_modules": ["Wqkv", "fc11", "fc2"]}),
    "gte": AdapterCase("gte-masked-lm", {"target_modules": ["qkv_proj", "up_gate_proj", "down_proj"]}),
    "jina-bert": AdapterCase("jina-bert-masked-lm", {"target_modules": ["query", "gated_layers", "wo"], "use_dora": True}),
    "modernbert-tags": AdapterCase("modernbert-token-classification", {"task_type": "TOKEN_CLS", "target_modules": ["Wqkv"], "modules_to_save": ["classifier", "head"]}),
    "llama-prefix": AdapterCase("llama", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 3}, peft.PrefixTuningConfig, generates=True),
    "mistral-prompt": AdapterCase("mistral", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}, peft.PromptTuningConfig, generates=True),
    "marian": AdapterCase("marian", {"target_modules": ["q_proj", "v_proj", "fc1"], "r": 3}),
    "bart": AdapterCase("bart", {"target_modules": ["out_proj", "k_proj", "fc2"], "lora_alpha": 16}, generates=True),
    "bart-embeddings": AdapterCase("bart", {"target_modules": ["embed_tokens", "v_proj"], "use_dora": True}),
    "bart-ia3": AdapterCase("bart", {"task_type": "SEQ_2_SEQ_LM"}, peft.IA3Config, generates=True),
    "t5": AdapterCase("t5", {"task_type": "SEQ_2_SEQ_LM", "use_rslora": True}, generates=True),
    "t5-dora": AdapterCase("t5-gated", {"target_modules": ["q", "k", "wi_0", "wo"], "use_dora": True, "r": 2}, generates=True),
    "t5-ia3": AdapterCase("t5", {"task_type": "SEQ_2_SEQ_LM"}, peft.IA3Config, generates=True),
    "vit": AdapterCase("vit-image-classification", {"target_modules": ["query", "value"], "modules_to_save": ["classifier"]}, layout="plain"),
    "xlm-roberta": AdapterCase("xlm-roberta-sequence-classification", {"task_type": "SEQ_CLS"}),
    "albert": AdapterCase("albert-groups", {"target_modules": ["query", "ffn"], "use_dora": True}),
    "bert-prefix": AdapterCase("bert-classifier", {"task_type": "SEQ_CLS", "num_virtual_tokens": 5}, peft.PrefixTuningConfig),
    "bert-prefix-tags": AdapterCase("bert-token-classification", {"task_type": "TOKEN_CLS", "num_virtual_tokens": 3}, peft.PrefixTuningConfig, layout="left"),
    "bert-prefix-answers": AdapterCase("bert-question-answering", {"task_type": "QUESTION_ANS", "num_virtual_tokens": 4}, peft.PrefixTuningConfig),
    "bert-prefix-features": AdapterCase("bert-model", {"task_type": "FEATURE_EXTRACTION", "num_virtual_tokens": 4}, peft.PrefixTuningConfig),
    "gpt2-prefix": AdapterCase("gpt2", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 7}, peft.PrefixTuningConfig, generates=True),
    "gpt2-prefix-projected": AdapterCase("gpt2", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 3, "prefix_projection": True, "encoder_hidden_size": 9}, peft.PrefixTuningConfig, layout="left", labelled=False, generates=True),
    "gptj-prefix": AdapterCase("gptj", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 2}, peft.PrefixTuningConfig, generates=True),
    # In generate(), PEFT counts the positions of a decoder with an encoder without the prefix, and masks as
    # many of each text's last tokens as the prefix has rows. So these two are compared only in forward().
    "bart-prefix": AdapterCase("bart", {"task_type": "SEQ_2_SEQ_LM", "num_virtual_tokens": 3}, peft.PrefixTuningConfig),
    "t5-prefix": AdapterCase("t5", {"task_type": "SEQ_2_SEQ_LM", "num_virtual_tokens": 4}, peft.PrefixTuningConfig),
    "bert-answers": AdapterCase("bert-question-answering", {"task_type": "QUESTION_ANS", "use_rslora": True}),
    "bert-prompt": AdapterCase("bert-classifier", {"task_type": "SEQ_CLS", "num_virtual_tokens": 5}, peft.PromptTuningConfig),
    "bert-prompt-tags": AdapterCase("bert-token-classification", {"task_type": "TOKEN_CLS", "num_virtual_tokens": 3}, peft.PromptTuningConfig, layout="left", labelled=False),
    "bert-prompt-answers": AdapterCase("bert-question-answering", {"task_type": "QUESTION_ANS", "num_virtual_tokens": 4}, peft.PromptTuningConfig),
    "bert-prompt-features": AdapterCase("bert-model", {"task_type": "FEATURE_EXTRACTION", "num_virtual_tokens": 4}, peft.PromptTuningConfig),
    "roberta-prompt": AdapterCase("xlm-roberta-sequence-classification", {"task_type": "SEQ_CLS", "num_virtual_tokens": 2}, peft.PromptTuningConfig),
    "deberta-prompt": AdapterCase("deberta-sequence-classification", {"task_type": "SEQ_CLS", "num_virtual_tokens": 4}, peft.PromptTuningConfig),
    "deberta-v2-prompt": AdapterCase("deberta-v2-sequence-classification", {"task_type": "SEQ_CLS", "num_virtual_tokens": 3}, peft.PromptTuningConfig),
    "gpt2-prompt": AdapterCase("gpt2", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 6}, peft.PromptTuningConfig, generates=True),
    "gpt2-prompt-classifier": AdapterCase("gpt2-sequence-classification", {"task_type": "SEQ_CLS", "num_virtual_tokens": 3}, peft.PromptTuningConfig),
    "gptj-prompt": AdapterCase("gptj", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 18}, peft.PromptTuningConfig, layout="left", generates=True),
    "bart-prompt": AdapterCase("bart", {"task_type": "SEQ_2_SEQ_LM", "num_virtual_tokens": 5}, peft.PromptTuningConfig, generates=True),
    "t5-prompt": AdapterCase("t5", {"task_type": "SEQ_2_SEQ_LM", "num_virtual_tokens": 4}, peft.PromptTuningConfig, generates=True),
    "refused-prefix": AdapterCase("xlnet", {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}, peft.PrefixTuningConfig, refused="cannot have a prefix"),
    "refused-variant": AdapterCase("bert-masked-lm", {"target_modules": ["query"], "trainable_token_indices": [1]}, refused="trainable_token_indices"),
}  # fmt: skip


def make_adapter(case: AdapterCase, model: Any, seed: int, directory: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted = peft.get_peft_model(model, case.kind(**case.settings))
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in adapted.named_parameters():  # B is initially zero, and trained biases are
                                                            # unchanged
            if "magnitude" in name or "ia3" in name:
                nn.init.uniform_(parameter, 0.5, 1.5, generator=generator)
            elif "lora_" in name or parameter.requires_grad:
                nn.init.normal_(parameter, std=0.2, generator=generator)
        adapted.save_pretrained(directory)
    return adapted.eval()


def stored_name(parameter: str) -> str:
    """What the file calls a parameter of PEFT's model."""
    if parameter == "prompt_encoder.default.embedding.weight":
        return "prompt_embeddings"
    name = parameter.replace(".modules_to_save.default", "").replace(".default", "")
    return name.removesuffix(".weight") if "magnitude" in name else name


def expected(original: Original, adapted: Any, inputs: Tensors) -> Tensors:
    adapted.config.use_cache = False
    config = adapted.peft_config["default"]
    virtual = config.num_virtual_tokens if isinstance(config, peft.PromptTuningConfig) else 0
    adapted_model = dataclasses.replace(original, model=adapted, names=[], virtual=virtual)
    wanted = adapted_model.run(inputs, gradients=has_loss(inputs))
    for name, parameter in adapted.named_parameters():
        if parameter.requires_grad and parameter.grad is not None:
            wanted["grad." + stored_name(name)] = parameter.grad.clone()
    return wanted


class WithAdapter:
    """attend with the option."""

    def __init__(self, attend: Attend, adapter: Path) -> None:
        self.attend, self.adapter = attend, adapter

    def forward(self, model: Path, inputs: Tensors) -> Tensors:
        flags = ["--hidden-states", "--attentions", "--adapter", str(self.adapter)]
        return self.attend._with_files("forward", model, inputs, flags + ["--gradients"] * has_loss(inputs))

    def generate(self, model: Path, inputs: Tensors) -> Tensors:
        flags = ["--adapter", str(self.adapter), "--max-new-tokens", "8"]
        return self.attend._with_files("generate", model, inputs, flags)

    def merged(self, model: Path, output: Path) -> Path:
        self.attend.run("adapter", "merge", model, self.adapter, "--output", output)
        return output


def generate(adapted: Any, inputs: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    """A beginning [1, 3] and what PEFT's model makes of it."""
    start = inputs["input_ids"][:1, :3].contiguous()
    adapted.config.use_cache = True
    settings = {"max_new_tokens": 8, "do_sample": False, "num_beams": 1, "pad_token_id": 0}
    return start, adapted.generate(input_ids=start, attention_mask=torch.ones_like(start), **settings)


def generated(runner: WithAdapter, base: Path, adapted: Any, inputs: Tensors) -> list[str]:
    start, ids = generate(adapted, inputs)
    made = runner.generate(base, {"input_ids": start, "attention_mask": torch.ones_like(start)})["sequences"]
    return [f"other ids: {made.tolist()} for {ids.tolist()}"] * (made.tolist() != ids.tolist())


def largest(findings: list[Any], gradients: bool) -> str:
    errors = [f.error for f in findings if f.name.startswith("grad.") == gradients and not f.noise]
    return f"{max(errors):.1e}" if errors else "-"


def check(attend: Attend, cases: list[str], first: int, seeds: int) -> Table:
    table = Table(COLUMNS)
    for name in cases:
        case = CASES[name]
        for seed in range(first, first + seeds):
            with TemporaryDirectory() as folder:
                base, adapter = Path(folder) / "base", Path(folder) / "adapter"
                make_model(case.model, seed, base)
                original = Original.load(base)
                inputs = inputs_of(case, original, seed)
                adapted = make_adapter(case, load_model(base), seed, adapter)
                runner = WithAdapter(attend, adapter)
                try:
                    got = runner.forward(base, inputs)
                except AttendFailed as error:
                    good = bool(case.refused) and case.refused in str(error)
                    table.row([name, seed, "-", "refused", "-"], not good, [] if good else [str(error)])
                    continue
                wanted = expected(original, adapted, inputs)
                exact = expected(original, make_exact(base, adapter, adapted), inputs)
                findings = compare(wanted, got, exact)
                bad = [str(f) for f in findings if f.failed] + ["was not refused"] * bool(case.refused)
                if case.generates:
                    bad += generated(runner, base, adapted, inputs)
                cells = [name, seed, len(wanted), largest(findings, False), largest(findings, True)]
                table.row(cells, bool(bad), bad)
    return table


def inputs_of(case: AdapterCase, original: Original, seed: int) -> Tensors:
    inputs = make_inputs(original.model.config, case.layout, seed)
    return inputs if case.labelled else {name: tensor for name, tensor in inputs.items() if name != "labels"}


def make_exact(base: Path, adapter: Path, adapted: Any) -> Any:
    """PEFT's model of these files in float64."""
    dtype = double_of(json.loads((base / "config.json").read_text())["model_type"])
    if adapted.peft_config["default"].is_prompt_learning:  # PEFT does not load it for further training
        return copy.deepcopy(adapted).to(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peft.PeftModel.from_pretrained(load_model(base, dtype), adapter, is_trainable=True).double().eval()


GOLDEN_CASES = {
    "bert-patterns": 1, "bert-task": 2, "bert-embeddings-tied": 3, "bert-all-linear": 4, "bert-ia3-query": 5, "deberta-dora": 6,
    "gpt2-dora": 7, "gpt2-norms": 8, "t5-dora": 9, "bart-embeddings": 10, "gpt2-head": 11, "bert-prefix": 12, "gpt2-prefix": 13,
    "bart-prefix": 14, "bert-prompt-answers": 15, "roberta-prompt": 16, "gpt2-prompt": 17, "t5-prompt": 18,
    "gpt2-new-words": 19, "bert-words": 20, "t5-words-head": 21, "bart-tables": 22, "gpt2-words": 23, "gte": 24,
}  # fmt: skip


def make_goldens(names: list[str]) -> None:
    """Adapters of the tiny models in tests/data/models, or of their own where those have no such model."""
    for name in names:
        seed, case, folder = GOLDEN_CASES[name], CASES[name], GOLDENS / name
        shutil.rmtree(folder, ignore_errors=True)
        base = folder / "base"
        make_model(case.model, seed, base, SMALL)
        original = Original.load(base)
        inputs = make_inputs(original.model.config, case.layout, seed)
        adapted = make_adapter(case, load_model(base), seed, folder)
        config = json.loads((folder / "adapter_config.json").read_text()) | {"base_model_name_or_path": "base"}
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
        (folder / "README.md").unlink()
        save_file(inputs, folder / "inputs.safetensors")
        save_file(expected(original, adapted, inputs), folder / "expected.safetensors")
        if case.generates:
            start, ids = generate(adapted, inputs)
            save_file({"input_ids": start, "sequences": ids.contiguous()}, folder / "generated.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--case", action="append", choices=CASES, help="only these")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--seeds", type=int, default=2, help="how many")
    parser.add_argument("--goldens", action="store_true")
    options = parser.parse_args()
    if options.goldens:
        make_goldens([name for name in GOLDEN_CASES if name in (options.case or GOLDEN_CASES)])
        return 0
    if options.attend is None:
        parser.error("--attend is needed to check")
    return check(Attend(options.attend.resolve()), options.case or list(CASES), options.seed, options.seeds).status()


if __name__ == "__main__":
    sys.exit(main())
