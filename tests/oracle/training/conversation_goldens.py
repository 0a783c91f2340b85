"""Remakes tests/data/conversations/: a tiny model, its reference, and what trl makes of conversations and preferences.

    python tests/oracle/training/conversation_goldens.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast

from conversations import Step, by_trl, load_model, save_model, turns, write_rows


def small_tokenizer() -> PreTrainedTokenizerFast:
    words = ["<unk>", "<s>", "</s>", *"user assistant : who is it what that the a cat dog old new here there yes no not".split()]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>")


def gradient_norm(model: PreTrainedModel, start: dict[str, torch.Tensor]) -> float:
    return float(torch.sqrt(sum(((p.detach() - start[name]).double() ** 2).sum() for name, p in model.named_parameters())))


def make_goldens(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = small_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role + ' : ' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content + ' </s>' }}"
        "{% endgeneration %}{{ ' ' }}{% else %}{{ m.content + ' </s> ' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant : ' }}{% endif %}")
    config = LlamaConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, intermediate_size=12,
                         vocab_size=len(tokenizer), bos_token_id=1, eos_token_id=2, pad_token_id=2, tie_word_embeddings=True)  # fmt: skip
    for number, part in enumerate(("model", "reference")):
        save_model(folder / part, config, 3 + number)
        (folder / part / "generation_config.json").unlink()
        tokenizer.save_pretrained(folder / part)
        (folder / part / "special_tokens_map.json").unlink(missing_ok=True)
    talk = [{"messages": turns("who is it", "the old cat", "what is that", "a dog")}, {"messages": turns("is it here", "no")}]
    better = [{"prompt": turns("who is it"), "chosen": turns("", "the cat")[1:], "rejected": turns("", "that is not new")[1:]},
              {"prompt": turns("is it old"), "chosen": turns("", "yes it is")[1:], "rejected": turns("", "no")[1:]}]  # fmt: skip
    write_rows(folder / "talk.jsonl", talk)
    write_rows(folder / "better.jsonl", better)
    start = load_file(folder / "model" / "model.safetensors")
    results: dict[str, Any] = {}
    with TemporaryDirectory() as place:
        work = Path(place)
        for part in ("model", "reference"):
            (work / part).symlink_to(folder.resolve() / part)
        steps = {"chat": Step("", "chat")} | {
            kind: Step("", trl={"loss_type": [kind], "beta": 0.3, "label_smoothing": 0.2 if kind == "robust" else 0.0}, reference=True)
            for kind in ("sigmoid", "robust", "hinge", "ipo")}  # fmt: skip
        for name, step in steps.items():
            rows = talk if step.objective == "chat" else better
            trainer = by_trl(work, step, rows, load_model(folder / "model"), tokenizer)
            made = {} if step.objective == "chat" else trainer.evaluate()
            results[name] = {key.removeprefix("eval_"): value for key, value in made.items() if "/" in key and "logits" not in key}
            loss = trainer.train().training_loss
            results[name] |= {"loss": loss, "gradient_norm": gradient_norm(trainer.model, start)}
    masks = [tokenizer.apply_chat_template(row["messages"], return_assistant_tokens_mask=True, return_dict=True) for row in talk]
    results["tokens"] = [{"ids": each["input_ids"], "learned": each["assistant_masks"]} for each in masks]
    (folder / "goldens.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    make_goldens(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "data" / "conversations")
