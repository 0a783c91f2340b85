"""GGUF files against the originals: numbers bit for bit, outputs, generated ids, vectors, tokens.

    python check_gguf.py --attend build/release/attend [--seed N] [--case gpt2] [--type Q4_K]
    python check_gguf.py --goldens     # remakes tests/data/gguf

Tiny random models of each architecture and type are written with GGUFWriter under the names that llama.cpp's
convert_hf_to_gguf.py gives them (gguf's own table of names), with a tokenizer trained on our corpus. What is compared with
is transformers on the same weights as the package gguf dequantizes them; where transformers reads such files itself
(gpt2, t5), with what it reads too. Blocks that the package cannot make (Q2_K to Q6_K, IQ1 to IQ4) are drawn at random.
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
from sentencepiece import sentencepiece_model_pb2

import gguf_decoders
import slow_tokenizers
from common import Attend, AttendFailed, Table, Tensors, relative_error
from make_tokenizer_goldens import CORPUS
from models import randomize
from originals import load_model

DATA = Path(__file__).parents[1] / "data" / "gguf"
TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q4_K, Type.Q5_K, Type.Q6_K,
         Type.Q2_K, Type.Q3_K, Type.IQ4_NL, Type.IQ4_XS, Type.MXFP4, Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S, Type.IQ3_XXS, Type.IQ3_S,
         Type.IQ1_S, Type.IQ1_M]
CASES = ["gpt2", "gpt2-untied", "gptj", "bert", "bert-cased", "t5", "t5-gated", "t5encoder", *gguf_decoders.CASES]
TEXTS = ["the lamp is on the table", "Über den Dächern, don't you think so?", "12 boats & 345 gulls", " two  spaces ",
         "<|endoftext|>a<pad> </s>[MASK] [SEP]", "漢字かな", "", "crème brûlée №5"]  # fmt: skip
SCALES = {Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208], Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.IQ4_NL: [0],
          Type.IQ4_XS: [0], Type.IQ2_XXS: [0], Type.IQ2_XS: [0], Type.IQ2_S: [0], Type.IQ3_XXS: [0], Type.IQ3_S: [0],
          Type.IQ1_S: [0], Type.IQ1_M: []}  # the positions of a block's float16


def quantize(rng: np.random.Generator, numbers: np.ndarray, kind: Type) -> np.ndarray:
    """Bytes of [rows, columns] numbers, or something of their size where the package makes no such blocks."""
    if kind in SCALES:
        count, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (numbers.size // count, size), dtype=np.uint8)
        for place in SCALES[kind]:
            scale = (rng.normal(size=len(blocks)) * 0.002).astype(np.float16)
            blocks[:, place : place + 2] = scale[:, None].view(np.uint8)
        if kind == Type.IQ1_M:  # its float16 is in the highest bits of four words: a small one, of any sign
            blocks[:, 49::2] &= 0x0F
            blocks[:, [51, 53]] |= rng.integers(0, 16, (len(blocks), 2), dtype=np.uint8) << 4
            blocks[:, 55] |= rng.choice(np.array([0x10, 0x90], np.uint8), len(blocks))
        return blocks.reshape(numbers.shape[0], -1)
    return gguf.quants.quantize(np.ascontiguousarray(numbers, np.float32), kind)


def make_bert_tokenizer(directory: Path, cased: bool) -> Any:
    from tokenizers import BertWordPieceTokenizer

    trainer = BertWordPieceTokenizer(lowercase=not cased)
    trainer.train_from_iterator(CORPUS.splitlines(), vocab_size=400, show_progress=False)
    tokens = sorted(trainer.get_vocab(), key=trainer.get_vocab().get)
    (directory / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
    slow_tokenizers.write(directory / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": not cased})
    return slow_tokenizers.load(directory)


def make_tokenizer(case: str, directory: Path) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_tokenizer(case, directory)
    if case.startswith("bert"):
        return make_bert_tokenizer(directory, case == "bert-cased")
    return slow_tokenizers.build("t5" if case.startswith("t5") else "gpt2", directory)


def make_config(case: str, vocabulary: int, width: int, layers: int) -> Any:
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_config(case, vocabulary, width, layers)
    # Heads of a quarter of the width; feed-forward layers of another width; both a multiple of a block.
    gpt = dict(vocab_size=vocabulary, n_embd=width, n_layer=layers, n_head=4, n_positions=48, n_inner=2 * width,
               bos_token_id=0, eos_token_id=0, tie_word_embeddings=case == "gpt2")  # fmt: skip
    if case in ("gpt2", "gpt2-untied"):
        return transformers.GPT2Config(**gpt)
    if case == "gptj":
        return transformers.GPTJConfig(**gpt, rotary_dim=width // 8)
    if case.startswith("bert"):
        return transformers.BertConfig(
            vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
            intermediate_size=2 * width, max_position_embeddings=48,
        )  # fmt: skip
    gated = case == "t5-gated"
    return transformers.T5Config(
        vocab_size=vocabulary, d_model=width, d_kv=width // 4, d_ff=2 * width, num_layers=layers, num_heads=4,
        num_decoder_layers=layers + (case == "t5"), relative_attention_num_buckets=8, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=not gated,
    )  # fmt: skip


def make_model(case: str, config: Any) -> Any:
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_model(case, config)
    if case.startswith("bert"):
        return transformers.BertModel(config, add_pooling_layer=False)
    head = {"gpt2": "GPT2LMHeadModel", "gpt2-untied": "GPT2LMHeadModel", "gptj": "GPTJForCausalLM",
            "t5encoder": "T5EncoderModel"}.get(case, "T5ForConditionalGeneration")  # fmt: skip
    return getattr(transformers, head)(config)


ARCHITECTURES = {"gpt2": gguf.MODEL_ARCH.GPT2, "gptj": gguf.MODEL_ARCH.GPTJ, "bert": gguf.MODEL_ARCH.BERT,
                 "t5": gguf.MODEL_ARCH.T5, "t5encoder": gguf.MODEL_ARCH.T5ENCODER}  # fmt: skip


def architecture(case: str) -> str:
    return case.split("-")[0]


def arch_of(case: str) -> gguf.MODEL_ARCH:
    return gguf_decoders.CASES[case].arch if case in gguf_decoders.CASES else ARCHITECTURES[architecture(case)]


def write_metadata(writer: gguf.GGUFWriter, case: str, config: Any) -> None:
    if case in gguf_decoders.CASES:
        return gguf_decoders.write_metadata(writer, case, config)
    arch = architecture(case)
    writer.add_context_length(48)
    if arch in ("gpt2", "gptj"):
        writer.add_block_count(config.n_layer)
        writer.add_embedding_length(config.n_embd)
        writer.add_feed_forward_length(config.n_inner)
        writer.add_head_count(config.n_head)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        if arch == "gptj":
            writer.add_rope_dimension_count(config.rotary_dim)
    elif arch == "bert":
        writer.add_block_count(config.num_hidden_layers)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.CLS if case == "bert-cased" else gguf.PoolingType.MEAN)
    else:
        writer.add_block_count(config.num_layers)
        writer.add_embedding_length(config.d_model)
        writer.add_feed_forward_length(config.d_ff)
        writer.add_head_count(config.num_heads)
        writer.add_key_length(config.d_kv)
        writer.add_value_length(config.d_kv)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
        writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
        if arch == "t5":
            writer.add_decoder_block_count(config.num_decoder_layers)
            writer.add_decoder_start_token_id(config.decoder_start_token_id)


def write_gpt2_tokenizer(writer: gguf.GGUFWriter, directory: Path, vocabulary: int) -> None:
    tokens = json.loads((directory / "vocab.json").read_text())
    by_id = {number: token for token, number in tokens.items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([by_id.get(i, f"[PAD{i}]") for i in range(vocabulary)])
    kinds = [gguf.TokenType.UNUSED if i not in by_id else
             gguf.TokenType.CONTROL if by_id[i] == "<|endoftext|>" else gguf.TokenType.NORMAL for i in range(vocabulary)]  # fmt: skip
    writer.add_token_types(kinds)
    writer.add_token_merges((directory / "merges.txt").read_text().splitlines()[1:])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id):
        add(tokens["<|endoftext|>"])


def write_bert_tokenizer(writer: gguf.GGUFWriter, directory: Path) -> None:
    tokens = (directory / "vocab.txt").read_text().splitlines()
    special = [token.startswith("[") and token.endswith("]") for token in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    writer.add_token_list(
        [token if whole else token[2:] if token.startswith("##") else "\u2581" + token for token, whole in zip(tokens, special)]
    )
    writer.add_token_types([gguf.TokenType.CONTROL if whole else gguf.TokenType.NORMAL for whole in special])
    ids = {token: i for i, token in enumerate(tokens)}
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])


def write_t5_tokenizer(writer: gguf.GGUFWriter, directory: Path, vocabulary: int) -> None:
    model = sentencepiece_model_pb2.ModelProto.FromString((directory / "spiece.model").read_bytes())
    padding = range(len(model.pieces), vocabulary)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece.piece for piece in model.pieces] + [f"[PAD{i}]" for i in padding])
    writer.add_token_scores([piece.score for piece in model.pieces] + [-10000.0 for _ in padding])
    writer.add_token_types([piece.type for piece in model.pieces] + [gguf.TokenType.UNUSED for _ in padding])
    writer.add_add_space_prefix(model.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(model.normalizer_spec.remove_extra_whitespaces)
    if model.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(model.normalizer_spec.precompiled_charsmap)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    writer.add_pad_token_id(0)


def make(case: str, kind: Type, seed: int, directory: Path, width: int | None = None, layers: int = 2) -> Path:
    """Writes original/ (the dequantized model, its tokenizer) and model.gguf, and returns the latter."""
    rng = np.random.default_rng(seed)
    original = directory / "original"
    tokenizer = make_tokenizer(case, original)
    width = width or (256 if gguf.GGML_QUANT_SIZES[kind][0] == 256 else 64)
    vocabulary = len(tokenizer) + 3  # some models have more rows than tokens
    config = make_config(case, vocabulary, width, layers)
    model = make_model(case, config)
    randomize(model, torch.Generator().manual_seed(seed))
    arch, decodes = arch_of(case), case in gguf_decoders.CASES
    names = gguf.get_tensor_name_map(arch, max(layers, getattr(config, "num_decoder_layers", 0) or 0) + 1)
    path = directory / "model.gguf"
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    write_metadata(writer, case, config)
    if decodes:
        gguf_decoders.write_tokenizer(writer, case, original, vocabulary)
        for name, numbers in gguf_decoders.factors(case, config).items():
            writer.add_tensor(name, numbers)
    elif case.startswith("bert"):
        write_bert_tokenizer(writer, original)
    elif case.startswith("t5"):
        write_t5_tokenizer(writer, original, vocabulary)
    else:
        write_gpt2_tokenizer(writer, original, vocabulary)

    state = model.state_dict()
    kept: set[int] = set()
    with torch.no_grad():
        for name, parameter in state.items():
            if parameter.data_ptr() in kept or name.endswith(("position_ids", ".attn.bias", ".attn.masked_bias")):
                continue
            kept.add(parameter.data_ptr())
            theirs = names.get_name(name, try_suffixes=(".weight", ".bias"))
            if theirs is None:
                raise RuntimeError(f"{case}: gguf has no name for {name}")
            turned = arch == gguf.MODEL_ARCH.GPT2 and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight"))
            numbers = (parameter.T if turned else parameter).float().contiguous().numpy()
            order = gguf_decoders.rows(case, name, config, len(numbers)) if decodes else None
            offset = gguf_decoders.shift(case, name) if decodes else 0.0
            if order is not None:
                numbers = numbers[order]
            numbers = numbers + np.float32(offset)
            whole = numbers.ndim < 2 or numbers.shape[-1] % gguf.GGML_QUANT_SIZES[kind][0] or "attn_rel_b" in theirs
            use = Type.F32 if whole else kind
            data = quantize(rng, numbers, use)
            writer.add_tensor(theirs, data, raw_dtype=use)
            read = gguf.quants.dequantize(data, use).reshape(numbers.shape) - np.float32(offset)
            back = torch.from_numpy(read if order is None else read[np.argsort(order)])
            parameter.copy_(back.T if turned else back)
            if case == "gpt2" and theirs == "token_embd.weight" and seed % 2:  # as older converters did
                writer.add_tensor("output.weight", data, raw_dtype=use)
    model.save_pretrained(original)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


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
        wanted.append(vector / vector.norm())
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
    """What transformers makes of the file is what we take for the original."""
    if case not in ("gpt2", "t5-gated"):  # for T5 it reads the same number of decoder layers as encoder
                                          # layers
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
    """blocks.*: two rows of 256 numbers of every type; sources.*: what some of them are made of. Models: of one layer, with what they make of two texts."""
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
