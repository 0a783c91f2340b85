"""Conversations and preferences against transformers and trl.

    python tests/oracle/training/conversations.py build/release/attend [case ...] [--seed N] [--templates FOLDER]

Masks: which tokens `attend train --objective chat` learns, token by token, against apply_chat_template's
return_assistant_tokens_mask, or against the ids of prefixes if a template has no marks. --templates: also with the
templates of a folder, *.jinja. Steps: one step of plain gradient descent by trl's SFTTrainer and DPOTrainer on the same
data file; at a rate of 1 the weights differ by the gradients. Figures: `attend evaluate` against trl's evaluation.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterable, Sequence

import torch
import transformers
from datasets import Dataset
from datasets.utils.logging import disable_progress_bar
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM, Gemma2Config, GPT2Config, LlamaConfig, MixtralConfig, PreTrainedModel, PreTrainedTokenizerBase,
    Qwen3Config,
)  # fmt: skip
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

sys.path.insert(0, str(Path(__file__).parent.parent))
from check_chat import TEMPLATES  # noqa: E402
from training_data import TOKENIZERS  # noqa: E402

LIMIT = 5e-6
Rows = list[dict[str, Any]]
MARKED = {
    "marked": "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}{% else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "marked-lines": """{%- for m in messages %}
    {{- bos_token if loop.first }}
    {%- if m.role == 'assistant' %}
        {{- '[A] ' }}
        {%- generation -%}
            {{- m.content | trim }}{{ eos_token }}
        {%- endgeneration -%}
    {%- else %}
        {{- '[' + m.role + '] ' + m.content | trim }}
    {%- endif %}
{%- endfor %}""",
}
PLAIN = ("The ferry leaves at nine.", "Zoë's 東京 \U0001f600", "  two spaces  ", "a\n\nb", "'quoted' \"text\"", "<|im_end|>?", "7 x 8 = 56")


def turns(*contents: str, system: bool = False) -> list[dict[str, str]]:
    first = [{"role": "system", "content": "Be brief."}] if system else []
    return first + [{"role": ("user", "assistant")[i % 2], "content": each} for i, each in enumerate(contents)]


def conversations(texts: Sequence[str] = PLAIN) -> Rows:
    rows = [{"messages": turns(texts[i % 7], texts[(i * 3 + 1) % 7], system=i % 2 == 1)} for i in range(7)]
    rows += [{"messages": turns(*[texts[(i * 2 + j) % 7] for j in range(4)])} for i in range(4)]
    return rows + [{"messages": turns(*[texts[j % 7] for j in range(6)], system=True)}]


def write_rows(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def call(program: Path, *arguments: Any) -> str:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"attend {arguments[0]}: {done.stderr.decode()[-700:]}")
    return done.stdout.decode()


def one_step(program: Path, objective: str, model: Path, data: Path, output: Path, *more: Any) -> None:
    call(program, "train", "--objective", objective, "--model", model, "--train", data, "--output", output, "--steps", 1,
         "--batch-size", 1000, "--optimizer", "sgd", "--momentum", 0, "--learning-rate", 1, "--schedule", "constant", "--warmup", 0,
         "--weight-decay", 0, "--max-grad-norm", 0, "--dropout", 0, "--threads", 1, "--save-batches", output.parent / "batches", *more)  # fmt: skip


# Masks.


def by_marks(tokenizer: PreTrainedTokenizerBase, row: dict[str, Any]) -> list[int]:
    made = tokenizer.apply_chat_template(row["messages"], return_assistant_tokens_mask=True, return_dict=True)
    return made["assistant_masks"]


def by_prefixes(tokenizer: PreTrainedTokenizerBase, row: dict[str, Any]) -> list[int] | None:
    """Nothing where what is written does not only grow."""
    messages = row["messages"]
    text = lambda count, **more: tokenizer.apply_chat_template(messages[:count], tokenize=False, **more)  # noqa: E731
    ids = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    whole, mask = text(len(messages)), [0] * len(ids(text(len(messages))))
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        before, through = text(i, add_generation_prompt=True), text(i + 1)
        if not through.startswith(before) or not whole.startswith(through):
            return None
        for k in range(len(ids(before)), len(ids(through))):
            mask[k] = 1
    return mask


def expected_rows(tokenizer: PreTrainedTokenizerBase, rows: Rows) -> list[tuple[list[int], list[int]]]:
    marked = re.search(r"\{%-?\s*generation\s*-?%\}", tokenizer.chat_template)
    found = []
    for row in rows:
        try:
            mask = by_marks(tokenizer, row) if marked else by_prefixes(tokenizer, row)
            ids = tokenizer.apply_chat_template(row["messages"])
        except Exception:  # the template may reject it
            continue
        if mask and any(mask):
            found.append((ids, [token if kept else -100 for token, kept in zip(ids, mask)][1:] + [-100]))
    return sorted(found)


def batch_rows(folder: Path) -> list[tuple[list[int], list[int]]]:
    batch = load_file(folder / "step-1.0.safetensors")
    lengths = batch["attention_mask"].sum(1).tolist()
    return sorted((ids[:n].tolist(), labels[:n].tolist()) for ids, labels, n in zip(batch["input_ids"], batch["labels"], lengths))


def check_masks(program: Path, name: str, template: str, kind: str) -> bool:
    with TemporaryDirectory() as place:
        folder = Path(place)
        tokenizer = TOKENIZERS[kind]()
        tokenizer.chat_template = template
        save_model(folder / "model", GPT2Config(n_embd=8, n_layer=1, n_head=2, n_positions=8192, vocab_size=len(tokenizer)), 1)
        tokenizer.save_pretrained(folder / "model")
        # The original's mask ends at an answer whose first character does not belong to a token, such as a
        # space that t5 drops.
        rows = conversations([text.strip() for text in PLAIN] if kind == "t5" else PLAIN)
        wanted = expected_rows(tokenizer, rows)
        data = write_rows(folder / "talk.jsonl", rows)
        try:
            one_step(program, "chat", folder / "model", data, folder / "out", "--max-length", 8192)
            found, why = batch_rows(folder / "batches"), ""
        except RuntimeError as error:  # more than half of the rows are bad
            found, why = None, str(error)[-300:]
        good = found == wanted or (found is None and 2 * len(wanted) < len(rows))
        differing = next(((a, b) for a, b in zip(found or [], wanted) if a != b), why)
        print(f"{'ok  ' if good else 'FAIL'} mask {name:40} {len(wanted)} of {len(rows)} conversations"
              f"{'' if good else f': {len(found or [])} found, {differing}'}", flush=True)  # fmt: skip
        return good


# Steps.

SIZE = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3, intermediate_size=40)


def make_configs(vocabulary: int) -> dict[str, transformers.PretrainedConfig]:
    more = dict(vocab_size=vocabulary, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    return {
        "llama": LlamaConfig(**SIZE, **more),
        "llama-tied": LlamaConfig(**SIZE, **more, tie_word_embeddings=True),
        "gpt2": GPT2Config(n_embd=24, n_layer=2, n_head=3, n_positions=512, **more, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
        "qwen3": Qwen3Config(**SIZE, **more, head_dim=8),
        "gemma2": Gemma2Config(**SIZE, **more, head_dim=8, query_pre_attn_scalar=8, final_logit_softcapping=5.0),
        "mixtral": MixtralConfig(**SIZE, **more, num_local_experts=3, num_experts_per_tok=2, output_router_logits=True),
    }


def save_model(folder: Path, config: transformers.PretrainedConfig, seed: int) -> PreTrainedModel:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.15)
    model.save_pretrained(folder)
    return model


def load_model(folder: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)


def settings(kind: type, folder: Path, **more: Any) -> Any:
    return kind(output_dir=str(folder / "trl"), per_device_train_batch_size=1000, per_device_eval_batch_size=1000, max_steps=1,
                learning_rate=1.0, lr_scheduler_type="constant", optim="sgd", max_grad_norm=0.0, weight_decay=0.0, bf16=False,
                gradient_checkpointing=False, use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True,
                logging_strategy="no", **more)  # fmt: skip


def preferences(chat: bool) -> Rows:
    rows = []
    for i in range(6):
        prompt, chosen, rejected = PLAIN[i], PLAIN[(i + 1) % 7], PLAIN[(i + 3) % 7]
        if chat:
            asked = turns(prompt) if i % 2 else turns(prompt, "Hm.", prompt)
            answer = lambda text: [{"role": "assistant", "content": text}]  # noqa: E731
            rows.append({"prompt": asked, "chosen": answer(chosen), "rejected": answer(rejected)})
        else:
            rows.append({"prompt": prompt + "\n", "chosen": chosen, "rejected": rejected})
    return rows


@dataclass
class Step:
    family: str
    objective: str = "preferences"
    options: list[Any] = field(default_factory=list)  # of attend
    trl: dict[str, Any] = field(default_factory=dict)  # of DPOConfig
    chat: bool = True
    lora: bool = False
    reference: bool = False


def worst_difference(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> tuple[float, str]:
    common = [name for name in wanted if name in found]
    assert common and len(found) <= len(wanted), (sorted(found)[:5], sorted(wanted)[:5])
    return max((float((found[name] - wanted[name].float()).abs().max()), name) for name in common)


def by_trl(folder: Path, step: Step, rows: Rows, model: Any, tokenizer: PreTrainedTokenizerBase) -> Any:
    data = Dataset.from_list(rows)
    if step.objective == "chat":
        arguments = settings(SFTConfig, folder, assistant_only_loss=True)
        return SFTTrainer(model=model, args=arguments, train_dataset=data, processing_class=tokenizer)
    arguments = settings(DPOConfig, folder, **step.trl)
    reference = load_model(folder / "reference") if step.reference else None
    return DPOTrainer(model=model, ref_model=reference, args=arguments, train_dataset=data, eval_dataset=data,
                      processing_class=tokenizer)  # fmt: skip


def prepare(folder: Path, step: Step, seed: int) -> tuple[Rows, PreTrainedTokenizerBase]:
    tokenizer = TOKENIZERS["gpt2"]()
    tokenizer.chat_template = MARKED["marked"]
    tokenizer.eos_token = tokenizer.eos_token or "</s>"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    config = make_configs(len(tokenizer))[step.family]
    for number, part in enumerate(("model", "reference")):
        save_model(folder / part, config, seed + number)
        tokenizer.save_pretrained(folder / part)
    return (conversations() if step.objective == "chat" else preferences(step.chat)), tokenizer


def add_adapter(folder: Path, seed: int) -> None:
    torch.manual_seed(seed)
    config = LoraConfig(r=3, lora_alpha=6, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(load_model(folder / "model"), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.normal_(0, 0.1)
    model.save_pretrained(folder / "adapter")


def check_step(program: Path, name: str, step: Step, seed: int) -> bool:
    with TemporaryDirectory() as place:
        folder = Path(place)
        rows, tokenizer = prepare(folder, step, seed)
        data = write_rows(folder / "data.jsonl", rows)
        model: Any = load_model(folder / "model")
        options = [*step.options]
        if step.lora:
            add_adapter(folder, seed)
            model = PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True)
            options += ["--adapter", folder / "adapter"]
        if step.reference:
            options += ["--reference", folder / "reference"]
        one_step(program, step.objective, folder / "model", data, folder / "out", *options)
        trainer = by_trl(folder, step, rows, model, tokenizer)
        trainer.train()
        if step.lora:
            trainer.model.save_pretrained(folder / "trained")
            wanted, found = (load_file(each / "adapter_model.safetensors") for each in (folder / "trained", folder / "out"))
            start = load_file(folder / "adapter" / "adapter_model.safetensors")
        else:
            wanted = trainer.model.state_dict()
            found, start = (load_file(each / "model.safetensors") for each in (folder / "out", folder / "model"))
        worst, where = worst_difference(found, wanted)
        moved = max(float((found[key] - start[key]).abs().max()) for key in found)
        good = worst <= LIMIT and moved > 1e-3
        print(f"{'ok  ' if good else 'FAIL'} {name:44} {worst:.1e} of {moved:.1e} {where}", flush=True)
        return good


def check_figures(program: Path, name: str, step: Step, seed: int) -> bool:
    with TemporaryDirectory() as place:
        folder = Path(place)
        rows, tokenizer = prepare(folder, step, seed)
        data = write_rows(folder / "data.jsonl", rows)
        found = json.loads(call(program, "evaluate", "preferences", folder / "model", data, "--reference", folder / "reference",
                                "--json", *step.options))  # fmt: skip
        wanted = by_trl(folder, step, rows, load_model(folder / "model"), tokenizer).evaluate()
        names = ["loss", *[each for each in found if "/" in each]]
        # A reward is a difference of log-probabilities, so it has their precision in float32.
        whole = abs(wanted["eval_logps/chosen"]) * step.trl.get("beta", 0.1)
        size = lambda each: max(1, abs(wanted[f"eval_{each}"]), whole if each.startswith("rewards/") else 0)  # noqa: E731
        errors = {each: abs(found[each] - wanted[f"eval_{each}"]) / size(each) for each in names}
        where = max(errors, key=lambda each: errors[each])
        good = len(names) == 7 and errors[where] <= LIMIT
        print(f"{'ok  ' if good else 'FAIL'} {name:44} {errors[where]:.1e} {where}", flush=True)
        return good


def all_steps() -> dict[str, Step]:
    steps = {f"chat {family}": Step(family, "chat") for family in make_configs(8)}
    steps |= {f"dpo {family}": Step(family, reference=True) for family in make_configs(8) if family != "mixtral"}
    ways: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "beta": (["--beta", 0.7], {"beta": 0.7}),
        "robust": (["--loss-type", "robust", "--label-smoothing", 0.2], {"loss_type": ["robust"], "label_smoothing": 0.2}),
        "hinge": (["--loss-type", "hinge"], {"loss_type": ["hinge"]}),
        "ipo": (["--loss-type", "ipo"], {"loss_type": ["ipo"]}),
    }
    steps |= {f"dpo {way}": Step("llama", options=ours, trl=theirs, reference=True) for way, (ours, theirs) in ways.items()}
    steps |= {
        "dpo texts": Step("llama", chat=False, reference=True),
        "dpo from the start": Step("llama"),
        "dpo adapter": Step("llama", lora=True),
        "dpo adapter, reference": Step("gpt2", lora=True, reference=True),
        "chat adapter": Step("llama", "chat", lora=True),
    }
    return steps


def run_all(checks: Iterable[tuple[str, Callable[[], bool]]], chosen: list[str]) -> int:
    results = []
    for name, check in checks:
        if chosen and not any(each in name for each in chosen):
            continue
        try:
            results.append(check())
        except (RuntimeError, AssertionError, OSError, ValueError) as error:
            print(f"FAIL {name}: {type(error).__name__}: {error}"[:900], flush=True)
            results.append(False)
    print(f"{sum(results)} of {len(results)}")
    return 0 if results and all(results) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: Path(path).resolve(), help="attend")
    parser.add_argument("chosen", nargs="*", help="only the cases that have one of these in their names")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--templates", type=Path, help="a folder of *.jinja")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    disable_progress_bar()
    torch.set_num_threads(1)
    templates = TEMPLATES | MARKED
    if options.templates:
        templates |= {each.stem: each.read_text() for each in sorted(options.templates.glob("*.jinja"))}
    checks: list[tuple[str, Callable[[], bool]]] = []
    for name, text in templates.items():
        checks.append((f"mask {name}", lambda name=name, text=text: check_masks(options.program, name, text, "gpt2")))
    for name, text in MARKED.items():
        checks.append((f"mask {name} t5", lambda name=name, text=text: check_masks(options.program, f"{name} t5", text, "t5")))
    for name, step in all_steps().items():
        checks.append((f"step {name}", lambda name=name, step=step: check_step(options.program, f"step {name}", step, options.seed)))
        if step.objective == "preferences" and step.reference and not step.lora and "--label-smoothing" not in step.options:
            checks.append((f"figures {name}", lambda name=name, step=step: check_figures(options.program, f"figures {name}", step, options.seed)))
    return run_all(checks, options.chosen)


if __name__ == "__main__":
    sys.exit(main())
