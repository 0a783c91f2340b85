"""Ten steps of each pretraining objective against PyTorch and transformers.

Tiny models are made with transformers, `attend train --save-batches` trains them without dropout, and the same
steps are made here from the saved batches with transformers' models and torch's AdamW. All weights must agree.

    python tests/oracle/training/pretraining.py build/release/attend [objective or family ...]
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable

import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import (
    AlbertConfig, AlbertForMaskedLM, AlbertForPreTraining, BertConfig, BertForMaskedLM, BertForPreTraining,
    BigBirdConfig, BigBirdForMaskedLM, BigBirdForPreTraining, DebertaConfig, DebertaForMaskedLM, DebertaV2Config,
    DebertaV2ForMaskedLM, DistilBertConfig, DistilBertForMaskedLM, ElectraConfig, ElectraForMaskedLM,
    ElectraForPreTraining, PreTrainedModel, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM, XLMConfig,
    XLMRobertaConfig, XLMRobertaForMaskedLM, XLMWithLMHeadModel,
)

LIMIT = 5e-6
STEPS, RATE, DECAY, SEED, DISCRIMINATOR_WEIGHT = 10, 1e-3, 0.01, 7, 50
Tensors = dict[str, torch.Tensor]
MASK64 = (1 << 64) - 1

WORDS = [a + b for a in ("ba", "de", "ki", "lo", "mu", "na", "po", "ru", "si", "ta") for b in ("m", "n", "r", "s")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = SPECIAL + WORDS


def write_texts(folder: Path) -> None:
    """Documents of sentences, and pairs of lines."""
    draw = random.Random(1)
    sentence = lambda: " ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 9)))
    documents = ["\n".join(sentence() for _ in range(draw.randint(1, 9))) for _ in range(60)]
    (folder / "documents.txt").write_text("\n\n".join(documents) + "\n")
    for ending in ("en", "de"):
        (folder / f"pairs.{ending}").write_text("\n".join(sentence() for _ in range(120)) + "\n")


def save_tokenizer(folder: Path, with_types: bool) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    second = "$B:1 [SEP]:1" if with_types else "$B [SEP]"
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=f"[CLS] $A [SEP] {second}", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if with_types else ["input_ids", "attention_mask"]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
                            sep_token="[SEP]", mask_token="[MASK]", model_input_names=inputs).save_pretrained(folder)


SMALL = dict(vocab_size=len(VOCABULARY), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
             intermediate_size=40, max_position_embeddings=66, pad_token_id=0)
ALBERT = dict(SMALL, embedding_size=16)
ELECTRA = dict(SMALL, embedding_size=16)
XLM = dict(vocab_size=len(VOCABULARY), emb_dim=24, n_layers=2, n_heads=3, max_position_embeddings=64, pad_index=0,
           bos_index=2, eos_index=3, unk_index=1, mask_index=4, n_langs=2, lang2id={"en": 0, "de": 1},
           id2lang={"0": "en", "1": "de"}, use_lang_emb=True, pad_token_id=0, bos_token_id=2, mask_token_id=4)
# The families that learn hidden tokens, each with a fresh model.
MASKED: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": lambda: BertForMaskedLM(BertConfig(**SMALL)),
    "albert": lambda: AlbertForMaskedLM(AlbertConfig(**ALBERT)),
    "roberta": lambda: RobertaForMaskedLM(RobertaConfig(**SMALL, type_vocab_size=1)),
    "xlm-roberta": lambda: XLMRobertaForMaskedLM(XLMRobertaConfig(**SMALL, type_vocab_size=1)),
    "distilbert": lambda: DistilBertForMaskedLM(DistilBertConfig(
        vocab_size=len(VOCABULARY), dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=64)),
    "deberta": lambda: DebertaForMaskedLM(DebertaConfig(
        **SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"], position_biased_input=False)),
    "deberta-v2": lambda: DebertaV2ForMaskedLM(DebertaV2Config(
        **SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, norm_rel_ebd="layer_norm",
        share_att_key=True, position_biased_input=False)),
    "electra": lambda: ElectraForMaskedLM(ElectraConfig(**ELECTRA)),
    "big_bird": lambda: BigBirdForMaskedLM(BigBirdConfig(**SMALL, attention_type="original_full")),
    "xlm": lambda: XLMWithLMHeadModel(XLMConfig(**XLM)),
}


def mean_over(sums: list[tuple[torch.Tensor, int]]) -> torch.Tensor:
    """A term of a loss over the batches of a step."""
    return sum(each for each, _ in sums) / sum(count for _, count in sums)


def words_loss(logits: torch.Tensor, batch: Tensors) -> tuple[torch.Tensor, int]:
    labels = batch["labels"]
    return (cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum"), int((labels != -100).sum()))


def inputs_of(batch: Tensors) -> Tensors:
    return {k: v for k, v in batch.items() if k not in ("labels", "text_labels")}


def masked_loss(nets: dict[str, PreTrainedModel], batches: list[Tensors], step: int) -> torch.Tensor:
    net = nets[""]
    return mean_over([words_loss(net(**inputs_of(b)).logits, b) for b in batches])


def pair_loss(nets: dict[str, PreTrainedModel], batches: list[Tensors], step: int) -> torch.Tensor:
    words, pairs = [], []
    for batch in batches:
        out = nets[""](**inputs_of(batch))
        words.append(words_loss(out.prediction_logits, batch))
        scores = out.sop_logits if "sop_logits" in out else out.seq_relationship_logits
        pairs.append((cross_entropy(scores, batch["text_labels"], reduction="sum"), len(scores)))
    return mean_over(words) + mean_over(pairs)


def mix(x: int) -> int:  # base/random.h
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK64
    return x ^ (x >> 31)


def uniform(seed: int, place: int) -> float:
    state = mix(mix(seed) ^ place)
    return (mix((state + 0x9E3779B97F4A7C15) & MASK64) >> 11) * 2.0**-53


def draw(probabilities: torch.Tensor, seed: int) -> torch.Tensor:
    """As draw_tokens in objectives/replaced_tokens.cpp."""
    sums = probabilities.double().cumsum(1)
    places = [uniform(seed, row) * float(sums[row, -1]) for row in range(len(sums))]
    return torch.tensor([int((sums[row] <= place).sum()) for row, place in enumerate(places)], dtype=torch.long)


def replaced_loss(nets: dict[str, PreTrainedModel], batches: list[Tensors], step: int) -> torch.Tensor:
    words, replaced = [], []
    for n, batch in enumerate(batches):
        logits = nets["generator"](**inputs_of(batch)).logits
        words.append(words_loss(logits, batch))
        hidden = batch["labels"] != -100
        # Pass::next_seed of the step: without dropout only this draws.
        seed = SEED * 0x9E3779B97F4A7C15 + step * 0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15 * (n + 1)
        drawn = draw(logits.detach()[hidden].softmax(1), seed & MASK64)
        ids, labels = batch["input_ids"].clone(), torch.zeros(batch["input_ids"].shape)
        ids[hidden] = drawn
        labels[hidden] = (drawn != batch["labels"][hidden]).float()
        scores = nets[""](**{**inputs_of(batch), "input_ids": ids}).logits
        real = batch["attention_mask"].bool()
        replaced.append((binary_cross_entropy_with_logits(scores[real], labels[real], reduction="sum"),
                         int(real.sum())))
    return mean_over(words) + DISCRIMINATOR_WEIGHT * mean_over(replaced)


def zero_rows(nets: dict[str, PreTrainedModel]) -> list[torch.nn.Parameter]:
    """Token vectors whose padding is zero, which stays so in attend (objectives/trainee.h)."""
    tables = [net.get_input_embeddings() for net in nets.values()]
    return [t.weight for t in tables if t.padding_idx == 0 and not t.weight[0].any()]


def train(nets: dict[str, PreTrainedModel], loss_of: Callable, folder: Path, clip: float) -> None:
    parameters = list({id(p): p for net in nets.values() for p in net.parameters() if p.requires_grad}.values())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), eps=1e-6)
    constant = zero_rows(nets)
    for net in nets.values():
        net.train()
    for step in range(STEPS):
        files = sorted(folder.glob(f"step-{step + 1}.*.safetensors"), key=lambda f: int(f.name.split(".")[1]))
        assert files, f"no batches of step {step + 1} in {folder}"
        optimizer.zero_grad()
        loss_of(nets, [load_file(f) for f in files], step).backward()
        for table in constant:
            table.grad[0] = 0
        if clip > 0:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()


def without_dropout(net: PreTrainedModel) -> PreTrainedModel:
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout) or type(module).__name__ == "StableDropout":
            module.p = module.drop_prob = 0.0
        for name in ("dropout", "dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return net


def share(nets: dict[str, PreTrainedModel]) -> None:
    """Section 3.2 of the paper: embeddings of tokens and positions, and here of token types."""
    if "generator" not in nets:
        return
    ours, theirs = nets[""].electra.embeddings, nets["generator"].electra.embeddings
    for name in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
        if getattr(theirs, name).weight.shape == getattr(ours, name).weight.shape:
            getattr(theirs, name).weight = getattr(ours, name).weight
    nets["generator"].tie_weights()


def differences(nets: dict[str, PreTrainedModel], result: Path) -> tuple[float, str]:
    worst = (0.0, "")
    for name, net in nets.items():
        found = load_file(result / name / "model.safetensors")
        same: dict[int, list[str]] = {}  # the names of each tensor, of which a file has one at least
        for key, value in net.state_dict().items():
            same.setdefault(value.data_ptr(), []).append(key)
        for value in net.parameters():
            keys = [key for key in same[value.data_ptr()] if key in found]
            assert keys, f"{same[value.data_ptr()]} is not in {result / name}"
            worst = max(worst, (float((found[keys[0]] - value).abs().max()), f"{name} {keys[0]}".strip()))
        type(net).from_pretrained(result / name)  # loads as a whole
    return worst


def check(program: Path, label: str, objective: str, nets: dict[str, PreTrainedModel], loss_of: Callable,
          files: list[str], extra: list[str] = [], with_types: bool = True) -> bool:
    good = True
    for clip in (0.0, 0.25):
        with TemporaryDirectory() as name:
            folder = Path(name)
            write_texts(folder)
            for part, net in nets.items():
                net.save_pretrained(folder / f"model{part}")
            save_tokenizer(folder / "model", with_types)
            fresh = {part: without_dropout(type(net).from_pretrained(folder / f"model{part}"))
                     for part, net in nets.items()}
            share(fresh)
            call = [program, "train", "--objective", objective, "--model", folder / "model",
                    "--train", *[folder / f for f in files], "--output", folder / "out", "--steps", STEPS,
                    "--schedule", "constant", "--warmup", 0, "--rate", RATE, "--weight-decay", DECAY, "--beta2", 0.98,
                    "--epsilon", 1e-6, "--clip", clip, "--dropout", 0, "--attention-dropout", 0,
                    "--activation-dropout", 0, "--batch-tokens", 250, "--accumulate", 2, "--max-length", 40,
                    "--seed", SEED, "--save-batches", folder / "batches", *extra]
            if "generator" in nets:
                call += ["--generator", folder / "modelgenerator"]
            done = subprocess.run(list(map(str, call)), capture_output=True, timeout=300)
            if done.returncode != 0:
                print(f"FAIL {label}: {done.stderr.decode()[-600:]}")
                return False
            train(fresh, loss_of, folder / "batches", clip)
            worst, where = differences(fresh, folder / "out")
            good = good and worst <= LIMIT
            print(f"{'ok  ' if worst <= LIMIT else 'FAIL'} {label:30} clip {clip:<5} {worst:.1e} {where}", flush=True)
    return good


def main() -> int:
    program, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    plain, languages = ["documents.txt"], ["pairs.en", "pairs.de"]
    checks = {
        "next-sentence bert": lambda l: check(program, l, "next-sentence", {"": BertForPreTraining(BertConfig(**SMALL))},
                                              pair_loss, plain),
        "next-sentence big_bird": lambda l: check(
            program, l, "next-sentence",
            {"": BigBirdForPreTraining(BigBirdConfig(**SMALL, attention_type="original_full"))}, pair_loss, plain),
        "sentence-order albert": lambda l: check(
            program, l, "sentence-order", {"": AlbertForPreTraining(AlbertConfig(**ALBERT, classifier_dropout_prob=0))},
            pair_loss, plain),
        "replaced-tokens electra": lambda l: check(
            program, l, "replaced-tokens",
            {"": ElectraForPreTraining(ElectraConfig(**ELECTRA)),
             "generator": ElectraForMaskedLM(ElectraConfig(**dict(ELECTRA, hidden_size=12, intermediate_size=20)))},
            replaced_loss, plain),
        "replaced-tokens apart": lambda l: check(
            program, l, "replaced-tokens",
            {"": ElectraForPreTraining(ElectraConfig(**ELECTRA)),
             "generator": ElectraForMaskedLM(ElectraConfig(**dict(ELECTRA, embedding_size=12)))}, replaced_loss, plain),
        "translation-lm xlm": lambda l: check(program, l, "translation-lm", {"": MASKED["xlm"]()}, masked_loss,
                                              languages, with_types=False),
        "translation-lm bert": lambda l: check(program, l, "translation-lm", {"": MASKED["bert"]()}, masked_loss,
                                               languages),
        "translation-lm xlm-roberta": lambda l: check(
            program, l, "translation-lm", {"": MASKED["xlm-roberta"]()}, masked_loss, languages, with_types=False),
    }
    for family, make in MASKED.items():
        checks[f"masked-lm {family}"] = lambda l, family=family, make=make: check(
            program, l, "masked-lm", {"": make()}, masked_loss, languages if family == "xlm" else plain,
            ["--whole-words"] if family == "bert" else ["--ngram", "2"] if family == "albert" else [],
            with_types=family not in ("roberta", "xlm-roberta", "distilbert", "xlm"))
    results = [run(label) for label, run in checks.items() if not chosen or any(c in label for c in chosen)]
    print(f"{sum(results)} of {len(results)}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
