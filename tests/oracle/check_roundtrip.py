"""A model directory that attend wrote, in transformers: loads without a remark, same tokens, same logits, same ids.

    python check_roundtrip.py MODEL_DIRECTORY --attend build/release/attend
    python check_roundtrip.py MODEL_DIRECTORY --attend build/release/attend --texts some.txt --target-texts other.txt
    python check_roundtrip.py --self-test

For what `attend train` and `attend init` made, of any family.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Sequence

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from check_generation import differences, original_generate
from common import Attend, AttendFailed, Runner, Table, Tensors, compare
from forward import IGNORED, Original
from models import make_model
from stand_in import Spoiled, StandIn

TEXTS = [
    "A small boat waits at the end of the pier.",
    "Why would anyone paint a door green?",
    "Two children, one dog and three umbrellas: it rains again!",
    "Rain.",
    "The museum opens at 9:30, but the café next door never closes before midnight.",
    "Grüße aus Köln – schönes Wetter heute.",
]
TARGET_TEXTS = [
    "Ein kleines Boot wartet am Ende des Stegs.",
    "Warum sollte jemand eine Tür grün streichen?",
    "Zwei Kinder, ein Hund und drei Schirme: es regnet wieder!",
    "Regen.",
    "Das Museum öffnet um 9:30 Uhr, aber das Café nebenan schließt nie vor Mitternacht.",
    "Greetings from Cologne, fine weather today.",
]
NEW_TOKENS = 20


def pad(rows: Sequence[Sequence[int]], filler: int, left: bool = False) -> torch.Tensor:
    longest = max(map(len, rows))
    padded = [[filler] * (longest - len(r)) * left + [*r] + [filler] * (longest - len(r)) * (not left) for r in rows]
    return torch.tensor(padded)


def encode(model: PreTrainedModel, source: list[list[int]], target: list[list[int]], left: bool = False) -> Tensors:
    """The batch as transformers users make it: padded, with a mask; labels where the model has a loss."""
    config = model.config
    filler = config.pad_token_id or 0
    ids, mask = pad(source, filler, left), pad([[1] * len(row) for row in source], 0, left)
    inputs = {"input_ids": ids, "attention_mask": mask}
    head = type(model).__name__
    if config.is_encoder_decoder:
        inputs["labels"] = pad(target, IGNORED)
    elif head.endswith(("LMHeadModel", "MaskedLM")):
        inputs["labels"] = ids.masked_fill(mask == 0, IGNORED)
    return inputs


def check(attend: Runner, directory: Path, texts: list[str], target_texts: list[str]) -> Table:
    table = Table([("check", 10), ("size", 40)])
    original, exact = Original.load(directory), Original.load(directory, torch.float64)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    source = [tokenizer(text)["input_ids"] for text in texts]
    target = [tokenizer(text_target=text)["input_ids"] for text in target_texts]

    def row(name: str, size: str, compare_now: Callable[[], list[str]]) -> None:
        try:
            found = compare_now()
        except AttendFailed as error:
            found = [str(error)]
        table.row([name, size], bool(found), found)

    def tokens() -> list[str]:
        made = attend.tokenize(directory, texts)
        return [f"{t!r}: {a} for {b}" for t, a, b in zip(texts, made, source, strict=True) if list(a) != b]

    def forward() -> list[str]:
        inputs = encode(original.model, source, target)
        gradients = "labels" in inputs
        got = attend.forward(directory, inputs, gradients=gradients)
        findings = compare(original.run(inputs, gradients=gradients), got, exact.run(inputs, gradients=gradients))
        return [str(finding) for finding in findings if finding.failed]

    def generation(settings: dict[str, Any]) -> list[str]:
        inputs = encode(original.model, source, target, left=not original.model.config.is_encoder_decoder)
        inputs.pop("labels", None)
        settings = {"max_new_tokens": NEW_TOKENS} | settings
        wanted = original_generate(original.model, inputs, settings)
        return differences(wanted, attend.generate(directory, inputs, settings))

    row("tokens", f"{sum(map(len, source))} tokens in {len(texts)} texts", tokens)
    row("forward", f"{len(original.names)} tensors in the checkpoint", forward)
    if original.model.can_generate():
        padding = {} if original.model.config.pad_token_id is not None else {"pad_token_id": 0}
        row("greedy", f"{NEW_TOKENS} new tokens", lambda: generation({"num_beams": 1} | padding))
        row("beams", "4 beams", lambda: generation({"num_beams": 4} | padding))
    return table


def make_directory(directory: Path) -> None:
    """A Marian directory with a byte-level BPE tokenizer, as attend writes them, made by the original's own parts."""
    make_model("marian", 0, directory)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=100, special_tokens=["</s>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)  # the size allows single characters only; unknown ones vanish
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>").save_pretrained(directory)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--texts", type=Path, help="one a line, instead of a few of our own")
    parser.add_argument("--target-texts", type=Path, help="their translations; as many lines")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    if options.self_test:
        with TemporaryDirectory() as folder:
            make_directory(Path(folder))
            short = TEXTS[3:4] + TEXTS[1:2], TARGET_TEXTS[3:4] + TARGET_TEXTS[3:4]  # within the 40 positions
            passing, failing = (check(runner, Path(folder), *short) for runner in (StandIn(), Spoiled()))
        good = passing.rows == 4 and not passing.failures and failing.rows == failing.failures
        print("self-test", "passed" if good else "FAILED")
        return 0 if good else 1
    if options.attend is None or options.model is None:
        parser.error("a model and --attend, or --self-test, are needed")
    texts = options.texts.read_text().rstrip("\n").split("\n") if options.texts else TEXTS
    targets = options.target_texts.read_text().rstrip("\n").split("\n") if options.target_texts else TARGET_TEXTS
    if len(texts) != len(targets):
        parser.error(f"{len(texts)} texts, {len(targets)} target texts")
    return check(Attend(options.attend.resolve()), options.model, texts, targets).status()


if __name__ == "__main__":
    sys.exit(main())
