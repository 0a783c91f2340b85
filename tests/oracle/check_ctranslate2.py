"""Directories that CTranslate2's converter wrote against the originals: numbers bit for bit, outputs, generated ids, tokens.

    python check_ctranslate2.py --attend build/release/attend [--seed N] [--case marian] [--type int8]
    python check_ctranslate2.py --attend build/release/attend --broken   # only what must be refused
    python check_ctranslate2.py --goldens     # remakes tests/data/ctranslate2

Tiny random models with tokenizers are converted by the package ctranslate2 (ctranslate2_models.py). Outputs are compared
with transformers on the weights that the file means (of float32: the original's own), generated ids with CTranslate2
itself computing in float32. The quantized verbs must give the same bits as on the plain model that `attend convert` makes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Iterator

import ctranslate2
import numpy as np
import torch
from safetensors.torch import load_file, save_file

import slow_tokenizers
from common import Attend, AttendFailed, Table, Tensors, relative_error
from ctranslate2_models import CASES, KINDS, SMALL, family, make, read
from originals import load_model

DATA = Path(__file__).parents[1] / "data" / "ctranslate2"
TEXTS = ["the lamp is on the table", "we waited in the dark kitchen", "12 boats & 345 gulls"]
NEW_TOKENS = 10
GOLDENS = [("marian", "int8"), ("m2m-100", "int16"), ("bart", "bfloat16"), ("t5-gated", "int8_float16"), ("gpt2", "int8_bfloat16"),
           ("bert", "float16")]  # fmt: skip
LIMITS = {"float32": 1e-5}
# Tensors that the original stores and computes again.
COMPUTED = ("embed_positions.weight", "embed_positions.weights")


def encode(tokenizer: Any, case: str, texts: list[str] = TEXTS[:2]) -> Tensors:
    tokenizer.padding_side = "right"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    inputs = dict(tokenizer(texts, return_tensors="pt", padding=True))
    if family(case) not in ("gpt2", "bert"):
        begin = {"t5": 0, "marian": tokenizer.pad_token_id}.get(family(case), 2)
        inputs["decoder_input_ids"] = torch.tensor([[begin, 5, 9], [begin, 7, 3]])[: len(texts)]
        inputs.pop("token_type_ids", None)
    return inputs


def originals(original: Path, inputs: Tensors) -> Tensors:
    with torch.no_grad():
        outputs = load_model(original)(**inputs)
    return {"logits": outputs.logits} if "logits" in outputs else {"last_hidden_state": outputs.last_hidden_state}


def check_numbers(attend: Attend, directory: Path, original: Path, to: Path) -> list[str]:
    attend.run("convert", directory, to, "--quiet")
    ours, theirs = load_file(to / "model.safetensors"), load_file(original / "model.safetensors")
    ours = {name: tensor for name, tensor in ours.items() if "embed_positions" not in name or "embed_positions" in "".join(theirs)}
    found = [f"{name} is {'missing' if name in theirs else 'additional'}" for name in ours.keys() ^ theirs.keys()
             if not (name in theirs and name.endswith(COMPUTED))]  # fmt: skip
    for name in ours.keys() & theirs.keys():
        got, wanted = ours[name], theirs[name]
        if name.endswith("embed_positions.weight") and family_of(original) == "bart":
            got, wanted = got[2:], wanted[2:]  # two rows that are never read
        if not torch.equal(got, wanted):
            found.append(f"{name} differs")
    return found


def family_of(original: Path) -> str:
    return json.loads((original / "config.json").read_text())["model_type"]


def check_outputs(attend: Attend, case: str, kind: str, directory: Path, original: Path) -> tuple[float, list[str]]:
    inputs = encode(slow_tokenizers.load(original), case)
    got, mask = attend.forward(directory, inputs, states=False), inputs["attention_mask"].bool()
    error = 0.0
    for name, tensor in originals(original, inputs).items():
        whole = "decoder_input_ids" in inputs
        error = max(error, relative_error(got[name] if whole else got[name][mask], tensor if whole else tensor[mask]))
    limit = LIMITS.get(kind, 2e-5)
    return error, [] if error < limit else [f"outputs differ by {error:.1e}, limit {limit:.0e}"]


def theirs(case: str, directory: Path, tokens: list[str]) -> list[str]:
    """What CTranslate2 writes behind the tokens, or of them, always the most likely one."""
    if family(case) == "gpt2":
        generator = ctranslate2.Generator(str(directory), compute_type="float32", intra_threads=1)
        (result,) = generator.generate_batch([tokens], max_length=NEW_TOKENS, sampling_topk=1, include_prompt_in_result=False)
        return result.sequences[0]
    translator = ctranslate2.Translator(str(directory), compute_type="float32", intra_threads=1)
    (result,) = translator.translate_batch([tokens], beam_size=1, max_decoding_length=NEW_TOKENS)
    return result.hypotheses[0]


def written(case: str, kind: str, directory: Path, original: Path, ids: list[int], words: list[str]) -> list[int]:
    """By CTranslate2; by transformers where the file has sines of 16 bits, which CTranslate2 reads and we compute."""
    if family(case) not in ("marian", "m2m_100") or "float16" not in kind:
        return [words.index(token) for token in theirs(case, directory, [words[i] for i in ids])]
    model, given = load_model(original), torch.tensor([ids])
    banned = {"bad_words_ids": [[model.config.pad_token_id]]} if family(case) == "marian" else {}
    made = model.generate(given, max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=1, forced_eos_token_id=None,
                          attention_mask=torch.ones_like(given), **banned)  # fmt: skip
    return made[0, 1:].tolist()


def check_generation(attend: Attend, case: str, kind: str, directory: Path, original: Path) -> list[str]:
    tokenizer, found = slow_tokenizers.load(original), []
    if family(case) == "bert":
        return check_encoder(attend, directory, tokenizer)
    name = "vocabulary.json" if family(case) == "gpt2" else "shared_vocabulary.json"
    words = json.loads((directory / name).read_text())
    for text in TEXTS:
        ids = tokenizer(text).input_ids
        wanted = written(case, kind, directory, original, ids, words)
        line = json.loads(attend.run("generate", directory, "--json", "--max-new-tokens", str(NEW_TOKENS), "--quiet", text))
        got, ends = line["texts"][0]["ids"], tokenizer.eos_token_id
        if [i for i in got if i != ends] != [i for i in wanted if i != ends]:
            found.append(f"{text!r}: {got} for {wanted}")
    return found


def check_encoder(attend: Attend, directory: Path, tokenizer: Any) -> list[str]:
    encoder = ctranslate2.Encoder(str(directory), compute_type="float32", intra_threads=1)
    found = []
    for text in TEXTS:
        inputs = dict(tokenizer(text, return_tensors="pt"))
        output = encoder.forward_batch([inputs["input_ids"][0].tolist()])
        wanted = torch.from_numpy(np.array(output.last_hidden_state))
        error = relative_error(attend.forward(directory, inputs, states=False)["last_hidden_state"], wanted)
        if not error < 2e-5:
            found.append(f"{text!r}: states differ from CTranslate2's by {error:.1e}")
    return found


def check_tokens(attend: Attend, directory: Path, original: Path) -> list[str]:
    tokenizer = slow_tokenizers.load(original)
    return [f"{text!r}: {ids} for {tokenizer(text).input_ids}" for text, ids in zip(TEXTS, attend.tokenize(directory, TEXTS), strict=True)
            if ids != tokenizer(text).input_ids]  # fmt: skip


def check_fewer_bits(attend: Attend, case: str, directory: Path, plain: Path, original: Path, to: Path) -> list[str]:
    """--weights int8 of the directory, of the plain model made of it, and what `attend quantize` stores."""
    inputs = encode(slow_tokenizers.load(original), case)
    attend.run("quantize", directory, to, "--quiet")
    made = []
    with TemporaryDirectory() as folder:
        given, outputs = Path(folder) / "inputs.safetensors", Path(folder) / "outputs.safetensors"
        save_file(inputs, given)
        for model, flags in ((directory, ["--weights", "int8"]), (plain, ["--weights", "int8"]), (to, [])):
            attend.run("forward", model, "--inputs", given, "--outputs", outputs, *flags)
            made.append(load_file(outputs))
    return [f"{name} differs in int8" for name in made[0] for other in made[1:] if not torch.equal(made[0][name], other[name])]


def check(attend: Attend, cases: list[str], kinds: list[str], seed: int) -> Table:
    table = Table([("case", 36), ("type", 14), ("error", 8)])
    for case in cases:
        for kind in kinds:
            with TemporaryDirectory() as folder:
                original, directory = make(case, kind, seed, Path(folder))
                plain, error, details = Path(folder) / "plain", float("inf"), []
                try:
                    details += check_numbers(attend, directory, original, plain)
                    error, more = check_outputs(attend, case, kind, directory, original)
                    details += more + check_generation(attend, case, kind, directory, original)
                    details += check_tokens(attend, directory, original)
                    details += check_fewer_bits(attend, case, directory, plain, original, Path(folder) / "quantized")
                except AttendFailed as failure:
                    details.append(str(failure))
                table.row([case, kind, f"{error:.1e}"], bool(details), details)
    return table


# ---- what must be refused -----------------------------------------------------------------------------------


@dataclass
class File:
    """A model.bin in parts that can be changed."""

    spec: str
    revision: int
    variables: dict[str, tuple[list[int], int, bytes]]
    aliases: list[tuple[str, str]]
    version: int = 6

    @staticmethod
    def of(path: Path) -> File:
        spec, revision, variables, aliases = read(path)
        parts = {name: (list(array.shape), kind, array.tobytes()) for name, (kind, array) in variables.items()}
        return File(spec, revision, parts, list(aliases.items()))

    def bytes(self) -> bytes:
        def text(value: str) -> bytes:
            return struct.pack("H", len(value.encode()) + 1) + value.encode() + b"\0"

        out = struct.pack("I", self.version) + text(self.spec) + struct.pack("II", self.revision, len(self.variables))
        for name, (shape, kind, data) in self.variables.items():
            out += text(name) + struct.pack(f"<B{len(shape)}IBI", len(shape), *shape, kind, len(data)) + data
        return out + struct.pack("I", len(self.aliases)) + b"".join(text(alias) + text(of) for alias, of in self.aliases)


def scalar(value: float, kind: int = 0) -> tuple[list[int], int, bytes]:
    return [], kind, struct.pack({0: "f", 1: "b", 2: "h", 3: "i"}[kind], value)


TABLE, MATRIX = "decoder/embeddings/weight", "decoder/layer_0/ffn/linear_0/weight"


def broken(file: Callable[[], File]) -> Iterator[tuple[str, bytes, str]]:
    """A Marian of int8 with something wrong: what it is, the bytes, a part of what must be said."""
    sound = file().bytes()
    for cut in (0, 3, 7, 20, 30, 100, len(sound) // 2, len(sound) - 1):
        yield f"cut at {cut}", sound[:cut], "in this file" if cut in (30, 100) else "cut off"
    yield "more behind", sound + b"abc", "found 3 more bytes"

    def changed(change: Callable[[File], Any]) -> bytes:
        one = file()
        change(one)
        return one.bytes()

    def put(name: str, *parts: Any) -> bytes:
        return changed(lambda one: one.variables.update({name: parts[0] if len(parts) == 1 else parts}))

    shape, kind, data = file().variables[MATRIX]
    yield "version 5", changed(lambda one: setattr(one, "version", 5)), "binary version 6, found 5"
    yield "a revision to come", changed(lambda one: setattr(one, "revision", 8)), "revision 7 of TransformerSpec, found 8"
    yield "Whisper", changed(lambda one: setattr(one, "spec", "WhisperSpec")), 'found "WhisperSpec"'
    yield "no spec", changed(lambda one: setattr(one, "spec", "")), 'found ""'
    at = sound.index(struct.pack("II", 7, len(file().variables)))
    yield "very many variables", sound[: at + 4] + b"\xff" * 4 + sound[at + 8 :], "expected the number of variables"
    yield "very many aliases", changed(lambda one: one.aliases.clear())[:-4] + b"\xff" * 4, "expected the number of aliases"
    yield "a type of its own", put(MATRIX, shape, 6, data), "expected the number of a type, 0 to 5, found 6"
    yield "five dimensions", put(MATRIX, [1, 1, 1, *shape], kind, data), "expected at most 4 dimensions"
    yield "no rows", put(MATRIX, [0, shape[1]], kind, b""), "expected a positive number"
    yield "sizes that overflow", put(MATRIX, [2**31, 2**31, 2**31], kind, data), "cut off"
    yield "more rows than bytes", put(MATRIX, [shape[0] + 1, shape[1]], kind, data), "bytes for"
    yield "another type than its bytes", put(MATRIX, shape, 0, data), "bytes for"
    for first, second in (("a", "b"), ("a", "a")):
        yield f"an alias in a circle ({first}, {second})", changed(lambda one: one.aliases.extend([(first, second), (second, first)])), "alias"
    yield "an alias to nothing", changed(lambda one: one.aliases.append(("x/weight", "y/weight"))), "expected the name of a variable"
    yield "an alias of a name that is there", changed(lambda one: one.aliases.append((MATRIX, TABLE))), "already"
    yield "without scales", changed(lambda one: one.variables.pop(MATRIX + "_scale")), "is missing"
    yield "too few scales", put(MATRIX + "_scale", [shape[0] - 1], 0, bytes(4 * shape[0] - 4)), "scales of F32"
    yield "scales of int32", put(MATRIX + "_scale", [shape[0]], 3, bytes(4 * shape[0])), "scales of F32"
    yield "one scale for all", put(MATRIX + "_scale", scalar(3)), "dimensions"
    yield "a matrix of int32", put(MATRIX, shape, 3, bytes(4 * shape[0] * shape[1])), "8 or 16 bits"
    yield "a matrix of three dimensions", put(MATRIX, [shape[0], shape[1], 1], kind, data), ""
    yield "a norm of int8", put("decoder/layer_0/ffn/layer_norm/gamma", [shape[1]], 1, bytes(shape[1])), "8 or 16 bits"
    qkv = "decoder/layer_0/self_attention/linear_0/weight"
    yield "queries, keys and half", put(qkv, [3 * shape[1] - 1, shape[1]], kind, bytes((3 * shape[1] - 1) * shape[1])), ""
    yield "without a matrix", changed(lambda one: (one.variables.pop(MATRIX), one.variables.pop(MATRIX + "_scale"))), "is missing"
    yield "without its table", changed(lambda one: (one.variables.pop(TABLE), one.aliases.clear())), "is missing"
    yield "an unknown variable", put("decoder/layer_0/adapter/weight", [1, 1], 0, bytes(4)), "has no such variable"
    yield "an unknown number", put("decoder/layer_0/self_attention/rotary_dim", scalar(8, 3)), "has no such number"
    yield "layers with a gap", changed(lambda one: [one.variables.update({n.replace("layer_1/", "layer_7/"): one.variables.pop(n)})
                                                    for n in list(one.variables) if n.startswith("decoder/layer_1/")]), "numbered"  # fmt: skip
    yield "norms before", put("decoder/pre_norm", scalar(1, 1)), "expected 0"
    yield "ALiBi", put("decoder/alibi", scalar(1, 1)), "expected 0"
    yield "an unknown activation", put("encoder/activation", scalar(9, 1)), "expected 0 to 6"
    yield "two activations", put("encoder/activation", scalar(0, 1)), "the same activation"
    yield "no heads", put("encoder/num_heads", scalar(0, 2)), "expected an integer"
    yield "heads that are not a number", put("encoder/num_heads", scalar(float("nan"))), "expected an integer"
    yield "heads that do not divide", put("encoder/num_heads", scalar(31, 2)), "31"
    yield "heads in a row", put("encoder/num_heads", [2], 2, bytes(4)), "dimensions"
    yield "another scale of embeddings", put("decoder/scale_embeddings", scalar(2.5)), "found 2.5"
    place = "decoder/position_encodings/encodings"
    sizes, _, numbers = file().variables[place]
    yield "learned positions", put(place, sizes, 0, numbers[:4] + numbers[:-4]), "sines and cosines"
    yield "positions that are not numbers", put(place, sizes, 0, b"\xff" * len(numbers)), "sines and cosines"


def directories(sound: Path) -> Iterator[tuple[str, Callable[[Path], Any], str]]:
    """The same for the other files of the directory."""
    config, words = json.loads((sound / "config.json").read_text()), json.loads((sound / "shared_vocabulary.json").read_text())

    def put(name: str, value: Any) -> Callable[[Path], Any]:
        return lambda path: (path / name).write_text(value if isinstance(value, str) else json.dumps(value))

    yield "no config.json", lambda path: (path / "config.json").unlink(), "config.json"
    yield "an empty config.json", put("config.json", ""), "config.json"
    yield "an unknown end", put("config.json", config | {"eos_token": "<the end>"}), "<the end>"
    yield "an end that is a number", put("config.json", config | {"eos_token": 3}), "eos_token"
    yield "another epsilon", put("config.json", config | {"layer_norm_epsilon": 0.1}), "layer_norm_epsilon"
    yield "no vocabulary", lambda path: (path / "shared_vocabulary.json").unlink(), "shared_vocabulary.json"
    yield "a vocabulary too short", put("shared_vocabulary.json", words[:-1]), "tokens of the model's table"
    yield "a vocabulary of numbers", put("shared_vocabulary.json", list(range(len(words)))), "expected texts"
    yield "a vocabulary that is an object", put("shared_vocabulary.json", {}), "an array of texts"
    yield "a vocabulary cut off", put("shared_vocabulary.json", json.dumps(words)[:-2]), "shared_vocabulary.json"
    yield "no tokenizer", lambda path: [(path / n).unlink() for n in ("source.spm", "target.spm", "vocab.json")], "source.spm, target.spm, vocab.json"


def check_refused(attend: Attend, table: Table) -> None:
    with TemporaryDirectory() as folder:
        original, sound = make("marian", "int8", 0, Path(folder))
        inputs = Path(folder) / "inputs.safetensors"
        save_file(encode(slow_tokenizers.load(original), "marian"), inputs)
        cases = [(name, lambda path, data=data: (path / "model.bin").write_bytes(data), part)
                 for name, data, part in broken(lambda: File.of(sound / "model.bin"))]  # fmt: skip
        for name, change, part in [*cases, *directories(sound)]:
            path = Path(folder) / "broken"
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(sound, path)
            change(path)
            verb = ["translate", path, "a lamp"] if name == "no tokenizer" else \
                ["forward", path, "--inputs", inputs, "--outputs", Path(folder) / "outputs"]  # fmt: skip
            done = subprocess.run([attend.program, *verb], capture_output=True, text=True, timeout=60)
            said = done.stderr.strip()
            failed = done.returncode != 1 or "\n" in said or part not in said or not said
            table.row([name[:36], "", ""], failed, [f"status {done.returncode}: {said[-400:]}"] if failed else [])


def write_goldens() -> None:
    """Of one layer, with what they make of a text."""
    shutil.rmtree(DATA, ignore_errors=True)
    for case, kind in GOLDENS:
        with TemporaryDirectory() as folder:
            original, directory = make(case, kind, 0, Path(folder), SMALL)
            inputs = encode(slow_tokenizers.load(original), case, ["the lamp"])
            shutil.copytree(directory, DATA / case)
            for path in (DATA / case).iterdir():
                if path.name not in ("model.bin", "config.json") and "vocabulary" not in path.name:
                    path.unlink()
            outputs = {f"output.{name}": value.contiguous() for name, value in originals(original, inputs).items()}
            save_file({f"input.{name}": value for name, value in inputs.items()} | outputs, DATA / case / "golden.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path)
    parser.add_argument("--goldens", action="store_true")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--type", choices=KINDS)
    options = parser.parse_args()
    if options.goldens:
        write_goldens()
        return 0
    if options.attend is None:
        parser.error("give --attend or --goldens")
    attend = Attend(options.attend.resolve())
    cases = [] if options.broken else [options.case] if options.case else list(CASES)
    table = check(attend, cases, [options.type] if options.type else KINDS, options.seed)
    if not options.case:
        check_refused(attend, table)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
