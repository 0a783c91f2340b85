"""attend evaluate perplexity against transformers: the log-probability of every token of given texts.

    python check_scoring.py --attend build/release/attend
    python check_scoring.py --attend build/release/attend --model GPTJForCausalLM --seeds 5

Tiny random models with a real tokenizer. Decoders read windows as in transformers' guide on perplexity (XLNet with a
perm_mask in the order of the text), encoder-decoders a target given its source, encoders mask token after token.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from transformers import PreTrainedTokenizerFast

from common import Attend, AttendFailed, Table
from originals import head_class

TOKENIZER = Path(__file__).parents[1] / "data/tokenizers/roberta/tokenizer.json"
LIMIT = 2e-5  # of a log-probability and of their sum, relative to the largest
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>",
           "pad_token": "<pad>", "mask_token": "<mask>"}  # fmt: skip
WORDS = "the lamp on a table Zoë's house 東京 42 ! ? , unbelievably well-behaved dogs bark … naïve \U0001f600 in Bath".split()

PAIR = {"d_model": 36, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3, "init_std": 0.3,
        "decoder_attention_heads": 3, "encoder_ffn_dim": 50, "decoder_ffn_dim": 50, "max_position_embeddings": 90}  # fmt: skip
BERT = {"hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 50,
        "max_position_embeddings": 90, "initializer_range": 0.3}  # fmt: skip
GPT = {"n_embd": 36, "n_layer": 2, "n_head": 3, "n_positions": 70, "initializer_range": 0.3}
MODELS: dict[str, dict[str, Any]] = {
    "GPT2LMHeadModel": GPT,
    "GPTJForCausalLM": {**GPT, "rotary_dim": 6},
    "CTRLLMHeadModel": {**GPT, "dff": 50},
    "RobertaForCausalLM": {**BERT, "is_decoder": True},
    "TransfoXLLMHeadModel": {"d_model": 36, "d_embed": 36, "n_head": 3, "d_head": 12, "d_inner": 50, "n_layer": 2,
                             "cutoffs": [50, 200], "div_val": 2, "mem_len": 20, "init_std": 0.3},
    "XLNetLMHeadModel": {"d_model": 36, "n_layer": 2, "n_head": 3, "d_inner": 50, "initializer_range": 0.3},
    "MarianMTModel": PAIR,
    "BartForConditionalGeneration": PAIR,
    "T5ForConditionalGeneration": {"d_model": 36, "d_kv": 12, "d_ff": 50, "num_layers": 2, "num_heads": 3},
    "BertForMaskedLM": BERT,
    "RobertaForMaskedLM": BERT,
    "AlbertForMaskedLM": {**BERT, "embedding_size": 20},
}  # fmt: skip
Scores = list[tuple[int, float]]  # token ids and their log-probabilities


def make_directory(name: str, seed: int, directory: Path) -> tuple[Any, PreTrainedTokenizerFast]:
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER), model_input_names=["input_ids", "attention_mask"],
                                        **SPECIAL)  # fmt: skip
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "bos", "eos")}
    architecture = head_class(name)
    sizes = dict(MODELS[name])
    if name in ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration"):
        ids |= {"decoder_start_token_id": ids["pad_token_id"], "forced_eos_token_id": None}
    torch.manual_seed(seed)
    model = architecture(architecture.config_class(vocab_size=len(tokenizer), **sizes, **ids)).eval()
    with torch.no_grad():
        for parameter_name, weight in model.named_parameters():
            if parameter_name.endswith("bias"):
                weight.normal_(0, 0.1)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return model, tokenizer


def chosen(scores: torch.Tensor, labels: torch.Tensor) -> Scores:
    """What scores [n, V], each of the label in its row, say."""
    found = scores.log_softmax(-1).gather(1, labels[:, None])[:, 0]
    return list(zip(labels.tolist(), found.tolist(), strict=True))


def score_windows(model: Any, ids: torch.Tensor, length: int, stride: int) -> Scores:
    result: Scores = []
    known = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        first = max(known, begin + 1)
        window, place = ids[begin:end], first - begin
        if end > first:
            if model.config.model_type == "xlnet":
                size = len(window)
                hidden = torch.ones(1, size, size).triu()
                scores = model(window[None], perm_mask=hidden, target_mapping=torch.eye(size)[None, place:]).logits[0]
            elif model.config.model_type == "transfo-xl":
                scores = model(window[None]).prediction_scores[0, place - 1 : -1]
            else:
                scores = model(window[None]).logits[0, place - 1 : -1]
            result += chosen(scores, window[place:])
        known = end
        if end == len(ids):
            return result
    return result


def score_masked(model: Any, ids: torch.Tensor, tokenizer: PreTrainedTokenizerFast) -> Scores:
    result: Scores = []
    for place in range(len(ids)):
        if ids[place].item() in tokenizer.all_special_ids:
            continue
        masked = ids.clone()
        masked[place] = tokenizer.mask_token_id
        result += chosen(model(masked[None]).logits[0, place : place + 1], ids[place : place + 1])
    return result


def texts_of(pick: random.Random, count: int, longest: int) -> list[str]:
    return [" ".join(pick.choices(WORDS, k=pick.randint(1, longest))) for _ in range(count)]


def check(attend: Attend, name: str, seed: int) -> tuple[str, float, list[str]]:
    """The options, the largest error, and what is wrong."""
    pick = random.Random(f"{name} {seed}")
    with TemporaryDirectory() as folder, torch.no_grad():
        directory = Path(folder) / "model"
        model, tokenizer = make_directory(name, seed, directory)
        files = [Path(folder) / "a.txt", Path(folder) / "b.txt"]
        options = ["--batch-tokens", str(pick.choice([1, 60, 4096]))]
        encode = lambda text: tokenizer(text, return_tensors="pt").input_ids[0]  # noqa: E731
        if model.config.is_encoder_decoder:
            sources, texts = texts_of(pick, 7, 6), texts_of(pick, 7, 6)
            files[0].write_text("\n".join(sources) + "\n")
            files[1].write_text("\n".join(texts) + "\n")
            wanted = []
            for source, target in zip(sources, texts, strict=True):
                labels = encode(target)
                wanted.append(chosen(model(encode(source)[None], labels=labels[None]).logits[0], labels))
        elif "MaskedLM" in name:
            texts = [*texts_of(pick, 4, 8), "", "dogs"]
            files[0].write_text("\n".join(texts[:3]) + "\n")
            files[1].write_text("\n".join(texts[3:]) + "\n")
            wanted = [score_masked(model, encode(text), tokenizer) for text in texts]
        else:
            length = pick.choice([2, 7, 31, 64])
            stride = pick.choice([1, length, (length + 1) // 2, max(1, length - 1)])
            options += ["--length", str(length), "--stride", str(stride)]
            texts = texts_of(pick, 2, 40)
            for file, text in zip(files, texts, strict=True):
                file.write_text(text)
            if pick.random() < 0.5:
                options.append("--lines")
            wanted = [score_windows(model, encode(text), length, stride) for text in texts]
        shown = " ".join(options)
        try:
            lines = attend.run("evaluate", "perplexity", directory, *files, "--tokens", *options).splitlines()
            summary = json.loads(attend.run("evaluate", "perplexity", directory, *files, "--json", *options))
        except AttendFailed as error:
            return shown, math.inf, [str(error)]
    got = [json.loads(line) for line in lines]
    if [each["text"] for each in got] != texts:
        return shown, math.inf, [f"other texts: {[each['text'] for each in got]}"]
    largest = max(abs(score) for text in wanted for _, score in text)
    total = sum(score for text in wanted for _, score in text)
    count = sum(len(text) for text in wanted)
    errors = [abs(summary["log_probability"] - total) / abs(total)]
    findings = []
    if summary["tokens"] != count or abs(math.log(summary["perplexity"]) - summary["loss"]) > 1e-6:
        findings.append(f"{summary} for {count} tokens")
    for i, (text, original) in enumerate(zip(got, wanted, strict=True)):
        if text["ids"] != [id for id, _ in original] or text["tokens"] != tokenizer.convert_ids_to_tokens(text["ids"]):
            findings.append(f"text {i}: tokens {text['ids']} for {[id for id, _ in original]}")
            continue
        pairs = zip(text["log_probabilities"], original, strict=True)
        errors += [abs(ours - score) / largest for ours, (_, score) in pairs]
        errors.append(abs(text["log_probability"] - sum(score for _, score in original)) / max(1, abs(total)))
    return shown, max(errors), findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--model", choices=list(MODELS), help="only this one")
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    table = Table([("model", 30), ("seed", 4), ("error", 8), ("options", 50)])
    for name in MODELS:
        for seed in range(options.seeds):
            if options.model in (None, name):
                shown, error, findings = check(Attend(options.attend.resolve()), name, seed)
                table.row([name, seed, f"{error:.1e}", shown], bool(findings) or not error <= LIMIT, findings[:5])
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
