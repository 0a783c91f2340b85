"""Ten steps of students that learn from a teacher, against transformers' models and the formulas of DistilBERT.

Tiny teachers and students are made with transformers; `attend train --teacher --save-batches` trains the student without
dropout, and the same steps are made here from the saved batches. All weights must agree. Also a student that begins as
every other layer of its teacher (--keep-layers).

    python tests/oracle/training/distillation.py build/release/attend [case ...] [--seed N]
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import torch
from pretraining import (
    LIMIT, SMALL, VOCABULARY, WORDS, LossOf, Nets, Tensors, arguments, attend_train, differences, inputs_of, run_all,
    save_tokenizer, train, without_dropout, write_texts,
)  # fmt: skip
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, log_softmax, mse_loss, softmax
from transformers import (
    BertConfig, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification, BertForTokenClassification,
    GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel, PreTrainedModel, T5Config, T5ForConditionalGeneration,
)  # fmt: skip

TEMPERATURE, SOFT, HARD, HIDDEN = 3.0, 0.7, 0.4, 0.3
V = len(VOCABULARY)


def bert(kind: type, layers: int, **more: Any) -> PreTrainedModel:
    return kind(BertConfig(**{**SMALL, "num_hidden_layers": layers}, **more))


def gpt2(layers: int) -> PreTrainedModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=20, n_embd=24, n_layer=layers, n_head=3, bos_token_id=2,
                                      eos_token_id=3))  # fmt: skip


def marian(layers: int) -> PreTrainedModel:
    return MarianMTModel(MarianConfig(
        vocab_size=V, d_model=24, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=64, pad_token_id=0,
        eos_token_id=3, decoder_start_token_id=0, forced_eos_token_id=3, bos_token_id=2))  # fmt: skip


def t5(layers: int) -> PreTrainedModel:
    return T5ForConditionalGeneration(T5Config(
        vocab_size=V, d_model=24, d_kv=8, d_ff=40, num_layers=layers, num_heads=3, pad_token_id=0, eos_token_id=3,
        decoder_start_token_id=0))  # fmt: skip


@dataclass
class Case:
    objective: str
    make: Callable[[int], PreTrainedModel]
    files: list[str]
    options: list[Any] = field(default_factory=list)
    blocks: tuple[str, ...] = ()  # module lists, for --keep-layers


def show(net: PreTrainedModel, batch: Tensors) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, last hidden states and which rows are real."""
    out = net(**inputs_of(batch), output_hidden_states=True)
    if "prediction_logits" in out:
        return out.prediction_logits, out.hidden_states[-1], batch["attention_mask"].bool()
    if "decoder_input_ids" in batch:
        return out.logits, out.decoder_hidden_states[-1], batch["decoder_attention_mask"].bool()
    return out.logits, out.hidden_states[-1], batch["attention_mask"].bool()


def loss_of(teacher: PreTrainedModel) -> LossOf:
    def loss(nets: Nets, batches: list[Tensors], seed: int) -> torch.Tensor:
        (batch,) = batches
        ours, our_hidden, real = show(nets[""], batch)
        pairs = cross_entropy(nets[""](**inputs_of(batch)).seq_relationship_logits, batch["text_labels"]) if (
            "labels" in batch and "text_labels" in batch) else 0
        with torch.no_grad():
            theirs, their_hidden, _ = show(teacher, batch)
        if "labels" in batch:
            kept = batch["labels"] != -100
            ours, theirs, labels = ours[kept], theirs[kept], batch["labels"][kept]
        else:
            labels = batch["text_labels"]
            if ours.dim() == 3:  # of each word
                ours, theirs = ours[real], theirs[real]
                ours, theirs, labels = (each[labels != -100] for each in (ours, theirs, labels))
        if labels.is_floating_point():
            hard, soft = mse_loss(ours, labels), mse_loss(ours, theirs)
        else:
            hard = cross_entropy(ours, labels)
            soft = nn.KLDivLoss(reduction="batchmean")(log_softmax(ours / TEMPERATURE, 1), softmax(theirs / TEMPERATURE, 1))
            soft = soft * TEMPERATURE**2
        hidden = (1 - cosine_similarity(our_hidden[real], their_hidden[real], dim=1)).mean()
        return HARD * (hard + pairs) + SOFT * soft + HIDDEN * hidden

    return loss


def write_tables(folder: Path) -> None:
    draw = random.Random(4)
    rows = [(" ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 9))), draw.choice("abc")) for _ in range(60)]
    (folder / "labels.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    (folder / "tags.txt").write_text(
        "\n\n".join("\n".join(f"{word}\t{draw.choice('abc')}" for word in text.split()) for text, _ in rows) + "\n")
    (folder / "scores.tsv").write_text("".join(f"{text}\t{draw.uniform(-1, 1):.3f}\n" for text, _ in rows))


def layers_of(net: nn.Module, path: str) -> nn.Module:
    for part in path.split("."):
        net = getattr(net, part)
    return net


def check(program: Path, name: str, case: Case, seed: int, clip: float) -> bool:
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_texts(folder)
        write_tables(folder)
        for part, layers in (("teacher", 4), ("student", 2)):
            case.make(layers).save_pretrained(folder / part)
            save_tokenizer(folder / part, with_types=True)
        teacher = case.make(4)
        teacher = without_dropout(type(teacher).from_pretrained(folder / "teacher")).eval()
        start = "teacher" if case.blocks else "student"
        student = without_dropout(type(teacher).from_pretrained(folder / start))
        for path in case.blocks:
            blocks = layers_of(student, path)
            for i in (3, 1):
                del blocks[i]
        keep = ["--keep-layers", 0, 2] if case.blocks else []
        attend_train(program, folder, case.objective, case.files, seed, clip, "--teacher", folder / "teacher", "--temperature",
                     TEMPERATURE, "--soft-weight", SOFT, "--hard-weight", HARD, "--hidden-weight", HIDDEN, "--batch-size", 6,
                     *case.options, *keep, model=start)  # fmt: skip
        train({"": student}, loss_of(teacher), folder / "batches", seed, clip)
        worst, where = differences({"": student}, folder / "out")
        good = worst <= LIMIT and not (folder / "out" / "student").exists()
        print(f"{'ok  ' if good else 'FAIL'} {name:24} clip {clip:<5} {worst:.1e} {where}", flush=True)
        return good


def main() -> int:
    options = arguments(__doc__)
    labels = {"id2label": dict(enumerate("cab")), "label2id": {label: i for i, label in enumerate("cab")}}
    classifier = lambda layers: bert(BertForSequenceClassification, layers, **labels)  # noqa: E731
    scorer = lambda layers: bert(BertForSequenceClassification, layers, num_labels=1)  # noqa: E731
    tagger = lambda layers: bert(BertForTokenClassification, layers, **labels)  # noqa: E731
    masked = lambda layers: bert(BertForMaskedLM, layers)  # noqa: E731
    cases = {
        "classification": Case("classification", classifier, ["labels.tsv"]),
        "classification, layers": Case("classification", classifier, ["labels.tsv"], blocks=("bert.encoder.layer",)),
        "regression": Case("regression", scorer, ["scores.tsv"]),
        "token-classification": Case("token-classification", tagger, ["tags.txt"]),
        "next-sentence": Case("next-sentence", lambda layers: bert(BertForPreTraining, layers), ["documents.txt"]),
        "masked-lm": Case("masked-lm", masked, ["documents.txt"]),
        "masked-lm, layers": Case("masked-lm", masked, ["documents.txt"], blocks=("bert.encoder.layer",)),
        "causal-lm": Case("causal-lm", gpt2, ["documents.txt"], ["--length", 12]),
        "causal-lm, layers": Case("causal-lm", gpt2, ["documents.txt"], ["--length", 12], ("transformer.h",)),
        "translation": Case("sequence-to-sequence", marian, ["pairs.en", "pairs.de"]),
        "translation, layers": Case("sequence-to-sequence", marian, ["pairs.en", "pairs.de"], [],
                                    ("model.encoder.layers", "model.decoder.layers")),
        "t5, layers": Case("sequence-to-sequence", t5, ["pairs.en", "pairs.de"], [], ("encoder.block", "decoder.block")),
    }  # fmt: skip
    return run_all({f"{name}, clip {clip}": lambda name=name, case=case, clip=clip: check(options.program, name, case, options.seed, clip)
                    for name, case in cases.items() for clip in (0.0, 0.25)}, options)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
