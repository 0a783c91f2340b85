"""attend forward and generate with --adapter against PEFT.

    python check_adapters.py --attend build/release/attend
    python check_adapters.py --self-test

What PEFT's model computes, unmerged, in float32.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import peft
import torch
from torch import nn

from common import Attend, AttendFailed, Table, Tensors, compare
from forward import Original, make_inputs
from models import load_model, make_model

COLUMNS = [("case", 22), ("seed", 4), ("tensors", 7), ("value", 8)]


@dataclass(frozen=True)
class AdapterCase:
    """A case of models.py and the fields of the LoraConfig."""

    model: str
    settings: dict[str, Any]
    generates: bool = False
    refused: str = field(default="")  # a part of the message, where attend has to refuse


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
    "bert-model-embeddings": AdapterCase("bert-model", {"target_modules": ["word_embeddings", "dense"]}),
    "gpt2": AdapterCase("gpt2", {"target_modules": ["c_attn", "c_proj"], "bias": "lora_only"}, generates=True),
    "gpt2-classifier": AdapterCase(
        "gpt2-sequence-classification", {"target_modules": ["c_fc", "wte"], "modules_to_save": ["score"], "r": 2}
    ),
    "marian": AdapterCase("marian", {"target_modules": ["q_proj", "v_proj", "fc1"], "r": 3}),
    "bart": AdapterCase("bart", {"target_modules": ["out_proj", "k_proj", "fc2"], "lora_alpha": 16}),
    "gptj": AdapterCase("gptj", {"target_modules": ["q_proj", "fc_in"]}, generates=True),
    "refused-dora": AdapterCase("bert-masked-lm", {"target_modules": ["query"], "use_dora": True}, refused="use_dora"),
    "refused-tied": AdapterCase("gpt2", {"target_modules": ["wte"]}, refused="in other places too"),
    "refused-lora-bias": AdapterCase(
        "bert-masked-lm", {"target_modules": ["query"], "lora_bias": True}, refused="lora_bias"
    ),
}


def make_adapter(case: AdapterCase, model: Any, seed: int, directory: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapted = peft.get_peft_model(model, peft.LoraConfig(**case.settings))
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in adapted.named_parameters():  # B is zero at first, and trained biases as they were
            if "lora_" in name or parameter.requires_grad:
                nn.init.normal_(parameter, std=0.3, generator=generator)
        adapted.save_pretrained(directory)
    return adapted.eval()


class WithAdapter:
    """attend with the option."""

    def __init__(self, attend: Attend, adapter: Path) -> None:
        self.attend, self.adapter = attend, adapter

    def forward(self, model: Path, inputs: Tensors) -> Tensors:
        flags = ["--hidden-states", "--attentions", "--adapter", str(self.adapter)]
        return self.attend._with_files("forward", model, inputs, flags)

    def generate(self, model: Path, inputs: Tensors) -> Tensors:
        flags = ["--adapter", str(self.adapter), "--max-new-tokens", "8"]
        return self.attend._with_files("generate", model, inputs, flags)


def check(attend: Attend, seeds: int) -> Table:
    table = Table(COLUMNS)
    for name, case in CASES.items():
        for seed in range(seeds):
            with TemporaryDirectory() as folder:
                base, adapter = Path(folder) / "base", Path(folder) / "adapter"
                make_model(case.model, seed, base)
                original = Original.load(base)
                inputs = {n: t for n, t in make_inputs(original.model.config, "right", seed).items()}
                adapted = make_adapter(case, load_model(base), seed, adapter)
                runner = WithAdapter(attend, adapter)
                try:
                    got = runner.forward(base, inputs)
                except AttendFailed as error:
                    good = bool(case.refused) and case.refused in str(error)
                    table.row([name, seed, "-", "refused"], not good, [] if good else [str(error)])
                    continue
                adapted.config.use_cache = False
                wanted = dataclasses.replace(original, model=adapted).run(inputs)
                findings = compare(wanted, got)
                bad = [str(f) for f in findings if f.failed] + ["was not refused"] * bool(case.refused)
                if case.generates:
                    start = inputs["input_ids"][:1, :3].contiguous()
                    ids = adapted.generate(input_ids=start, max_new_tokens=8, do_sample=False, pad_token_id=0)
                    made = runner.generate(base, {"input_ids": start})["sequences"]
                    bad += ["other ids"] * (made.tolist() != ids.tolist())
                table.row([name, seed, len(wanted), f"{max(f.error for f in findings):.1e}"], bool(bad), bad)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    return check(Attend(options.attend.resolve()), options.seeds).status()


if __name__ == "__main__":
    sys.exit(main())
