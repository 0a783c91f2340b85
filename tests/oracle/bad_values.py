"""Broken tensors, settings, texts, training files and calls, for sound models."""

from __future__ import annotations

from typing import Any, Iterator

import torch

from bad_cases import INVALID, LINES, BadCase, Workshop, prompts
from common import Tensors

INPUTS = "inputs.safetensors"
LONG = " ".join(LINES * 20)  # several hundred tokens, for models of 40 positions


def changed(tensor: torch.Tensor, value: float, *, at: int = 0) -> torch.Tensor:
    copy = tensor.clone()
    copy.view(-1)[at] = value
    return copy


def input_cases(w: Workshop) -> Iterator[BadCase]:
    for family in ("bert", "gpt2", "marian"):
        sound: Tensors = w.inputs[family]
        ids, mask, labels = sound["input_ids"], sound["attention_mask"], sound["labels"]
        outside = w.vocabularies[family]  # the first id that is not in the vocabulary
        real = int(mask.flatten().argmax())  # a position that is not padding
        long = torch.ones(1, 41, dtype=torch.long)
        spoils: dict[str, tuple[Tensors, str]] = {
            "id one too large": ({"input_ids": changed(ids, outside, at=real)}, "input_ids"),
            "id of 2^62": ({"input_ids": changed(ids, 2**62, at=real)}, "input_ids"),
            "id negative": ({"input_ids": changed(ids, -1, at=real)}, "input_ids"),
            "ids of float": ({"input_ids": ids.float()}, "input_ids"),
            "ids of one dimension": ({"input_ids": ids[0]}, "input_ids"),
            "ids without positions": ({"input_ids": ids[:, :0], "attention_mask": mask[:, :0]}, "input_ids"),
            "ids without rows": ({"input_ids": ids[:0], "attention_mask": mask[:0]}, "input_ids"),
            "mask of another shape": ({"attention_mask": mask[:, :-1]}, "attention_mask"),
            "mask of other rows": ({"attention_mask": mask[:1]}, "attention_mask"),
            "mask of other values": ({"attention_mask": changed(mask, 7)}, "attention_mask"),
            "mask of half values": ({"attention_mask": mask / 2}, "attention_mask"),
            "labels too large": ({"labels": changed(labels, outside, at=real)}, "labels"),
            "labels negative": ({"labels": changed(labels, -5, at=real)}, "labels"),
            "labels of another shape": ({"labels": labels[:, :-1]}, "labels"),
            "labels of other rows": ({"labels": labels[:1]}, "labels"),
            "an unknown input": ({"input_idz": ids}, "input_idz"),
        }
        for name, (change, tensor) in spoils.items():
            arguments = w.forward(w.models[family], {**sound, **change}, "--gradients")
            yield BadCase(f"{family} {name}", arguments, (INPUTS, tensor))
        nothing = changed(mask, 0)
        nothing[0] = 0
        arguments = w.forward(w.models[family], {**sound, "attention_mask": nothing})
        yield BadCase(f"{family} a row of padding only", arguments, (INPUTS,), may_succeed=True)
        without = {name: tensor for name, tensor in sound.items() if name != "input_ids"}
        yield BadCase(f"{family} no ids", w.forward(w.models[family], without), (INPUTS, "input_ids"))
        arguments = w.forward(w.models[family], {"input_ids": long} | decoder_ids(family))
        yield BadCase(f"{family} longer than its positions", arguments, (INPUTS, "40|41"))
        no_labels = {name: tensor for name, tensor in sound.items() if name != "labels"}
        arguments = w.forward(w.models[family], no_labels, "--gradients")
        yield BadCase(f"{family} gradients without labels", arguments, (INPUTS, "labels"))
    bert, marian, gpt2 = (w.inputs[family] for family in ("bert", "marian", "gpt2"))
    types = {**bert, "token_type_ids": changed(bert["token_type_ids"], 2)}
    yield BadCase("type too large", w.forward(w.models["bert"], types), (INPUTS, "token_type_ids"))
    positions = {**gpt2, "position_ids": gpt2["input_ids"] * 0 + 40}
    yield BadCase("position too large", w.forward(w.models["gpt2"], positions), (INPUTS, "position_ids"))
    decoder = {**marian, "decoder_input_ids": changed(marian["decoder_input_ids"], w.vocabularies["marian"])}
    yield BadCase("decoder id too large", w.forward(w.models["marian"], decoder), (INPUTS, "decoder_input_ids"))
    decoder = {**marian, "decoder_input_ids": marian["decoder_input_ids"][:1]}
    yield BadCase("decoder ids of other rows", w.forward(w.models["marian"], decoder), (INPUTS, "decoder_"))
    alone = {"input_ids": marian["input_ids"]}
    yield BadCase("no decoder ids", w.forward(w.models["marian"], alone), (INPUTS, "decoder_input_ids"))

    whole, folder = w.tensors(bert).read_bytes(), w.folder()
    for name, content in {"empty": b"", "truncated": whole[: len(whole) // 2], "no safetensors": b"x" * 100}.items():
        yield BadCase(name, w.forward(w.models["bert"], w.file(INPUTS, content)), (INPUTS,))
    yield BadCase("missing", w.forward(w.models["bert"], w.folder() / INPUTS), (INPUTS,))
    yield BadCase("a folder", w.forward(w.models["bert"], folder), (folder.name,))
    sound_call = ["forward", w.models["bert"], "--inputs", w.tensors(bert), "--outputs"]
    yield BadCase("outputs in no folder", [*sound_call, w.out / "nowhere" / "made.safetensors"], ("made.safetensors",))
    yield BadCase("outputs a folder", [*sound_call, folder], (folder.name,))
    yield BadCase("full disk", [*sound_call, w.out / "made.safetensors"], ("made.safetensors",), file_blocks=2)


def decoder_ids(family: str) -> Tensors:
    return {"decoder_input_ids": torch.ones(1, 2, dtype=torch.long)} if family == "marian" else {}


def generation_cases(w: Workshop) -> Iterator[BadCase]:
    nonsense: dict[str, list[Any]] = {
        "num_beams": [0, -2, "four", 2.5, 10**9],
        "num_return_sequences": [0, 3, "all"],  # more than the beams: one
        "max_new_tokens": [0, -1, "all", 10**3, 10**12],  # of 40 positions
        "max_length": [-1, 1000],
        "min_new_tokens": [-1, "few"],
        "temperature": [0, -1, "hot"],
        "top_k": [-1, "many"],
        "top_p": [-0.1, 1.5, "most"],
        "repetition_penalty": [0, -1, "much"],
        "no_repeat_ngram_size": [-1, "two"],
        "length_penalty": ["long", [1]],
        "early_stopping": ["sometimes", 3],
        "eos_token_id": ["</s>", [1.5]],
        "pad_token_id": ["<pad>", -1, 10**6],
        "bad_words_ids": [3, [3], [[]], [[-1]], [["a"]]],
        "do_sample": ["yes", 3],
        "regex": ["(", "a{2,1}", "[b", "(?=a)", 3, ["a"]],
        "grammar": ["", "root", 'root ::= "a', "root ::= other", 'a ::= "a"', True],
        "json_schema": ["object", 3, [], {"type": "thing"}, {"items": {"not": {}}}, {"enum": []}, False,
                        {"type": "string", "pattern": "["}, {"type": "string", "maxLength": -1}, {"$ref": "#/$defs/x"},
                        {"type": "array", "minItems": 3, "maxItems": 2}],
    }
    unharmed = {"eos_token_id", "no_repeat_ngram_size", "min_new_tokens"}
    for name, values in nonsense.items():
        for value in values:
            others: dict[str, Any] = {"max_new_tokens": 4, "pad_token_id": 0}
            if name in ("temperature", "top_k", "top_p"):
                others["do_sample"] = True
            if name == "max_length":
                del others["max_new_tokens"]
            if name in ("length_penalty", "early_stopping"):
                others["num_beams"] = 2
            arguments = w.generate(w.models["gpt2"], prompts(w, "gpt2"), others | {name: value})
            # A negative count may mean "none". A count of 1000 tokens is limited by the model's maximum.
            relaxed = (name in unharmed and isinstance(value, int)) or value == 1000
            # Both the model and the settings limit the number of tokens.
            mentions = (f"generation.json|{INPUTS}|config.json", f"{name}|position")
            yield BadCase(f"{name} {value}", arguments, mentions, may_succeed=relaxed)
    for name, content in {"empty": b"", "no JSON": b"num_beams: 3", "a list": b"[]"}.items():
        yield BadCase(name, w.generate(w.models["gpt2"], prompts(w, "gpt2"), content), ("generation.json",))
    for family in ("gpt2", "marian"):
        sound = prompts(w, family)
        wrong = {**sound, "input_ids": changed(sound["input_ids"], w.vocabularies[family])}
        wrong["attention_mask"] = torch.ones_like(wrong["input_ids"])
        yield BadCase(f"{family} id too large", w.generate(w.models[family], wrong, {}), (INPUTS, "input_ids"))
        long = {"input_ids": torch.ones(1, 41, dtype=torch.long)}
        yield BadCase(f"{family} longer than its positions", w.generate(w.models[family], long, {"max_new_tokens": 4}),
                      (f"{INPUTS}|generation.json|config.json", "40|41"))  # fmt: skip
    encoder = w.generate(w.models["bert"], prompts(w, "gpt2"), {})
    yield BadCase("an encoder", encoder, ("config.json|bert", "generate"))


def text_cases(w: Workshop) -> Iterator[BadCase]:
    verbs: dict[str, list[Any]] = {
        "tokenize": ["tokenize", w.models["gpt2"]],
        "embed": ["embed", w.models["sentences"], "--json"],
        "translate": ["translate", w.models["marian"]],
        "generate": ["generate", w.models["gpt2"]],
    }
    for verb, call in verbs.items():
        second = LINES[0].encode() + b"\n" + INVALID
        yield BadCase(f"{verb} invalid UTF-8", call, ("standard input|stdin", "2", "UTF-8"), stdin=second)
        yield BadCase(f"{verb} half a character", call, ("UTF-8",), stdin="Grü".encode()[:-1] + b"\n")
        yield BadCase(f"{verb} a lone surrogate", call, ("UTF-8",), stdin=b"\xed\xa0\x80\n")
        yield BadCase(f"{verb} a zero byte", call, ("standard input",), stdin=b"a\0b\n", may_succeed=True)
        yield BadCase(f"{verb} no text", call, ("",), stdin=b"", may_succeed=True)
        yield BadCase(f"{verb} an empty line", call, ("",), stdin=b"\n", may_succeed=True)
    for verb in ("translate", "generate"):
        yield BadCase(f"{verb} over the length limit", [*verbs[verb], LONG], ("40",))
        yield BadCase(f"{verb} a line over the length limit", verbs[verb], ("40",), stdin=LONG.encode() + b"\n")
    # Sentence encoders truncate, at the length in sentence_bert_config.json.
    yield BadCase("embed a long text", verbs["embed"], ("",), status=0, stdin=LONG.encode() + b"\n")
    # With --json, a bad line gets its own output line, and the others are not affected; the exit status shows
    # it.
    detokenize = ["detokenize", w.models["gpt2"], "--json"]
    lines = {"no JSON": b"5 6\n", "a list": b"[5, 6]\n", "text for ids": b'{"ids": "5"}\n', "id too large":
             b'{"ids": [100000]}\n', "id negative": b'{"ids": [-1]}\n', "id of 2^40": b'{"ids": [1099511627776]}\n',
             "no ids": b"{}\n"}  # fmt: skip
    for name, stdin in lines.items():
        yield BadCase(f"detokenize --json {name}", detokenize, status=1, stdin=stdin, answers='"error"')
    tokenize = ["tokenize", w.models["gpt2"], "--json"]
    texts = {"no JSON": b"the lamp\n", "no text": b"{}\n", "a number": b'{"text": 3}\n', "a list": b'["the lamp"]\n'}
    for name, stdin in texts.items():
        yield BadCase(f"tokenize --json {name}", tokenize, status=1, stdin=stdin, answers='"error"')
    for name, stdin in {"words": b"5\nlamp\n", "id too large": b"5\n100000\n", "id negative": b"5\n-1\n"}.items():
        yield BadCase(f"detokenize {name}", detokenize[:2], ("standard input|stdin", "2"), stdin=stdin)
    decoder = ["embed", w.models["gpt2"]]
    yield BadCase("embed with a decoder", decoder, ("gpt2|config.json",), stdin=b"x\n", may_succeed=True)
    yield BadCase("translate with an encoder", ["translate", w.models["bert"]], ("translat",), stdin=b"x\n")


def training_cases(w: Workshop) -> Iterator[BadCase]:
    shorter = w.file("shorter.txt", (LINES[0] + "\n").encode())
    empty = w.file("empty.txt", b"")
    latin = w.file("latin.txt", "".join(line + "\n" for line in LINES[:2]).encode() + INVALID)
    missing, folder = w.folder() / "missing.txt", w.folder()
    pairs = {
        "unequal numbers of lines": (w.text, shorter, "shorter.txt", "3"),
        "target empty": (w.text, empty, "empty.txt", ""),
        "both empty": (empty, empty, "empty.txt", ""),
        "source invalid UTF-8": (latin, w.text, "latin.txt", "3"),
        "target invalid UTF-8": (w.text, latin, "latin.txt", "3"),
        "source missing": (missing, w.text, "missing.txt", ""),
        "source a folder": (folder, w.text, folder.name, ""),
    }
    for name, (source, target, file, count) in pairs.items():
        mentions = (file, count) if count else (file,)
        yield BadCase(name, w.train(source, target), mentions)
        yield BadCase(f"validation, {name}", w.train(w.text, w.text, (source, target)), mentions)
        yield BadCase(f"evaluate, {name}", ["evaluate", "translation", w.models["marian"], source, target], mentions)
    gone = ["train", "--objective", "sequence-to-sequence", "--model", w.root / "nobody", "--train", w.text, w.text,
            "--validation", w.text, w.text, "--steps", "1", "--output", w.out / "trained"]  # fmt: skip
    yield BadCase("model missing", gone, ("nobody",))

    def learn(*files: Any, size: str = "300", model: str = "bpe") -> list[Any]:
        return ["tokenizer", "train", "--model", model, "--vocab-size", size, "--output", w.out / "tokenizer", *files]

    yield BadCase("tokenizer of an empty file", learn(empty), ("empty.txt",))
    yield BadCase("tokenizer of a missing file", learn(missing), ("missing.txt",))
    yield BadCase("tokenizer of invalid UTF-8", learn(latin), ("latin.txt", "3"))
    yield BadCase("tokenizer on a full disk", learn(w.text), ("tokenizer",), file_blocks=1)
    for size in ("0", "-5", "many", "3"):
        # Three are too few for the bytes; the others are not sizes, which the call itself detects.
        status = 1 if size == "3" else 2
        yield BadCase(f"tokenizer of {size} tokens", learn(w.text, size=size), ("vocab",), status)

    def fresh(*settings: str) -> list[Any]:
        flags = [part for setting in settings for part in ("--set", setting)]
        return ["init", "marian", w.out / "fresh", "--tokenizer", w.models["marian"], *flags]

    for setting in ("preset=transformer-gigantic", "d_model=-4", "d_model=wide", "encoder_layers=0.5", "wings=2",
                    "encoder_attention_heads=7", "dropout=2", "activation_function=wobble"):  # fmt: skip
        yield BadCase(f"init {setting}", fresh("preset=transformer-tiny", setting), (setting.split("=")[0],))
    yield BadCase("init of an unknown family", ["init", "berd", w.out / "fresh"], ("berd",))
    yield BadCase("init on a full disk", fresh("preset=transformer-tiny"), ("fresh",), file_blocks=10)


def call_cases(w: Workshop) -> Iterator[BadCase]:
    """Wrong calls: exit status 2."""
    bert = w.models["bert"]
    calls: dict[str, tuple[list[Any], str]] = {
        "no verb": ([], "attend"),
        "unknown verb": (["fly"], "fly"),
        "no model": (["forward"], ""),
        "no inputs": (["forward", bert], "inputs"),
        "unknown flag": (["inspect", bert, "--wings"], "wings"),
        "threads of text": (["inspect", bert, "--threads", "many"], "threads"),
        "flag without its value": (["inspect", bert, "--threads"], "threads"),
        "unknown objective": (["train", "--objective", "levitation", "--model", bert, "--train", w.text, "--output",
                               w.out / "trained"], "objective|levitation"),
    }  # fmt: skip
    for name, (arguments, mention) in calls.items():
        yield BadCase(name, arguments, (mention,), status=2)
    folder = w.folder()
    for name, model, mention in [("missing", w.root / "nobody", "nobody"), ("a file", w.text, w.text.name),
                                 ("an empty folder", folder, folder.name)]:  # fmt: skip
        yield BadCase(f"model {name}", ["inspect", model], (mention,))
        yield BadCase(f"model {name}, forward", w.forward(model, w.inputs["bert"]), (mention,))
        yield BadCase(f"model {name}, embed", ["embed", model], (mention,), stdin=b"x\n")
        yield BadCase(f"model {name}, tokenize", ["tokenize", model], (mention,), stdin=b"x\n")
