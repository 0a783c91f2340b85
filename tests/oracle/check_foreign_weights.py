"""Directories whose matrices bitsandbytes, GPTQ, AWQ and compressed-tensors stored, and gpt-oss's in MXFP4, against the
numbers that they mean.

    python check_foreign_weights.py --attend build/release/attend [--seed N] [--case bert] [--format nf4]
    python check_foreign_weights.py --goldens     # remakes tests/data/foreign

Each format is written here from its definition (src/formats names the sources), every matrix of the layers with integers
and scales drawn at random, and the plain model with their numbers. `attend convert` must give the
same bits, and `attend forward` what transformers gives on the plain model. Where the packages compressed_tensors and
bitsandbytes are installed, they must read what is written here as the same numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from common import Attend, AttendFailed, Table, Tensors, relative_error
from models import randomize
from originals import load_model

DATA = Path(__file__).parents[1] / "data" / "foreign"
CASES = ["bert", "gpt2", "t5", "gpt_oss"]
Written = tuple[Tensors, torch.Tensor]  # the stored tensors, by the suffix after the module's name; the
                                        # matrix [out, in]


def words(integers: torch.Tensor, bits: int, order: list[int] | None = None) -> torch.Tensor:
    """[..., n] unsigned integers to [..., n / (32 / bits)] words; integer order[i] of each goes to place i from below."""
    count = 32 // bits
    lanes = integers.long().unflatten(-1, (-1, count))
    if order:
        lanes = lanes[..., order]
    packed = (lanes << (torch.arange(count) * bits)).sum(-1)
    return torch.where(packed >= 2**31, packed - 2**32, packed).int()


def draw(generator: torch.Generator, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=generator)


def scales(generator: torch.Generator, columns: int, bits: int, *shape: int) -> torch.Tensor:
    """So that a matrix's outputs have about the size of its inputs."""
    return ((0.5 + torch.rand(shape, generator=generator)) * 4 / 2**bits * columns**-0.5).half()


def int8(g: torch.Generator, out: int, inputs: int, **_: Any) -> Written:
    integers = (draw(g, 255, out, inputs) - 127).to(torch.int8)
    largest = (0.5 + torch.rand(out, generator=g)) * 2 * inputs**-0.5
    stored = {"weight": integers, "SCB": largest, "weight_format": torch.tensor(0, dtype=torch.uint8)}
    return stored, integers.float() * largest[:, None] * torch.tensor(1.0 / 127)


NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]  # fmt: skip
FP4 = [0, 0.0625, 8, 12, 4, 6, 2, 3, -0.0, -0.0625, -8, -12, -4, -6, -2, -3]


def four_bits(g: torch.Generator, out: int, inputs: int, kind: str, double: bool, **_: Any) -> Written:
    book = torch.tensor(NF4 if kind == "nf4" else [x / 12 for x in FP4])
    count, block = out * inputs, 64
    blocks = -(-count // block)
    codes = draw(g, 16, count + count % 2)
    codes[count:] = 0
    state: dict[str, Any] = {"quant_type": kind, "blocksize": block, "dtype": "float16", "shape": [out, inputs]}
    stored = {"weight": (codes[::2] * 16 + codes[1::2]).to(torch.uint8)[:, None], "weight.quant_map": book}
    if double:
        outer_block, offset = 256, 0.0312
        outer = torch.rand(-(-blocks // outer_block), generator=g) * inputs**-0.5
        outer_book = torch.linspace(-1, 1, 256)
        absmax = draw(g, 256, blocks).to(torch.uint8)
        state |= {"nested_blocksize": outer_block, "nested_dtype": "float32", "nested_offset": offset}
        stored |= {"weight.absmax": absmax, "weight.nested_absmax": outer, "weight.nested_quant_map": outer_book}
        scale = outer_book[absmax.long()] * outer.repeat_interleave(outer_block)[:blocks] + offset
    else:
        scale = torch.rand(blocks, generator=g) * 2 * inputs**-0.5
        stored["weight.absmax"] = scale
    text = json.dumps(state).encode()
    stored[f"weight.quant_state.bitsandbytes__{kind}"] = torch.tensor(list(text), dtype=torch.uint8)
    matrix = book[codes[:count]] * scale.repeat_interleave(block)[:count]
    return stored, matrix.view(out, inputs)


def gptq(g: torch.Generator, out: int, inputs: int, bits: int, group: int, symmetric: bool, version: int, shuffled: bool) -> Written:
    size = inputs if group < 0 else group
    groups = -(-inputs // size)
    integers = draw(g, 2**bits, inputs, out)
    # Zero is left out: its meaning in version 1 has changed over time.
    zeros = torch.full((groups, out), 2 ** (bits - 1)) if symmetric else 1 + draw(g, 2**bits - 1, groups, out)
    scale = scales(g, inputs, bits, groups, out)
    index = torch.arange(inputs) // size
    if shuffled:
        index = index[torch.randperm(inputs, generator=g)]
    stored = {"qweight": words(integers.T, bits).T.contiguous(), "qzeros": words(zeros - int(version == 1), bits),
              "scales": scale, "g_idx": index.int()}  # fmt: skip
    return stored, (scale.float()[index] * (integers - zeros[index]).float()).T.contiguous()


def awq(g: torch.Generator, out: int, inputs: int, group: int) -> Written:
    integers, zeros = draw(g, 16, inputs, out), draw(g, 16, inputs // group, out)
    scale = scales(g, inputs, 4, inputs // group, out)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    stored = {"qweight": words(integers, 4, order), "qzeros": words(zeros, 4, order), "scales": scale}
    index = torch.arange(inputs) // group
    return stored, (scale.float()[index] * (integers - zeros[index]).float()).T.contiguous()


def packed(g: torch.Generator, out: int, inputs: int, bits: int, group: int, symmetric: bool) -> Written:
    groups, middle = (1 if group < 0 else inputs // group), 2 ** (bits - 1)
    integers, zeros = draw(g, 2**bits, out, inputs) - middle, draw(g, 2**bits, out, groups) - middle
    scale = scales(g, inputs, bits, out, groups)
    count = 32 // bits
    filled = torch.nn.functional.pad(integers + middle, (0, -inputs % count))
    stored = {"weight_packed": words(filled, bits), "weight_scale": scale, "weight_shape": torch.tensor([out, inputs])}
    if symmetric:
        zeros *= 0
    else:
        stored["weight_zero_point"] = words(torch.nn.functional.pad((zeros + middle).T, (0, -out % count)), bits).T.contiguous()
    index = torch.arange(inputs) // (inputs if group < 0 else group)
    return stored, (integers - zeros[:, index]).float() * scale.float()[:, index]


def plain(g: torch.Generator, out: int, inputs: int, symmetric: bool, tensor: bool) -> Written:
    integers = (draw(g, 256, out, inputs) - 128).to(torch.int8)
    shape = (1,) if tensor else (out, 1)
    scale, zeros = scales(g, inputs, 8, *shape), (draw(g, 16, *shape) - 8).to(torch.int8)
    stored = {"weight": integers, "weight_scale": scale}
    if not symmetric:
        stored["weight_zero_point"] = zeros
    return stored, (integers.int() - (0 if symmetric else zeros.int())).float() * scale.float()


MXFP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


def mxfp4(g: torch.Generator, experts: int, inputs: int, out: int) -> Written:
    """Of all experts: the matrices are [experts, in, out]."""
    codes = draw(g, 16, experts, out, inputs // 32, 32)
    exponents = draw(g, 5, experts, out, inputs // 32) - 6
    blocks = (codes[..., ::2] + 16 * codes[..., 1::2]).to(torch.uint8)
    matrix = torch.ldexp(torch.tensor(MXFP4)[codes], exponents[..., None]).flatten(2)
    return {"_blocks": blocks, "_scales": (exponents + 127).to(torch.uint8)}, matrix.transpose(1, 2).contiguous()


def groups_config(form: str, bits: int, group: int, symmetric: bool, strategy: str = "") -> dict[str, Any]:
    strategy = strategy or ("channel" if group < 0 else "group")
    weights = {"num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": strategy, "group_size": None if group < 0 else group}
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


def gptq_config(bits: int, group: int, symmetric: bool, name: str = "gptq") -> dict[str, Any]:
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": symmetric, "desc_act": False, "checkpoint_format": name}


BNB = {"quant_method": "bitsandbytes"}
FORMATS: dict[str, tuple[Callable[..., Written], dict[str, Any], dict[str, Any]]] = {
    "int8": (int8, {}, BNB | {"load_in_8bit": True}),
    "nf4": (four_bits, dict(kind="nf4", double=False), BNB | {"load_in_4bit": True}),
    "nf4-double": (four_bits, dict(kind="nf4", double=True), BNB | {"load_in_4bit": True}),
    "fp4": (four_bits, dict(kind="fp4", double=False), BNB | {"load_in_4bit": True}),
    "gptq4": (gptq, dict(bits=4, group=16, symmetric=True, version=1, shuffled=False), gptq_config(4, 16, True)),
    "gptq4-uneven": (gptq, dict(bits=4, group=16, symmetric=False, version=1, shuffled=False), gptq_config(4, 16, False)),
    "gptq4-v2": (gptq, dict(bits=4, group=-1, symmetric=False, version=2, shuffled=False), gptq_config(4, -1, False, "gptq_v2")),
    "gptq4-v2-as-v1": (gptq, dict(bits=4, group=16, symmetric=True, version=2, shuffled=False), gptq_config(4, 16, True)),
    "gptq4-order": (gptq, dict(bits=4, group=16, symmetric=True, version=1, shuffled=True), gptq_config(4, 16, True) | {"desc_act": True}),
    "gptq8": (gptq, dict(bits=8, group=16, symmetric=False, version=1, shuffled=False), gptq_config(8, 16, False)),
    "awq": (awq, dict(group=16), {"quant_method": "awq", "bits": 4, "group_size": 16, "version": "gemm", "zero_point": True}),
    "pack4": (packed, dict(bits=4, group=16, symmetric=True), groups_config("pack-quantized", 4, 16, True)),
    "pack4-uneven": (packed, dict(bits=4, group=16, symmetric=False), groups_config("pack-quantized", 4, 16, False)),
    "pack8": (packed, dict(bits=8, group=-1, symmetric=True), groups_config("pack-quantized", 8, -1, True)),
    "int-channel": (plain, dict(symmetric=True, tensor=False), groups_config("int-quantized", 8, -1, True)),
    "int-tensor": (plain, dict(symmetric=False, tensor=True), groups_config("int-quantized", 8, -1, False, "tensor")),
    "mxfp4": (mxfp4, {}, {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                            "model.embed_tokens", "lm_head"]}),
}  # fmt: skip


def formats_of(case: str) -> list[str]:
    return [form for form in FORMATS if (form == "mxfp4") == (case == "gpt_oss")]


def make_plain(case: str, seed: int) -> Any:
    if case == "bert":
        config = transformers.BertConfig(vocab_size=61, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
                                         intermediate_size=48, max_position_embeddings=24)  # fmt: skip
        model: Any = transformers.BertForMaskedLM(config)
    elif case == "gpt2":
        config = transformers.GPT2Config(vocab_size=61, n_embd=32, n_layer=1, n_head=4, n_inner=48, n_positions=24,
                                         bos_token_id=0, eos_token_id=0)  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    elif case == "gpt_oss":
        config = transformers.GptOssConfig(vocab_size=61, hidden_size=32, intermediate_size=64, num_hidden_layers=1, head_dim=8,
                                           num_attention_heads=4, num_key_value_heads=2, num_local_experts=3, num_experts_per_tok=2,
                                           max_position_embeddings=24, rope_scaling=None, bos_token_id=0, eos_token_id=0)  # fmt: skip
        model = transformers.GptOssForCausalLM(config)
    else:
        config = transformers.T5Config(vocab_size=61, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4,
                                       decoder_start_token_id=0)  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    randomize(model, torch.Generator().manual_seed(seed))
    return model


def make(case: str, form: str, seed: int, directory: Path) -> None:
    """Writes plain/ and quantized/."""
    write, settings, config = FORMATS[form]
    model, generator = make_plain(case, seed), torch.Generator().manual_seed(seed)
    conv1d = transformers.pytorch_utils.Conv1D
    stored: Tensors = {}
    for name, parameter in model.named_parameters() if form == "mxfp4" else ():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            parts, matrices = write(generator, *parameter.shape)
            parameter.data.copy_(matrices)
            stored |= {f"{name}{part}": tensor for part, tensor in parts.items()} | {name: torch.empty(0)}
    for name, module in model.named_modules():
        if form == "mxfp4" or not isinstance(module, (torch.nn.Linear, conv1d)) or name.startswith(("lm_head", "cls.")):
            continue
        turned = isinstance(module, conv1d)
        out, inputs = module.weight.T.shape if turned else module.weight.shape
        parts, matrix = write(generator, out, inputs, **settings)
        with torch.no_grad():
            module.weight.copy_(matrix.T if turned else matrix)
        stored |= {f"{name}.{part}": tensor.contiguous() for part, tensor in parts.items()}
        stored[f"{name}.weight"] = parts.get("weight", torch.empty(0))
    model.save_pretrained(directory / "plain")
    tensors = load_file(directory / "plain/model.safetensors")
    tensors |= stored
    (directory / "quantized").mkdir()
    save_file({name: t for name, t in tensors.items() if t.numel() or t.ndim != 1}, directory / "quantized/model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    fields = json.loads((directory / "plain/config.json").read_text()) | {"quantization_config": config}
    (directory / "quantized/config.json").write_text(json.dumps(fields, indent=1) + "\n")


def inputs_of(case: str) -> Tensors:
    inputs = {"input_ids": torch.tensor([[3, 9, 27, 50, 12]]), "attention_mask": torch.ones(1, 5, dtype=torch.long)}
    return inputs | ({"decoder_input_ids": torch.tensor([[0, 4, 8]])} if case == "t5" else {})


def original(case: str, directory: Path) -> torch.Tensor:
    with torch.no_grad():
        return load_model(directory / "plain")(**inputs_of(case)).logits


def check_format(attend: Attend, case: str, form: str, directory: Path) -> tuple[float, list[str]]:
    details = []
    attend.run("convert", directory / "quantized", directory / "converted", "--quiet")
    if "quantization_config" in json.loads((directory / "converted/config.json").read_text()):
        details.append("the converted model still says that it is quantized")
    ours, theirs = load_file(directory / "converted/model.safetensors"), load_file(directory / "plain/model.safetensors")
    details += [f"{name} is {'missing' if name in theirs else 'additional'}" for name in ours.keys() ^ theirs.keys()]
    details += [f"{name} differs by {relative_error(ours[name], theirs[name]):.1e}" for name in ours.keys() & theirs.keys()
                if not torch.equal(ours[name], theirs[name])]  # fmt: skip
    error = relative_error(attend.forward(directory / "quantized", inputs_of(case), states=False)["logits"], original(case, directory))
    return error, details + ([f"outputs differ by {error:.1e}"] if error > 2e-5 else [])


def check_packages(form: str, directory: Path) -> list[str]:
    """Do the formats' own packages, where they are installed, read the same numbers?"""
    stored, theirs = load_file(directory / "quantized/model.safetensors"), load_file(directory / "plain/model.safetensors")
    if form == "mxfp4":
        name = "model.layers.0.mlp.experts.gate_up_proj"
        found = convert_moe_packed_tensors(stored[f"{name}_blocks"], stored[f"{name}_scales"], dtype=torch.float32)
        return [] if torch.equal(found, theirs[name]) else ["transformers reads other numbers"]
    name = "bert.encoder.layer.0.intermediate.dense"
    wanted = theirs[f"{name}.weight"]
    if form.startswith("pack"):
        try:
            from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32
        except ImportError:
            return []
        bits = int(form[4])
        found = unpack_from_int32(stored[f"{name}.weight_packed"], bits, wanted.shape).int()
        scale = stored[f"{name}.weight_scale"].float()
        zeros = torch.zeros(scale.shape, dtype=torch.int32)
        if f"{name}.weight_zero_point" in stored:
            zeros = unpack_from_int32(stored[f"{name}.weight_zero_point"], bits, scale.shape, packed_dim=0).int()
        each = wanted.shape[1] // scale.shape[1]
        matrix = (found - zeros.repeat_interleave(each, 1)).float() * scale.repeat_interleave(each, 1)
    elif form in ("nf4", "fp4", "nf4-double"):
        try:
            import bitsandbytes.functional as F
        except ImportError:
            return []
        parts = {key.removeprefix(f"{name}."): tensor for key, tensor in stored.items() if key.startswith(f"{name}.weight.")}
        state = F.QuantState.from_dict(parts, device=torch.device("cpu"))
        state.dtype = torch.float32
        matrix = F.dequantize_4bit(stored[f"{name}.weight"], state)
    else:
        return []
    error = relative_error(matrix, wanted)
    return [] if error < 1e-6 else [f"the format's package reads other numbers: {error:.1e}"]


def write_goldens() -> None:
    """Of each program GPT-2's quantized directory, of MXFP4 gpt-oss's, and what the plain model makes of five tokens."""
    for form in ("int8", "nf4-double", "gptq4", "awq", "pack4-uneven", "int-channel", "mxfp4"):
        case = "gpt_oss" if form == "mxfp4" else "gpt2"
        with TemporaryDirectory() as folder:
            make(case, form, 3, Path(folder))
            target = DATA / form
            target.mkdir(parents=True, exist_ok=True)
            for file in ("config.json", "model.safetensors"):
                (target / file).write_bytes((Path(folder) / "quantized" / file).read_bytes())
            save_file(inputs_of(case), target / "inputs.safetensors")
            save_file({"logits": original(case, Path(folder))}, target / "expected.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path)
    parser.add_argument("--goldens", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--format", choices=FORMATS)
    options = parser.parse_args()
    if options.goldens:
        write_goldens()
        return 0
    if options.attend is None:
        parser.error("give --attend or --goldens")
    attend = Attend(options.attend.resolve())
    table = Table([("case", 6), ("format", 16), ("error", 8)])
    for case in [options.case] if options.case else CASES:
        for form in formats_of(case) if options.format is None else {options.format} & {*formats_of(case)}:
            with TemporaryDirectory() as folder:
                make(case, form, options.seed, Path(folder))
                error, details = float("inf"), []
                try:
                    error, details = check_format(attend, case, form, Path(folder))
                except AttendFailed as failure:
                    details.append(str(failure))
                if case in ("bert", "gpt_oss"):
                    details += check_packages(form, Path(folder))
                table.row([case, form, f"{error:.1e}"], bool(details), details)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
