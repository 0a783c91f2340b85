"""Ten steps of spans, noise, permutations and memories against PyTorch and transformers.

Tiny models are made with transformers, `attend train --save-batches` trains them without dropout, and the same
steps are made here from the saved batches with transformers' models and torch's AdamW. All weights must agree.

    python tests/oracle/training/language_models.py build/release/attend [case ...] [--seed N]
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable

import torch
from pretraining import LIMIT, WORDS, LossOf, Tensors, arguments, attend_train, differences, mean_over, run_all, train
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.functional import cross_entropy, nll_loss
from transformers import (
    BartConfig, BartForConditionalGeneration, PreTrainedModel, PreTrainedTokenizerFast, T5Config,
    T5ForConditionalGeneration, XLMConfig, XLMWithLMHeadModel, XLNetConfig, XLNetLMHeadModel,
)
from transformers.models.deprecated.transfo_xl import TransfoXLConfig, TransfoXLLMHeadModel

# transformers 4.57 calls it with dtype=, which torch does not have.
as_type = torch.Tensor.type_as
torch.Tensor.type_as = lambda self, other=None, dtype=None: as_type(self, other) if dtype is None else self.to(dtype)

SENTINELS = [f"<extra_id_{i}>" for i in reversed(range(20))]
VOCABULARY = ["<pad>", "<unk>", "<s>", "</s>", "<mask>", "<sep>", "<cls>", *WORDS, *SENTINELS]
SIZE = len(VOCABULARY)


def write_text(path: Path) -> None:
    draw = random.Random(1)
    sentence = lambda: " ".join(draw.choice(WORDS) for _ in range(draw.randint(2, 12)))
    path.write_text("\n\n".join("\n".join(sentence() for _ in range(draw.randint(1, 12))) for _ in range(80)) + "\n")


def save_tokenizer(folder: Path, before: list[str], behind: list[str]) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [(token, VOCABULARY.index(token)) for token in {*before, *behind}]
    if special:
        single = " ".join([*before, "$A", *behind])
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=single + " $B",
                                                                 special_tokens=special)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
                            model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)


Loss = tuple[torch.Tensor, int]  # a sum over labels, and their number


def of_scores(scores: torch.Tensor, labels: torch.Tensor) -> Loss:
    return cross_entropy(scores.flatten(0, -2), labels.flatten(), reduction="sum"), int((labels != -100).sum())


class Pairs:
    """An encoder and a decoder."""

    def loss(self, net: PreTrainedModel, batch: Tensors) -> Loss:
        labels = batch.pop("labels")
        return of_scores(net(**batch).logits, labels)


class Permutations:
    """XLNet, text by text: what rows see tells which tokens the last ones stand for."""

    def loss(self, net: PreTrainedModel, batch: Tensors) -> Loss:
        losses: list[Loss] = []
        for b in range(len(batch["input_ids"])):
            hidden = batch[f"visible.{b}"] < 0  # [L + P, L]
            length = hidden.shape[1]
            columns = hidden.any(0).nonzero().squeeze(1)
            assert len(columns) == len(hidden) - length > 0, "each predicted token is hidden from its own query"
            perm_mask = hidden[:length].clone()
            perm_mask[columns] = hidden[length:]
            mapping = torch.zeros(len(columns), length)
            mapping[range(len(columns)), columns] = 1
            ids, labels = batch["input_ids"][b, :length], batch["labels"][b, length : len(hidden)]
            assert torch.equal(ids[columns], labels), "predicted tokens are those of the text"
            assert (ids[columns] >= 7).all(), "no special token is predicted"
            types = {"token_type_ids": batch["token_type_ids"][b : b + 1, :length]} if "token_type_ids" in batch else {}
            scores = net(input_ids=ids[None], perm_mask=perm_mask[None].float(), target_mapping=mapping[None], **types)
            losses.append(of_scores(scores.logits, labels[None]))
        return sum(loss for loss, _ in losses), sum(count for _, count in losses)


class Segments:
    """Transformer-XL, whose batches go on where those before have stopped, until an epoch begins the text anew."""

    def __init__(self) -> None:
        self.memories, self.expected, self.begun = None, None, 0  # expected: the first token of each text

    def loss(self, net: PreTrainedModel, batch: Tensors) -> Loss:
        ids, labels = batch["input_ids"], batch["labels"]
        if self.expected is None or not torch.equal(ids[:, 0], self.expected):
            self.memories, self.begun = None, self.begun + 1
            assert self.begun <= 2, "batches do not follow each other"
        out = net(ids, mems=self.memories)
        self.memories, self.expected = out.mems, labels[:, -1]
        return nll_loss(out.prediction_scores.flatten(0, 1), labels.flatten(), reduction="sum"), labels.numel()


class Texts:
    def loss(self, net: PreTrainedModel, batch: Tensors) -> Loss:
        return of_scores(net(batch["input_ids"]).logits, batch["labels"])


@dataclass
class Case:
    objective: str
    make: Callable[[], PreTrainedModel]
    steps: Callable[[], Pairs | Permutations | Segments | Texts]
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def t5(**other) -> T5ForConditionalGeneration:
    return T5ForConditionalGeneration(T5Config(
        vocab_size=SIZE, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_heads=3, dropout_rate=0.0, pad_token_id=0,
        eos_token_id=3, decoder_start_token_id=0, **other))


def bart() -> BartForConditionalGeneration:
    return BartForConditionalGeneration(BartConfig(
        vocab_size=SIZE, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=48, dropout=0.0,
        attention_dropout=0.0, pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3,
        forced_eos_token_id=3))


def transformer_xl(**other) -> TransfoXLLMHeadModel:
    return TransfoXLLMHeadModel(TransfoXLConfig(**dict(dict(
        vocab_size=SIZE, cutoffs=[], d_model=24, d_embed=24, n_head=3, d_head=8, d_inner=40, div_val=1, n_layer=2,
        mem_len=20, clamp_len=30, same_length=True, dropout=0.0, dropatt=0.0, eos_token_id=3, pad_token_id=0), **other)))


def xlnet() -> XLNetLMHeadModel:
    return XLNetLMHeadModel(XLNetConfig(vocab_size=SIZE, d_model=24, n_layer=2, n_head=3, d_inner=40, dropout=0.0,
                                        summary_last_dropout=0.0, pad_token_id=0))


def xlm() -> XLMWithLMHeadModel:
    return XLMWithLMHeadModel(XLMConfig(
        vocab_size=SIZE, emb_dim=24, n_layers=2, n_heads=3, causal=True, max_position_embeddings=48, dropout=0.0,
        attention_dropout=0.0, pad_index=0, pad_token_id=0, n_langs=1, mask_token_id=4))


NOISE = ("--permute-sentences", "0.5", "--delete-rate", "0.1", "--rotate", "0.3")
CASES = {
    "t5": Case("span-corruption", t5, Pairs, behind=("</s>",), options=("--max-length", "40")),
    "t5-v1.1": Case("span-corruption", lambda: t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False), Pairs,
                    behind=("</s>",), options=("--max-length", "40")),
    "bart": Case("denoising", bart, Pairs, ("<s>",), ("</s>",)),
    "bart-noise": Case("denoising", bart, Pairs, ("<s>",), ("</s>",), NOISE),
    "xlnet": Case("permutation-lm", xlnet, Permutations, (), ("<sep>", "<cls>"), ("--max-length", "40")),
    "transfo-xl": Case("causal-lm", transformer_xl, Segments, options=("--length", "12")),
    "transfo-xl-other-lengths": Case("causal-lm", lambda: transformer_xl(same_length=False), Segments,
                                     options=("--length", "12")),
    "transfo-xl-clusters": Case("causal-lm", lambda: transformer_xl(cutoffs=[20, 40], div_val=2), Segments,
                                options=("--length", "25")),
    "xlm": Case("causal-lm", xlm, Texts, options=("--length", "20")),
}


def loss_of(case: Case) -> LossOf:
    steps = case.steps()
    return lambda nets, batches, seed: mean_over([steps.loss(nets[""], batch) for batch in batches])


def check(program: Path, name: str, case: Case, seed: int, clip: float, accumulate: int) -> bool:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        net = case.make()
        net.save_pretrained(folder / "model")
        save_tokenizer(folder / "model", list(case.before), list(case.behind))
        write_text(folder / "train.txt")
        attend_train(program, folder, case.objective, ["train.txt"], seed, clip, "--batch-tokens", 200, "--gradient-accumulation-steps", accumulate,
                     *case.options)  # fmt: skip
        losses = train({"": net}, loss_of(case), folder / "batches", seed, clip)
        worst, where = differences({"": net}, folder / "out")
    good = worst <= LIMIT
    print(f"{'ok  ' if good else 'FAIL'} {name:26} clip {clip:<4} batches {accumulate}  loss {losses[0]:.3f} to {losses[-1]:.3f}  "
          f"{worst:.1e} {where}", flush=True)  # fmt: skip
    return good


def main() -> int:
    options = arguments(__doc__)
    return run_all({f"{name}, clip {clip}": lambda name=name, clip=clip, n=n: check(options.program, name, CASES[name], options.seed, clip, n)
                    for name in CASES for clip, n in ((0, 1), (0.5, 2))}, options)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
