"""attend forward against the original: every output, every gradient, every position that is not padding.

    python check_parity.py --attend build/release/attend
    python check_parity.py --attend build/release/attend --family gpt2 --seeds 8
    python check_parity.py --self-test

Then batch = single: a sentence alone against the same sentence in a batch of 64 of mixed lengths.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoConfig

from common import Attend, AttendFailed, Finding, Runner, Table, Tensors, compare, relative_error
from float64 import double_of
from forward import Original
from layouts import LAYOUTS, layouts_of
from model_cases import CASES
from models import make_model
from random_inputs import InputMaker, has_loss, is_paired, make_inputs
from stand_in import Exact, Spoiled, StandIn

BATCH_LIMIT = 1e-5  # of the largest logit
COLUMNS = [("case", 28), ("seed", 4), ("layout", 10), ("tensors", 7), ("value", 8), ("gradient", 8), ("noise", 6)]
BATCH_COLUMNS = [("case", 28), ("seed", 4), ("error", 9), ("bit for bit", 12)]


def worst(findings: list[Finding], gradients: bool) -> str:
    errors = [f.error for f in findings if f.name.startswith("grad.") == gradients and not f.noise]
    return f"{max(errors):.1e}" if errors else "-"


def is_causal(name: str) -> bool:
    return any(CASES[name].settings.get(field) for field in ("causal", "is_decoder"))


def check_forward(attend: Runner, names: list[str], seeds: range) -> Table:
    table = Table(COLUMNS)
    for name in names:
        for seed in seeds:
            with TemporaryDirectory() as folder:
                directory = Path(folder)
                make_model(name, seed, directory)
                original, exact = Original.load(directory), Original.load(directory, double_of(CASES[name].family))
                for layout in layouts_of(CASES[name].family, CASES[name].head, is_causal(name)):
                    inputs = make_inputs(original.model.config, layout, seed)
                    gradients = has_loss(inputs)
                    wanted = original.run(inputs, gradients=gradients)
                    cells = [name, seed, layout, len(wanted)]
                    try:
                        got = attend.forward(directory, inputs, gradients=gradients)
                    except AttendFailed as error:
                        table.row([*cells, "-", "-", "-"], True, [str(error)])
                        continue
                    findings = compare(wanted, got, wanted | exact.run(inputs, gradients=gradients))
                    bad = [str(finding) for finding in findings if finding.failed]
                    noise = sum(f.noise for f in findings)
                    table.row([*cells, worst(findings, False), worst(findings, True), noise], bool(bad), bad)
    return table


def batch_inputs(maker: InputMaker, rows: int, longest: int) -> Tensors:
    """Right padding, lengths from 1 to `longest`, no labels."""
    config = maker.config
    if config.model_type in ("vit", "vit_msn"):
        image = maker.images()["pixel_values"][:1]
        return {"pixel_values": image + torch.randn((rows, *image.shape[1:]), generator=maker.generator)}

    def part(prefix: str) -> Tensors:
        mask = maker.mask(rows, longest, padded_side(config))
        ids = maker.ids(tuple(mask.shape)).masked_fill(mask == 0, config.pad_token_id or 0)
        return {f"{prefix}input_ids": ids, f"{prefix}attention_mask": mask}

    if config.is_encoder_decoder and config.architectures[0].endswith("ForSequenceClassification"):
        source = part("")  # the decoder reads the same, and is scored at the end of a text
        ends = maker.make_decoder_inputs(source["input_ids"], source["attention_mask"])["input_ids"]
        return source | {"input_ids": ends}
    return part("") | (part("decoder_") if is_paired(config) else {})


def padded_side(config: Any) -> str:
    """XLNet scores a sentence in its last column, padding or not: it is padded on the left."""
    return "left" if config.model_type == "xlnet" else "right"


def alone(inputs: Tensors, row: int) -> Tensors:
    """One row without its padding, and without a mask."""
    if "pixel_values" in inputs:
        return {"pixel_values": inputs["pixel_values"][row : row + 1].contiguous()}
    single = {}
    for prefix in ("", "decoder_"):
        if f"{prefix}input_ids" in inputs:
            real = inputs[f"{prefix}attention_mask"][row].bool()
            single[f"{prefix}input_ids"] = inputs[f"{prefix}input_ids"][row : row + 1, real].contiguous()
    return single


def batch_output(head: str) -> str:
    """The output that a sentence alone and in a batch is compared by."""
    if "ForQuestionAnswering" in head:
        return "start_logits"
    if head == "TransfoXLLMHeadModel":
        return "prediction_scores"
    if head.endswith("ForPreTraining") and not head.startswith(("Electra", "NomicBert")):
        return "prediction_logits"
    if head.endswith("ForMaskedImageModeling"):
        return "reconstruction"
    return "last_hidden_state" if head.endswith("Model") and not head.endswith(("LMHeadModel", "MTModel")) else "logits"


def check_batch(attend: Runner, names: list[str], seeds: range, rows: int = 64, singles: int = 8) -> Table:
    table = Table(BATCH_COLUMNS)
    for name in names:
        for seed in seeds:
            with TemporaryDirectory() as folder:
                directory = Path(folder)
                make_model(name, seed, directory)
                config = AutoConfig.from_pretrained(directory)
                maker = InputMaker(config, torch.Generator().manual_seed(seed), "right")
                inputs = batch_inputs(maker, rows, min(maker.positions(), 64))
                output = batch_output(CASES[name].head)
                error, same = 0.0, 0
                chosen = torch.randperm(rows, generator=maker.generator)[:singles].tolist()
                try:
                    together = attend.forward(directory, inputs, states=False)
                    for row in chosen:
                        single = alone(inputs, row)
                        got = attend.forward(directory, single, states=False)[output][0]
                        wanted = together[output][row]
                        count = got.shape[0]  # number of positions; scores of a sentence already have it
                        wanted = wanted[-count:] if padded_side(config) == "left" else wanted[:count]
                        error = max(error, relative_error(got, wanted)) if torch.isfinite(got).all() else float("inf")
                        same += torch.equal(got, wanted)
                except (AttendFailed, KeyError, IndexError, RuntimeError) as problem:
                    table.row([name, seed, "-", "-"], True, [repr(problem)])
                    continue
                table.row([name, seed, f"{error:.1e}", f"{same} of {singles}"], not error <= BATCH_LIMIT)
    return table


def self_test(names: list[str]) -> int:
    print("The original in attend's place: all must pass")
    passing = [
        check_forward(StandIn(), names, range(1)),
        check_forward(Exact(), names, range(1)),
        check_batch(StandIn(), names[:1], range(1), rows=8, singles=3),
    ]
    print("\nA spoiled original: all must fail")
    failing = [check_forward(Spoiled(), names, range(1))]
    good = all(t.rows and not t.failures for t in passing) and all(t.rows == t.failures for t in failing)
    print("self-test", "passed" if good else "FAILED")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--family", choices=sorted(LAYOUTS))
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    names = [n for n, c in CASES.items() if options.family in (None, c.family) and options.case in (None, n)]
    if options.self_test:
        return self_test(names)
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    attend = Attend(options.attend.resolve())
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    forward = check_forward(attend, names, seeds)
    print()
    # The first case of each head. Choices do not have separate sentences, and the originals' search for
    # answers includes padding.
    without = ("MultipleChoice", "DoubleHeadsModel", "XLNetForQuestionAnswering", "XLMForQuestionAnswering")
    heads = {(CASES[n].family, CASES[n].head): n for n in reversed(names) if not CASES[n].head.endswith(without)}
    batch = check_batch(attend, sorted(heads.values()), seeds)
    print()
    return max(forward.status(), batch.status())


if __name__ == "__main__":
    sys.exit(main())
