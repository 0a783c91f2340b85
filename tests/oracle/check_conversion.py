"""What attend convert makes of a checkpoint of transformers, in transformers, for every family and head, tied and untied.

    python check_conversion.py --attend build/release/attend
    python check_conversion.py --attend build/release/attend --case bart --seed 3
    python check_conversion.py --self-test

The result must have the same tensors bit for bit, miss and add none, and compute the same; also where the checkpoint is
one of PyTorch's files of old.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file

from common import Attend, AttendFailed, Table, Tensors
from forward import Original
from layouts import layouts_of
from model_cases import CASES, SMALL, Case
from model_configs import make_config
from models import make_model
from originals import load_model
from random_inputs import make_inputs

PREDICTING = ("LMHeadModel", "MaskedLM", "CausalLM", "PreTraining", "ConditionalGeneration", "MTModel", "DoubleHeadsModel")


def tied_and_untied() -> dict[str, Case]:
    """All cases, and those that predict tokens once more with the head tied where it was not, or the other way.

    Not BART's and M2M-100's: untied, their three tables are still one in the original, which then misses two of them in
    what it saved.
    """
    left_out = ("ElectraForPreTraining", "TransfoXLLMHeadModel", "BartForConditionalGeneration",
                "M2M100ForConditionalGeneration")
    cases = dict(CASES)
    for name, case in CASES.items():
        if case.head.endswith(PREDICTING) and case.head not in left_out:
            tied = make_config(case, SMALL).tie_word_embeddings
            settings = case.settings | {"tie_word_embeddings": not tied}
            cases[f"{name}, {'untied' if tied else 'tied'}"] = replace(case, settings=settings)
    return cases


def write_pickles(directory: Path) -> None:
    """The weights as PyTorch's files of old: two shards, and every tensor under each of its names."""
    tensors = dict(load_model(directory).state_dict())
    for path in directory.glob("*.safetensors"):
        path.unlink()
    files = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    places = {name: files[i % 2] for i, name in enumerate(tensors)}
    for file in files:
        torch.save({name: tensor for name, tensor in tensors.items() if places[name] == file}, directory / file)
    index = {"metadata": {}, "weight_map": places}
    (directory / "pytorch_model.bin.index.json").write_text(json.dumps(index))


def lost_in_conversion(source: Path, converted: Path, inputs: Tensors, wanted: Tensors) -> list[str]:
    """`source` has the weights as transformers saved them."""
    ours, theirs = load_file(converted / "model.safetensors"), load_file(source / "model.safetensors")
    found = [f"{name} is {'missing' if name in theirs else 'additional'}" for name in ours.keys() ^ theirs.keys()]
    found += [f"{name} differs" for name in ours.keys() & theirs.keys() if not torch.equal(ours[name], theirs[name])]
    fields, kept = (json.loads((directory / "config.json").read_text()) for directory in (source, converted))
    found += [f"config.json: {name}: {kept.get(name)} for {fields[name]}" for name in fields
              if fields[name] != kept.get(name)]  # fmt: skip
    got = Original.load(converted).run(inputs)  # refuses missing and unexpected tensors
    return found + [f"{name} is not the same" for name in wanted if not torch.equal(got[name], wanted[name])]


def check_converted(attend: Attend | Copy, names: list[str], seed: int) -> Table:
    table = Table([("case", 42), ("from", 12), ("tensors", 7)])
    for name in names:
        with TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            make_model(name, seed, source)
            pickles = Path(shutil.copytree(source, Path(folder) / "pickles"))
            write_pickles(pickles)
            original = Original.load(source)
            inputs = make_inputs(original.model.config, layouts_of(CASES[name].family, CASES[name].head)[0], seed)
            wanted = original.run(inputs)
            for kind, directory in {"safetensors": source, "pickles": pickles}.items():
                converted = Path(folder) / f"of {kind}"
                try:
                    attend.run("convert", directory, converted)
                    found = lost_in_conversion(source, converted, inputs, wanted)
                except (AttendFailed, RuntimeError) as error:
                    found = [str(error)]
                table.row([name, kind, len(original.names)], bool(found), found)
    return table


class Copy:
    """In attend's place: a conversion that is none, or spoils a tensor or its name."""

    def __init__(self, spoil: str = "") -> None:
        self.spoil = spoil

    def run(self, verb: str, source: Path, converted: Path) -> str:
        source = source.parent / "source"
        shutil.copytree(source, converted)
        tensors = load_file(source / "model.safetensors")
        last = max(tensors)
        if self.spoil == "value":
            tensors[last] = tensors[last] + 1e-6
        elif self.spoil == "name":
            tensors[last + "s"] = tensors.pop(last)
        save_file(tensors, converted / "model.safetensors", {"format": "pt"})
        return ""


def self_test() -> int:
    names = ["bert-model", "t5"]
    good = not check_converted(Copy(), names, 0).failures
    for spoil in ("value", "name"):
        table = check_converted(Copy(spoil), names, 0)
        good &= table.rows == table.failures == 2 * len(names)
    print("self-test", "passed" if good else "FAILED")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--case", default="", help="only those whose name begins so")
    parser.add_argument("--seed", type=int, default=0, help="of sizes and weights")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    CASES.update(tied_and_untied())
    if options.self_test:
        return self_test()
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    names = [name for name in CASES if name.startswith(options.case)]
    return check_converted(Attend(options.attend.resolve()), names, options.seed).status()


if __name__ == "__main__":
    sys.exit(main())
