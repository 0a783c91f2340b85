"""Broken model directories: weights, config.json, tokenizer and sentence-transformers files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Iterator

from bad_cases import BadCase, Workshop, container, parts

Header = dict[str, Any]
WEIGHTS = "model.safetensors"


def spoil_bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        path = directory / name
        path.write_bytes(change(path.read_bytes()))

    return spoil


def spoil_header(change: Callable[[Header], None]) -> Callable[[Path], None]:
    """`change` may leave the data too long or too short; that too is then wrong with the file."""

    def spoil(directory: Path) -> None:
        header, data = parts(directory / WEIGHTS)
        change(header)
        (directory / WEIGHTS).write_bytes(container(header, data))

    return spoil


def without_tensor(name: str) -> Callable[[Path], None]:
    """A sound file without one tensor."""

    def spoil(directory: Path) -> None:
        header, data = parts(directory / WEIGHTS)
        kept, made = {}, b""
        for key, entry in header.items():
            if key == "__metadata__":
                kept[key] = entry
            elif key != name:
                begin, end = entry["data_offsets"]
                kept[key] = entry | {"data_offsets": [len(made), len(made) + end - begin]}
                made += data[begin:end]
        (directory / WEIGHTS).write_bytes(container(kept, made))

    return spoil


def with_tensor(name: str, entry: Header, content: bytes) -> Callable[[Path], None]:
    """A sound file with one tensor more."""

    def spoil(directory: Path) -> None:
        header, data = parts(directory / WEIGHTS)
        offsets = [len(data), len(data) + len(content)]
        (directory / WEIGHTS).write_bytes(container(header | {name: entry | {"data_offsets": offsets}}, data + content))

    return spoil


def weight_cases(w: Workshop) -> Iterator[BadCase]:
    query = "bert.encoder.layer.0.attention.self.query.weight"  # [12, 12], F32
    key = "bert.encoder.layer.0.attention.self.key.weight"
    up = "bert.encoder.layer.1.intermediate.dense.weight"  # [19, 12]

    def overlap(header: Header) -> None:
        header[query]["data_offsets"] = header[key]["data_offsets"]

    def update(name: str, **fields: Any) -> Callable[[Path], None]:
        return spoil_header(lambda header: header[name].update(fields))

    def make_folder(directory: Path) -> None:
        (directory / WEIGHTS).unlink()
        (directory / WEIGHTS).mkdir()

    spoils: dict[str, tuple[Callable[[Path], Any], str]] = {
        "empty": (spoil_bytes(WEIGHTS, lambda b: b""), ""),
        "seven bytes": (spoil_bytes(WEIGHTS, lambda b: b[:7]), ""),
        "cut in the header": (spoil_bytes(WEIGHTS, lambda b: b[:100]), ""),
        "cut in the data": (spoil_bytes(WEIGHTS, lambda b: b[: len(b) // 2]), ""),
        "one byte short": (spoil_bytes(WEIGHTS, lambda b: b[:-1]), ""),
        "one byte long": (spoil_bytes(WEIGHTS, lambda b: b + b"\0"), ""),
        "huge header length": (spoil_bytes(WEIGHTS, lambda b: b"\xff" * 8 + b[8:]), ""),
        "header length beyond the file": (spoil_bytes(WEIGHTS, lambda b: (10**6).to_bytes(8, "little") + b[8:]), ""),
        "header length zero": (spoil_bytes(WEIGHTS, lambda b: bytes(8) + b[8:]), ""),
        "header no JSON": (spoil_bytes(WEIGHTS, lambda b: container(b"{not json", b"")), ""),
        "header a list": (spoil_bytes(WEIGHTS, lambda b: container(b"[1, 2]", b"")), ""),
        "header deeply nested": (spoil_bytes(WEIGHTS, lambda b: container(b"[" * 300_000, b"")), ""),
        "header invalid UTF-8": (spoil_bytes(WEIGHTS, lambda b: container(b'{"\xff\xfe": 1}', b"")), ""),
        "no tensors": (spoil_bytes(WEIGHTS, lambda b: container(b"{}", b"")), ""),
        "entry a number": (spoil_header(lambda h: h.update({query: 3})), query),
        "entry without dtype": (spoil_header(lambda h: h[query].pop("dtype")), query),
        "unknown dtype": (update(query, dtype="Q7"), query),
        "dtype of another size": (update(query, dtype="F64"), query),
        "overlapping": (spoil_header(overlap), f"{query}|{key}"),
        "a hole": (spoil_header(lambda h: h.pop(query)), ""),
        "offsets backwards": (update(query, data_offsets=[576, 0]), query),
        "offsets negative": (update(query, data_offsets=[-576, 0]), query),
        "offsets beyond the file": (update(query, data_offsets=[10**9, 10**9 + 576]), query),
        "offsets of 2^64": (update(query, data_offsets=[2**64 - 576, 2**64 - 1]), query),
        "offsets of text": (update(query, data_offsets=["a", "b"]), query),
        "shape negative": (update(query, shape=[-12, -12]), query),
        "shape overflowing": (update(query, shape=[2**40, 2**40]), query),
        "shape overflowing to its size": (update(query, shape=[2**62, 4, 36]), query),
        "shape of fractions": (update(query, shape=[1.5, 96]), query),
        "integers for weights": (update(query, dtype="I32"), query),
        "shape of another order": (update(up, shape=[12, 19]), up),
        "shape of another rank": (update(query, shape=[144]), query),
        "shape of another model": (update(query, shape=[6, 24]), query),
        "tensor missing": (without_tensor(query), query),
        "embedding missing": (without_tensor("bert.embeddings.word_embeddings.weight"), "word_embeddings"),
        "a folder": (make_folder, ""),
        "missing": (lambda d: (d / WEIGHTS).unlink(), ""),
    }
    for name, (spoil, tensor) in spoils.items():
        mentions = (WEIGHTS, tensor) if tensor else (WEIGHTS,)
        yield BadCase(name, w.forward(w.model("bert", spoil), w.inputs["bert"]), mentions)
    surplus = with_tensor("bert.nobody.weight", {"dtype": "F32", "shape": [2]}, bytes(8))
    yield BadCase("tensor too many", w.forward(w.model("bert", surplus), w.inputs["bert"]), status=0)
    for name in ("cut in the header", "overlapping", "huge header length", "header deeply nested"):
        yield BadCase(f"inspect, {name}", ["inspect", w.model("bert", spoils[name][0])], (WEIGHTS,))

    index = "model.safetensors.index.json"

    def sharded(content: bytes) -> Callable[[Path], None]:
        def spoil(directory: Path) -> None:
            (directory / WEIGHTS).rename(directory / "model-00001-of-00001.safetensors")
            (directory / index).write_bytes(content)

        return spoil

    shards: dict[str, Any] = {
        "index empty": b"",
        "index no JSON": b"weight_map",
        "index without weight_map": {"metadata": {}},
        "index of numbers": {"weight_map": {query: 3}},
        "shard missing": {"weight_map": {query: "model-00002-of-00002.safetensors"}},
        "shard outside the directory": {"weight_map": {query: "../../bert/model.safetensors"}},
        "tensor not in its shard": {"weight_map": {"bert.nobody.weight": "model-00001-of-00001.safetensors"}},
    }
    for name, content in shards.items():
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        model = w.model("bert", sharded(text))
        yield BadCase(name, w.forward(model, w.inputs["bert"]), (f"{index}|model-0000",))


SIZES = {
    "bert": ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
             "max_position_embeddings", "type_vocab_size"],
    "gpt2": ["vocab_size", "n_embd", "n_layer", "n_head", "n_positions", "n_inner"],
    "marian": ["vocab_size", "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim",
               "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim", "max_position_embeddings"],
}  # fmt: skip
FIELDS: list[tuple[str, str, list[Any]]] = [  # family, field, invalid values
    ("bert", "layer_norm_eps", ["small", -1.0, [1e-12], True]),
    ("bert", "hidden_dropout_prob", [1.5, -0.1, "none"]),
    ("bert", "attention_probs_dropout_prob", [2, {}]),
    ("bert", "hidden_act", ["wobble", 7, ""]),
    ("bert", "position_embedding_type", ["spiral", 3]),
    ("bert", "is_decoder", ["yes", 2]),
    ("bert", "add_cross_attention", [True]),  # not ours yet
    ("bert", "tie_word_embeddings", ["no", 3]),
    ("bert", "problem_type", ["guesswork", 5]),
    ("bert", "id2label", [[], 3]),
    ("bert", "pad_token_id", [10**6, "none"]),
    ("bert", "architectures", ["BertForMaskedLM", [], ["BertForFortuneTelling"], [3], 3]),
    ("bert", "model_type", ["berd", 3, "", None, "gpt2"]),
    ("gpt2", "activation_function", ["wobble", None]),
    ("gpt2", "layer_norm_epsilon", ["small", -1e-5]),
    ("gpt2", "scale_attn_weights", ["yes", 2]),
    ("gpt2", "resid_pdrop", [1.01, "a"]),
    ("marian", "activation_function", ["wobble", 1]),
    ("marian", "scale_embedding", ["yes", 2]),
    ("marian", "dropout", [-1, "a", 7]),
    ("marian", "decoder_start_token_id", [10**6, -3, "<pad>"]),
    ("marian", "pad_token_id", [10**6, -3, "<pad>"]),
]
# Valid by themselves: attend may support them, or reject them with an error.
HARMLESS = [("bert", "problem_type"), ("bert", "id2label"), ("bert", "pad_token_id"), ("bert", "architectures")]


def config_cases(w: Workshop) -> Iterator[BadCase]:
    for family, fields in SIZES.items():
        for field in fields:
            for value in (-1, 0, 10**12, 2**64, "many", 2.5, [3], True):
                model = w.set_field(family, **{field: value})
                # Only the weights show that there are no layers at all.
                where = ("config.json", field) if value != 0 else (f"config.json|{WEIGHTS}",)
                yield BadCase(f"{family} {field} {json.dumps(value)}", w.forward(model, w.inputs[family]), where)
            # In the range of a size, so that the weights decide; memory must not be allocated before that.
            model = w.set_field(family, **{field: 2**31 - 1})
            endless = (family, field) == ("marian", "max_position_embeddings")  # sinusoids have no weights
            arguments = w.forward(model, w.inputs[family])
            yield BadCase(f"{family} {field} 2^31-1", arguments, (f"config.json|{WEIGHTS}",), may_succeed=endless)
    for family, field, values in FIELDS:
        for value in values:
            inputs = w.inputs[family]
            if field == "decoder_start_token_id":  # needed if the decoder's inputs are made from labels
                inputs = {name: tensor for name, tensor in inputs.items() if not name.startswith("decoder_")}
            arguments = w.forward(w.set_field(family, **{field: value}), inputs)
            harmless = (family, field) in HARMLESS and value not in (["BertForFortuneTelling"], [3])
            mentions = (f"config.json|{WEIGHTS}", field if value != "gpt2" else "")
            yield BadCase(f"{family} {field} {json.dumps(value)}", arguments, mentions, may_succeed=harmless)
    heads = {"bert": ["num_attention_heads"], "gpt2": ["n_head"],
             "marian": ["encoder_attention_heads", "decoder_attention_heads"]}  # fmt: skip
    for family, fields in heads.items():
        for field in fields:
            model = w.set_field(family, **{field: 5})  # of a width of 12
            arguments = w.forward(model, w.inputs[family])
            yield BadCase(f"{family} {field} that do not divide", arguments, ("config.json", field))

    contents: dict[str, tuple[Callable[[bytes], bytes], bool]] = {
        "empty": (lambda b: b"", False),
        "no JSON": (lambda b: b"hidden_size = 12", False),
        "truncated": (lambda b: b[: len(b) // 2], False),
        "a list": (lambda b: b"[]", False),
        "null": (lambda b: b"null", False),
        "an empty object": (lambda b: b"{}", False),
        "deeply nested": (lambda b: b'{"a":' * 300_000, False),
        "invalid UTF-8": (lambda b: b.replace(b'"gelu"', b'"g\xe9lu"'), False),
        "not a number": (lambda b: b.replace(b'"layer_norm_eps": 1e-12', b'"layer_norm_eps": NaN'), False),
        "infinite": (lambda b: b.replace(b'"layer_norm_eps": 1e-12', b'"layer_norm_eps": 1e999'), False),
        "something after its end": (lambda b: b + b"}", False),
        "a field twice": (lambda b: b.replace(b"{", b'{"hidden_size": 24,', 1), True),  # the last one may
                                                                                        # count
    }
    for name, (change, harmless) in contents.items():
        model = w.model("bert", spoil_bytes("config.json", change))
        yield BadCase(name, w.forward(model, w.inputs["bert"]), ("config.json",), may_succeed=harmless)
    model = w.model("bert", lambda d: (d / "config.json").unlink())
    yield BadCase("missing", w.forward(model, w.inputs["bert"]), ("config.json",))
    empty = w.model("bert", spoil_bytes("config.json", lambda b: b""))
    yield BadCase("inspect, empty", ["inspect", empty], ("config.json",))


def tokenizer_cases(w: Workshop) -> Iterator[BadCase]:
    def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
        def apply(content: bytes) -> bytes:
            data = json.loads(content)
            change(data)
            return json.dumps(data).encode()

        return apply

    spoils: dict[str, Callable[[bytes], bytes]] = {
        "empty": lambda b: b"",
        "truncated": lambda b: b[: len(b) // 2],
        "no JSON": lambda b: b"tokenizer",
        "a list": lambda b: b"[]",
        "an empty object": lambda b: b"{}",
        "deeply nested": lambda b: b"[" * 300_000,
        "invalid UTF-8": lambda b: b.replace(b'"ByteLevel"', b'"Byt\xe9Level"', 1),
        "model unknown": edit(lambda t: t["model"].update(type="Guess")),
        "pre-tokenizer unknown": edit(lambda t: t["pre_tokenizer"].update(type="Guess")),
        "vocabulary of text": edit(lambda t: t["model"].update(vocab="abc")),
        "id negative": edit(lambda t: t["model"]["vocab"].update(a=-4)),
        "id huge": edit(lambda t: t["model"]["vocab"].update(a=2**40)),
        "id of text": edit(lambda t: t["model"]["vocab"].update(a="7")),
        "merge of unknown tokens": edit(lambda t: t["model"]["merges"].insert(0, ["qqq", "zzz"])),
        "merge of three": edit(lambda t: t["model"]["merges"].insert(0, ["a", "b", "c"])),
        "merge a number": edit(lambda t: t["model"]["merges"].insert(0, 3)),
        "bad regular expression": edit(lambda t: t.update(pre_tokenizer={
            "type": "Split", "pattern": {"Regex": "(unclosed"}, "behavior": "Isolated", "invert": False})),
        "added token id negative": edit(lambda t: t["added_tokens"][0].update(id=-1)),
    }  # fmt: skip
    for name, change in spoils.items():
        arguments = ["tokenize", w.model("gpt2", spoil_bytes("tokenizer.json", change))]
        yield BadCase(name, arguments, ("tokenizer.json",), stdin=b"the lamp\n")
    missing = w.model("gpt2", lambda d: (d / "tokenizer.json").unlink())
    yield BadCase("missing", ["tokenize", missing], ("tokenizer",), stdin=b"the lamp\n")

    pooling = "1_Pooling/config.json"
    sentences: dict[str, tuple[str, bytes]] = {
        "modules.json no JSON": ("modules.json", b"modules"),
        "modules.json empty": ("modules.json", b""),
        "modules.json an object": ("modules.json", b"{}"),
        "modules.json of numbers": ("modules.json", b"[1, 2]"),
        "modules.json of an unknown kind": ("modules.json", b'[{"idx": 0, "path": "", "type": "a.Spell"}]'),
        "pooling empty": (pooling, b""),
        "pooling without a mode": (pooling, b'{"word_embedding_dimension": 12}'),
        "pooling of another width": (pooling, b'{"word_embedding_dimension": 999, "pooling_mode_mean_tokens": true}'),
        "max_seq_length negative": ("sentence_bert_config.json", b'{"max_seq_length": -1}'),
        "max_seq_length of text": ("sentence_bert_config.json", b'{"max_seq_length": "long"}'),
    }
    for name, (path, content) in sentences.items():
        model = w.model("sentences")
        (model / path).write_bytes(content)
        relaxed = "another width" in name or "without a mode" in name
        yield BadCase(
            name,
            ["embed", model, "--json"],
            (Path(path).name + "|modules.json",),
            stdin=b"the lamp\n",
            may_succeed=relaxed,
        )
