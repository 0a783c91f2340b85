"""Ten steps of each pretraining objective against PyTorch and transformers.

Tiny models are made with transformers, `attend train --save-batches` trains them without dropout, and the same
steps are made here from the saved batches with transformers' models and torch's AdamW. All weights must agree.

    python tests/oracle/training/pretraining.py build/release/attend [objective or family ...] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterable, Sequence

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
STEPS, RATE, DECAY, DISCRIMINATOR_WEIGHT = 10, 1e-3, 0.01, 50
Tensors = dict[str, torch.Tensor]
Nets = dict[str, PreTrainedModel]
LossOf = Callable[[Nets, list[Tensors], int], torch.Tensor]  # of the batches of a step and its seed (training/trainer.cpp)
Factor = Callable[[int], float]  # of the rate in a step, numbered from 0
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
# The families with masked language modelling, each with a new model.
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


def words_loss(logits: torch.Tensor, batch: Tensors, smoothing: float = 0.0) -> tuple[torch.Tensor, int]:
    labels = batch["labels"]
    total = cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum", label_smoothing=smoothing)
    return total, int((labels != -100).sum())


def inputs_of(batch: Tensors) -> Tensors:
    return {k: v for k, v in batch.items() if k not in ("labels", "text_labels")}


def token_loss(nets: Nets, batches: list[Tensors], seed: int, smoothing: float = 0.0) -> torch.Tensor:
    net = nets[""]
    return mean_over([words_loss(net(**inputs_of(b)).logits, b, smoothing) for b in batches])


def pair_loss(nets: Nets, batches: list[Tensors], seed: int) -> torch.Tensor:
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


def replaced_loss(nets: Nets, batches: list[Tensors], seed: int) -> torch.Tensor:
    words, replaced = [], []
    for n, batch in enumerate(batches):
        logits = nets["generator"](**inputs_of(batch)).logits
        words.append(words_loss(logits, batch))
        hidden = batch["labels"] != -100
        # Pass::next_seed of the step: without dropout only this draws random numbers.
        drawn = draw(logits.detach()[hidden].softmax(1), seed + 0x9E3779B97F4A7C15 * (n + 1) & MASK64)
        ids, labels = batch["input_ids"].clone(), torch.zeros(batch["input_ids"].shape)
        ids[hidden] = drawn
        labels[hidden] = (drawn != batch["labels"][hidden]).float()
        scores = nets[""](**{**inputs_of(batch), "input_ids": ids}).logits
        real = batch["attention_mask"].bool()
        replaced.append((binary_cross_entropy_with_logits(scores[real], labels[real], reduction="sum"),
                         int(real.sum())))
    return mean_over(words) + DISCRIMINATOR_WEIGHT * mean_over(replaced)


def zero_rows(nets: Nets) -> list[torch.nn.Parameter]:
    """Token vectors whose padding is zero, which stays so in attend (objectives/base/trainee.h)."""
    tables = [net.get_input_embeddings() for net in nets.values()]
    return [t.weight for t in tables if getattr(t, "padding_idx", None) == 0 and not t.weight[0].any()]


def train(nets: Nets, loss_of: LossOf, folder: Path, seed: int, clip: float, steps: int = STEPS,
          factor: Factor = lambda step: 1.0) -> list[float]:
    """Gives the loss of each step."""
    named = {id(p): (name, p) for net in nets.values() for name, p in net.named_parameters() if p.requires_grad}.values()
    parameters = [p for _, p in named]
    decayed = [p for name, p in named if p.dim() > 1 and not name.endswith("bias")]  # some biases are matrices
    others = [p for p in parameters if all(p is not each for each in decayed)]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), eps=1e-6)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    constant, losses = zero_rows(nets), []
    for net in nets.values():
        net.train()
    for step in range(steps):
        files = sorted(folder.glob(f"step-{step + 1}.*.safetensors"), key=lambda f: int(f.name.split(".")[1]))
        assert files, f"no batches of step {step + 1} in {folder}"
        optimizer.zero_grad()
        loss = loss_of(nets, [load_file(f) for f in files], seed * 0x9E3779B97F4A7C15 + step * 0xD1B54A32D192ED03)
        loss.backward()
        for table in constant:
            table.grad[0] = 0
        if clip > 0:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def without_dropout(net: PreTrainedModel) -> PreTrainedModel:
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout) or type(module).__name__ == "StableDropout":
            module.p = module.drop_prob = 0.0
        for name in ("dropout", "dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return net


def share(nets: Nets) -> None:
    """Section 3.2 of the paper: embeddings of tokens and positions, and here of token types."""
    if "generator" not in nets:
        return
    ours, theirs = nets[""].electra.embeddings, nets["generator"].electra.embeddings
    for name in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
        if getattr(theirs, name).weight.shape == getattr(ours, name).weight.shape:
            getattr(theirs, name).weight = getattr(ours, name).weight
    nets["generator"].tie_weights()


def differences(nets: Nets, result: Path, without: str | tuple[str, ...] = ()) -> tuple[float, str]:
    """Of all weights but those whose names end with `without`."""
    worst = (0.0, "")
    for name, net in nets.items():
        found = load_file(result / name / "model.safetensors")
        same: dict[int, list[str]] = {}  # the names of each tensor; a file has at least one of them
        for key, value in net.state_dict().items():
            same.setdefault(value.data_ptr(), []).append(key)
        for value in filter(lambda p: p.requires_grad, net.parameters()):
            keys = [key for key in same[value.data_ptr()] if key in found]
            assert keys, f"{same[value.data_ptr()]} is not in {result / name}"
            if keys[0].endswith(without):
                continue
            worst = max(worst, (float((found[keys[0]] - value).abs().max()), f"{name} {keys[0]}".strip()))
        type(net).from_pretrained(result / name)  # loads as a whole
    return worst


CONSTANT = ("constant", "--warmup", 0)


def attend_train(program: Path, folder: Path, objective: str, files: Iterable[str], seed: int, clip: float, *more: Any,
                 model: str = "model", steps: int = STEPS, schedule: tuple[Any, ...] = CONSTANT) -> None:
    """Trains folder/MODEL to folder/out as `train` does, and leaves in folder/batches what each step reads."""
    call = [program, "train", "--objective", objective, "--model", folder / model, "--train", *[folder / f for f in files],
            "--output", folder / "out", "--save-batches", folder / "batches", "--steps", steps, "--schedule", *schedule,
            "--learning-rate", RATE, "--weight-decay", DECAY, "--beta2", 0.98, "--epsilon", 1e-6, "--max-grad-norm", clip, "--dropout", 0,
            "--attention-dropout", 0, "--activation-dropout", 0, "--seed", seed, "--threads", 1, *more]  # fmt: skip
    done = subprocess.run(list(map(str, call)), capture_output=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"attend train: {done.stderr.decode()[-600:]}")


@dataclass
class Case:
    objective: str
    make: Callable[[], Nets]
    loss_of: LossOf
    files: Sequence[str] = ("documents.txt",)
    options: Sequence[Any] = ()
    with_types: bool = True


def alone(make: Callable[[], PreTrainedModel]) -> Callable[[], Nets]:
    return lambda: {"": make()}


def electra(**generator: int) -> Callable[[], Nets]:
    return lambda: {"": ElectraForPreTraining(ElectraConfig(**ELECTRA)),
                    "generator": ElectraForMaskedLM(ElectraConfig(**{**ELECTRA, **generator}))}  # fmt: skip


LINES = ("pairs.en", "pairs.de")
WITHOUT_TYPES = ("roberta", "xlm-roberta", "distilbert", "xlm")
CASES = {
    "next-sentence bert": Case("next-sentence", alone(lambda: BertForPreTraining(BertConfig(**SMALL))), pair_loss),
    "next-sentence big_bird": Case("next-sentence", alone(lambda: BigBirdForPreTraining(BigBirdConfig(
        **SMALL, attention_type="original_full"))), pair_loss),
    "sentence-order albert": Case("sentence-order", alone(lambda: AlbertForPreTraining(AlbertConfig(
        **ALBERT, classifier_dropout_prob=0))), pair_loss),
    "replaced-tokens electra": Case("replaced-tokens", electra(hidden_size=12, intermediate_size=20), replaced_loss),
    "replaced-tokens apart": Case("replaced-tokens", electra(embedding_size=12), replaced_loss),
    **{f"translation-lm {family}": Case("translation-lm", alone(MASKED[family]), token_loss, LINES,
                                        with_types=family not in WITHOUT_TYPES) for family in ("xlm", "bert", "xlm-roberta")},
    **{f"masked-lm {family}": Case("masked-lm", alone(make), token_loss, LINES if family == "xlm" else ("documents.txt",),
                                   {"bert": ["--whole-words"], "albert": ["--ngram", 2]}.get(family, []),
                                   family not in WITHOUT_TYPES) for family, make in MASKED.items()},
}  # fmt: skip


def run_both(program: Path, folder: Path, case: Case, seed: int, clip: float, *more: Any, steps: int = STEPS,
             schedule: tuple[Any, ...] = CONSTANT, factor: Factor = lambda step: 1.0) -> tuple[Nets, list[float]]:
    """Trains a fresh model with attend to folder/out and here: what has been trained here, and its losses."""
    write_texts(folder)
    nets = case.make()
    for part, net in nets.items():
        net.save_pretrained(folder / f"model{part}")
    save_tokenizer(folder / "model", case.with_types)
    nets = {part: without_dropout(type(net).from_pretrained(folder / f"model{part}")) for part, net in nets.items()}
    share(nets)
    generator = ["--generator", folder / "modelgenerator"] if "generator" in nets else []
    attend_train(program, folder, case.objective, case.files, seed, clip, "--batch-tokens", 250, "--gradient-accumulation-steps", 2,
                 "--max-length", 40, *generator, *case.options, *more, steps=steps, schedule=schedule)  # fmt: skip
    return nets, train(nets, case.loss_of, folder / "batches", seed, clip, steps, factor)


def check(program: Path, label: str, case: Case, seed: int, clip: float) -> bool:
    with TemporaryDirectory() as name:
        folder = Path(name)
        nets, _ = run_both(program, folder, case, seed, clip)
        worst, where = differences(nets, folder / "out")
        print(f"{'ok  ' if worst <= LIMIT else 'FAIL'} {label:30} clip {clip:<5} {worst:.1e} {where}", flush=True)
        return worst <= LIMIT


def arguments(description: str | None) -> argparse.Namespace:
    """program, chosen, and the seed that all weights follow from and all that attend draws."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: Path(path).resolve(), help="attend")
    parser.add_argument("chosen", nargs="*", help="only the cases that have one of these in their names")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    return options


def run_all(checks: dict[str, Callable[[], bool]], options: argparse.Namespace) -> int:
    """The exit status. A check that stops with an exception has failed; the checks after it still run."""
    results = []
    for label, check in checks.items():
        if options.chosen and not any(each in label for each in options.chosen):
            continue
        torch.manual_seed(options.seed)
        try:
            results.append(check())
        except (RuntimeError, AssertionError, OSError) as error:
            print(f"FAIL {label}: {type(error).__name__}: {error}"[:900], flush=True)
            results.append(False)
    print(f"{sum(results)} of {len(results)}")
    return 0 if results and all(results) else 1


def main() -> int:
    options = arguments(__doc__)
    return run_all({f"{label}, clip {clip}": lambda label=label, case=case, clip=clip: check(options.program, label, case, options.seed, clip)
                    for label, case in CASES.items() for clip in (0.0, 0.25)}, options)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
