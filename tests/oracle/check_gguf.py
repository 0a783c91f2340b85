"""GGUF files against the originals: numbers bit for bit, outputs, generated ids, vectors, tokens.

    python check_gguf.py --attend build/release/attend [--seed N] [--case gpt2] [--type Q4_K]
    python check_gguf.py --goldens     # remakes tests/data/gguf

Tiny random models of each architecture and type are written by gguf_files.py and gguf_decoders.py. The original is
transformers with the weights as the package gguf dequantizes them. If transformers itself reads such files (gpt2, t5), it
must read the same weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Sequence

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from safetensors.torch import load_file, save_file

import gguf_decoders
import slow_tokenizers
from common import Attend, AttendFailed, Table, Tensors, relative_error
from gguf_files import CASES, TYPES, make, quantize
from originals import load_model

DATA = Path(__file__).parents[1] / "data" / "gguf"
TEXTS = ["the lamp is on the table", "Über den Dächern, don't you think so?", "12 boats & 345 gulls", " two  spaces ",
         "<|endoftext|>a<pad> </s>[MASK] [SEP]", "漢字かな", "", "crème brûlée №5"]  # fmt: skip


def encode(tokenizer: Any, case: str, texts: Sequence[str] = ("the lamp is on the table", "we waited in the dark kitchen")) -> Tensors:
    tokenizer.padding_side = "right"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    inputs = dict(tokenizer(list(texts), return_tensors="pt", padding=True))
    if case in gguf_decoders.CASES:
        inputs.pop("token_type_ids", None)
    if case in ("t5", "t5-gated"):
        inputs["decoder_input_ids"] = torch.tensor([[0, 5, 9], [0, 7, 3]])[: len(texts)]
    return inputs


def originals(case: str, directory: Path, inputs: Tensors) -> Tensors:
    model = load(case, directory)
    with torch.no_grad():
        outputs = model(**inputs)
    return {"logits": outputs.logits} if "logits" in outputs else {"last_hidden_state": outputs.last_hidden_state}


def load(case: str, directory: Path) -> Any:
    if case.startswith("bert"):
        return transformers.BertModel.from_pretrained(directory, add_pooling_layer=False, attn_implementation="eager").eval()
    return load_model(directory)


def check_numbers(attend: Attend, path: Path, original: Path, folder: Path) -> list[str]:
    attend.run("convert", path, folder / "converted", "--quiet")
    ours, theirs = load_file(folder / "converted/model.safetensors"), load_file(original / "model.safetensors")
    ours = {name.removeprefix("bert."): tensor for name, tensor in ours.items()}
    found = [f"{name} is {'missing' if name in theirs else 'additional'}" for name in ours.keys() ^ theirs.keys()]
    return found + [f"{name} differs" for name in ours.keys() & theirs.keys() if not torch.equal(ours[name], theirs[name])]


def check_outputs(attend: Attend, case: str, path: Path, original: Path) -> tuple[float, list[str]]:
    tokenizer = slow_tokenizers.load(original)
    inputs = encode(tokenizer, case)
    wanted = originals(case, original, inputs)
    got = attend.forward(path, inputs, states=False)
    mask = inputs["attention_mask"].bool()
    error = 0.0
    for name, tensor in wanted.items():
        own = tensor if "decoder_input_ids" in inputs else tensor[mask]
        error = max(error, relative_error(got[name] if "decoder_input_ids" in inputs else got[name][mask], own))
    return error, [] if error < 2e-5 else [f"outputs differ by {error:.1e}"]


def check_generation(attend: Attend, case: str, path: Path, original: Path) -> list[str]:
    if case.startswith("bert") or case == "t5encoder":
        return []
    tokenizer, model = slow_tokenizers.load(original), load(case, original)
    found = []
    for text in TEXTS[:2]:
        ids = tokenizer(text, return_tensors="pt").input_ids
        made = model.generate(ids, max_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(ids), pad_token_id=0,
                              use_cache=False)  # fmt: skip
        wanted = made[0, 1 if case.startswith("t5") else ids.shape[1] :].tolist()
        line = json.loads(attend.run("generate", path, "--json", "--max-new-tokens", "8", "--quiet", text))
        got, ends = line["texts"][0]["ids"], model.generation_config.eos_token_id
        if [i for i in got if i != ends] != [i for i in wanted if i != ends]:
            found.append(f"{text!r}: {got} for {wanted}")
    return found


def check_vectors(attend: Attend, case: str, path: Path, original: Path) -> list[str]:
    if not case.startswith("bert") and case != "t5encoder":
        return []
    tokenizer, model = slow_tokenizers.load(original), load(case, original)
    texts = TEXTS[:4]
    got = attend.embed(path, texts)
    wanted = []
    for text in texts:
        with torch.no_grad():
            states = model(**{k: v for k, v in tokenizer(text, return_tensors="pt").items()}).last_hidden_state[0]
        vector = states[0] if case == "bert-cased" else states.mean(0)
        wanted.append(vector if case == "t5encoder" else vector / vector.norm())  # that file names no pooling
    error = relative_error(got, torch.stack(wanted))
    return [] if error < 2e-5 else [f"vectors differ by {error:.1e}"]


def check_tokens(attend: Attend, path: Path, original: Path) -> list[str]:
    tokenizer = slow_tokenizers.load(original)
    found = []
    for text, ids in zip(TEXTS, attend.tokenize(path, TEXTS), strict=True):
        if ids != tokenizer(text).input_ids:
            found.append(f"{text!r}: {ids} for {tokenizer(text).input_ids}")
    return found


def check_own_reader(case: str, path: Path, original: Path) -> list[str]:
    """transformers reads the original's weights from the file."""
    if case not in ("gpt2", "t5-gated"):  # for T5 it reads as many decoder layers as encoder layers
        return []
    model = load_model(original)  # its config is used, because transformers reads only a part of the file's
    read = type(model).from_pretrained(path.parent, gguf_file=path.name, config=model.config)
    ours = model.state_dict()
    return [f"transformers reads another {name}" for name, tensor in read.state_dict().items()
            if not torch.equal(tensor.float(), ours[name])]  # fmt: skip


def check(attend: Attend, cases: list[str], kinds: list[Type], seed: int) -> int:
    table = Table([("case", 12), ("type", 6), ("error", 8)])
    for case in cases:
        for kind in kinds:
            with TemporaryDirectory() as folder:
                path = make(case, kind, seed, Path(folder))
                original = path.parent / "original"
                error, details = float("inf"), []
                try:
                    details += check_numbers(attend, path, original, path.parent)
                    error, more = check_outputs(attend, case, path, original)
                    details += more + check_generation(attend, case, path, original)
                    details += check_vectors(attend, case, path, original) + check_tokens(attend, path, original)
                    details += check_own_reader(case, path, original)
                except AttendFailed as failure:
                    details.append(str(failure))
                table.row([case, kind.name, f"{error:.1e}"], bool(details), details)
    return table.status()


def write_goldens() -> None:
    """blocks.*: two rows of 256 numbers of every type. sources.*: the numbers before quantization, of some types. Models of
    one layer, with their outputs for a text and the ids of TEXTS."""
    DATA.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    writer, expected, sources = gguf.GGUFWriter(DATA / "blocks.gguf", "none"), {}, {}
    writer.add_array("numbers", [1, 2, 3])
    writer.add_array("texts", ["a", "bc", ""])
    writer.add_float32("half", 0.5)
    for kind in TYPES:
        numbers = rng.normal(size=(2, 256)).astype(np.float32)
        data = quantize(rng, numbers, kind)
        if kind in (Type.F32, Type.F16, Type.Q8_0, Type.Q4_0):
            sources[kind.name] = torch.from_numpy(numbers)
        writer.add_tensor(kind.name, data, raw_dtype=kind)
        expected[kind.name] = torch.from_numpy(gguf.quants.dequantize(data, kind).reshape(2, 256).copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, DATA / "blocks.safetensors")
    save_file(sources, DATA / "sources.safetensors")
    for case, kind in [("gpt2", Type.Q4_0), ("gptj", Type.Q5_1), ("bert", Type.Q8_0), ("t5", Type.Q5_0),
                       ("llama-3", Type.Q8_0), ("gemma3", Type.Q4_1), ("gptneox", Type.Q4_0)]:
        with TemporaryDirectory() as folder:
            path = make(case, kind, 0, Path(folder), width=32, layers=1)
            original = path.parent / "original"
            tokenizer = slow_tokenizers.load(original)
            inputs = encode(tokenizer, case, ["the lamp"])
            outputs = originals(case, original, inputs)
            (DATA / f"{case}.gguf").write_bytes(path.read_bytes())
            save_file({f"input.{k}": v for k, v in inputs.items()} | {f"output.{k}": v for k, v in outputs.items()},
                      DATA / f"{case}.safetensors")  # fmt: skip
            texts = [{"text": text, "ids": tokenizer(text).input_ids} for text in TEXTS]
            (DATA / f"{case}.json").write_text(json.dumps(texts, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path)
    parser.add_argument("--goldens", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--type", choices=[kind.name for kind in TYPES])
    options = parser.parse_args()
    if options.goldens:
        write_goldens()
        return 0
    if options.attend is None:
        parser.error("give --attend or --goldens")
    kinds = [Type[options.type]] if options.type else TYPES
    return check(Attend(options.attend.resolve()), [options.case] if options.case else CASES, kinds, options.seed)


if __name__ == "__main__":
    sys.exit(main())
