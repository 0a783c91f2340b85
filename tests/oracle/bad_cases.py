"""The calls of check_bad_input.py: every way to hand attend something broken, and what it has to say about it.

A case spoils one thing in a sound set of models, tensors and texts. `mentions` are what the one line of the error
must name, each with its alternatives: "config.json|model.safetensors".
"""

from __future__ import annotations

import itertools
import json
import shutil
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, PreTrainedTokenizerFast

from common import Tensors
from model_cases import SMALL
from models import make_model
from random_inputs import make_inputs

LINES = ["The lamp is on the table.", "Nobody saw the second door.", "Rain again, and no umbrella."]
INVALID = b"caf\xe9 au lait\n"  # Latin-1, so no UTF-8


@dataclass(frozen=True)
class BadCase:
    name: str
    arguments: Sequence[object]
    mentions: tuple[str, ...] = ()
    status: int = 1
    stdin: bytes = b""
    answers: str = ""  # must be in the output of a success
    may_succeed: bool = False  # success and an error are both fine
    file_blocks: int | None = None  # the max size of a file in blocks of 512 bytes: a full disk


def container(header: dict[str, Any] | bytes, data: bytes, length: int | None = None) -> bytes:
    """A safetensors file, whatever is wrong with it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


class Workshop:
    """Sound models, tensors and texts in a folder, and copies of them to spoil."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.numbers = itertools.count()
        # Attend writes only into `out`, which is emptied before the next case.
        self.out = root / "out"
        self.out.mkdir()
        self.models = {family: root / "sound" / family for family in ("bert", "gpt2", "marian", "sentences")}
        tokenizers = {"bert": word_pieces(), "gpt2": byte_pairs("<|end|>"), "marian": byte_pairs("</s>")}
        cases = {"bert": "bert-masked-lm", "gpt2": "gpt2", "marian": "marian", "sentences": "bert-model"}
        for family, directory in self.models.items():
            tokenizer = tokenizers.get(family, tokenizers["bert"])
            make_model(cases[family], 0, directory, replace(SMALL, vocabulary=tokenizer.get_vocab_size(), positions=40))
            specials = {"eos_token": "<|end|>" if family == "gpt2" else "</s>"} if family in ("gpt2", "marian") else {}
            PreTrainedTokenizerFast(tokenizer_object=tokenizer, **specials).save_pretrained(directory)
        make_sentence_encoder(self.models["sentences"])
        configs = {family: AutoConfig.from_pretrained(self.models[family]) for family in ("bert", "gpt2", "marian")}
        self.vocabularies = {family: config.vocab_size for family, config in configs.items()}
        self.inputs = {family: make_inputs(config, "right", 1) for family, config in configs.items()}
        self.prompts = make_inputs(configs["gpt2"], "left", 1)
        self.text = self.file("sound.txt", "".join(line + "\n" for line in LINES).encode())

    def folder(self) -> Path:
        folder = self.root / f"{next(self.numbers):04}"
        folder.mkdir()
        return folder

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder() / name
        path.write_bytes(content)
        return path

    def tensors(self, tensors: Tensors) -> Path:
        path = self.folder() / "inputs.safetensors"
        save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, path)
        return path

    def model(self, family: str, spoil: Callable[[Path], Any] = lambda directory: None) -> Path:
        directory = self.folder() / family
        shutil.copytree(self.models[family], directory)
        spoil(directory)
        return directory

    def set_field(self, family: str, **fields: Any) -> Path:
        def spoil(directory: Path) -> None:
            path = directory / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | fields))

        return self.model(family, spoil)

    def forward(self, model: Path, inputs: Tensors | Path, *flags: str) -> list[object]:
        path = inputs if isinstance(inputs, Path) else self.tensors(inputs)
        return ["forward", model, "--inputs", path, "--outputs", self.out / "outputs.safetensors", *flags]

    def generate(self, model: Path, inputs: Tensors, settings: Any) -> list[object]:
        content = settings if isinstance(settings, bytes) else json.dumps(settings).encode()
        made = ["--outputs", self.out / "outputs.safetensors"]
        path = self.file("generation.json", content)
        return ["generate", model, "--inputs", self.tensors(inputs), *made, "--generation-config", path]

    def train(self, source: Path, target: Path, validation: tuple[Path, Path] | None = None) -> list[object]:
        held_out = validation or (self.text, self.text)
        return ["train", "--objective", "sequence-to-sequence", "--model", self.models["marian"], "--train", source,
                target, "--validation", *held_out, "--steps", "1", "--output", self.out / "trained"]  # fmt: skip


def byte_pairs(end: str) -> Tokenizer:
    """Ends texts with `end` where it is "</s>" (id 0), and has a padding token as its last."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=270, special_tokens=[end, "<unk>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    if end == "</s>":
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 0)])
    tokenizer.add_special_tokens(["<pad>"])
    return tokenizer


def word_pieces() -> Tokenizer:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted(set("".join(LINES).lower()) - {" "})
    vocabulary = [*specials, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def make_sentence_encoder(directory: Path) -> None:
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    (directory / "modules.json").write_text(json.dumps(modules))
    (directory / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": SMALL.width, "pooling_mode_mean_tokens": True}
    (directory / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (directory / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 30, "do_lower_case": False}))


def sound(w: Workshop) -> Iterator[BadCase]:
    """Nothing is wrong: these must succeed, or the failures of the others would say nothing."""
    for family in ("bert", "gpt2", "marian"):
        yield BadCase(f"forward {family}", w.forward(w.models[family], w.inputs[family], "--gradients"), status=0)
        yield BadCase(f"inspect {family}", ["inspect", w.models[family]], status=0)
    for family in ("gpt2", "marian"):
        arguments = w.generate(w.models[family], prompts(w, family), {"max_new_tokens": 3})
        yield BadCase(f"generate {family}", arguments, status=0)
    yield BadCase("embed", ["embed", w.models["sentences"], "--json"], status=0, stdin=b"the lamp\n")
    yield BadCase("translate", ["translate", w.models["marian"]], status=0, stdin=b"the lamp\n")
    yield BadCase("tokenize", ["tokenize", w.models["gpt2"]], status=0, stdin=b"the lamp\n")
    yield BadCase("detokenize", ["detokenize", w.models["gpt2"], "--json"], status=0, stdin=b'{"ids": [5, 6]}\n')
    out = ["--output", w.out / "tokenizer"]
    yield BadCase("tokenizer", ["tokenizer", "train", "--model", "bpe", "--vocab-size", "300", *out, w.text], status=0)
    yield BadCase("init", ["init", "marian", w.out / "fresh", "--tokenizer", w.models["marian"], "--set",
                           "preset=transformer-tiny"], status=0)  # fmt: skip


def prompts(w: Workshop, family: str) -> Tensors:
    names = ("input_ids", "attention_mask")
    # A decoder continues after the last column, so its prompts are padded on the left.
    given = w.prompts if family == "gpt2" else w.inputs[family]
    return {name: given[name] for name in names}
