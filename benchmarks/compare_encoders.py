#!/usr/bin/env python3
"""Encoders in float32, bfloat16 and int8: Attend, transformers, ONNX Runtime and OpenVINO on this machine, in one run.

    python benchmarks/compare_encoders.py --attend build/release/attend --threads 2

Random weights in the shapes of ModernBERT-base and MPNet-base. The programs take turns, and the medians count. A peer
whose outputs are not those of transformers (in float32: nearly, else: in direction) is an error. int8 is ONNX Runtime's
dynamic quantization and OpenVINO's static one (NNCF, with random texts). Needs onnxruntime, onnx, openvino, nncf.
"""

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import transformers as tf
from compare import Case, begin, make_parser, ours, timed

SHAPES = {
    "modernbert-base": lambda: tf.ModernBertConfig(reference_compile=False),
    "mpnet-base": lambda: tf.MPNetConfig(),
}
CASES = [
    Case("ModernBERT-base, 32 x 128 tokens", "modernbert-base", "encode", [128] * 32),
    Case("ModernBERT-base, 1 x 2048 tokens", "modernbert-base", "encode", [2048]),
    Case("MPNet-base, 32 x 128 tokens", "mpnet-base", "encode", [128] * 32),
]
MIN_COSINE = {"float32": 0.99999, "bfloat16": 0.99, "int8": 0.9}  # with transformers' float32
CALIBRATION = 8  # texts for OpenVINO's static quantization


@dataclass
class Texts:
    """Texts of one length: [B, L]."""

    ids: np.ndarray

    @classmethod
    def of(cls, case: Case) -> "Texts":
        return cls(np.random.default_rng(1).integers(1000, 9999, (len(case.lengths), case.lengths[0])))

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        return {"input_ids": self.ids, "attention_mask": np.ones_like(self.ids)}


Encode = Callable[[], np.ndarray]  # the last hidden states: [B, L, d]


class Hidden(torch.nn.Module):
    """The last hidden states alone, for exporters, which read the names of forward's arguments."""

    def __init__(self, directory: str, attention: str):
        super().__init__()
        self.model = load(directory, attention)

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def make_model(name: str, directory: str) -> None:
    if not os.path.exists(os.path.join(directory, "model.safetensors")):
        torch.manual_seed(0)
        tf.AutoModel.from_config(SHAPES[name]()).save_pretrained(directory)


def load(directory: str, attention: str = "sdpa") -> tf.PreTrainedModel:
    try:
        return tf.AutoModel.from_pretrained(directory, attn_implementation=attention).eval()
    except ValueError:  # has none but its own
        return tf.AutoModel.from_pretrained(directory).eval()


def transformers(directory: str, texts: Texts, kind: str, threads: int) -> Encode:
    model = load(directory).to({"float32": torch.float32, "bfloat16": torch.bfloat16}[kind])
    inputs = {name: torch.from_numpy(values) for name, values in texts.inputs.items()}

    def encode():
        with torch.inference_mode():
            return model(**inputs).last_hidden_state.float().numpy()

    return encode


def onnx_runtime(directory: str, texts: Texts, kind: str, threads: int) -> Encode:
    import onnxruntime

    files = {kind: os.path.join(directory, f"{kind}.onnx") for kind in ("float32", "int8")}
    if not os.path.exists(files["float32"]):
        example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in range(2))
        axes = {name: {0: "batch", 1: "length"} for name in ("input_ids", "attention_mask", "hidden")}
        torch.onnx.export(Hidden(directory, "eager"), example, files["float32"], dynamo=False, opset_version=17,
                          input_names=list(axes)[:2], output_names=["hidden"], dynamic_axes=axes)  # fmt: skip
    if not os.path.exists(files[kind]):
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(files["float32"], files["int8"], per_channel=True, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    session = onnxruntime.InferenceSession(files[kind], options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, texts.inputs)[0]


def openvino(directory: str, texts: Texts, kind: str, threads: int) -> Encode:
    import openvino

    files = {kind: os.path.join(directory, f"{kind}.xml") for kind in ("float32", "int8")}
    if not os.path.exists(files["float32"]):
        example = {name: torch.ones(2, 8, dtype=torch.long) for name in texts.inputs}
        model = openvino.convert_model(Hidden(directory, "sdpa"), example_input=example)
        model.reshape({entry: (-1, -1) for entry in model.inputs})
        openvino.save_model(model, files["float32"], compress_to_fp16=False)
    if kind == "int8" and not os.path.exists(files["int8"]):
        import nncf

        samples = [Texts(np.random.default_rng(100 + i).integers(1000, 9999, (4, 32 + i))).inputs
                   for i in range(CALIBRATION)]  # fmt: skip
        quantized = nncf.quantize(openvino.Core().read_model(files["float32"]), nncf.Dataset(samples),
                                  model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples))  # fmt: skip
        openvino.save_model(quantized, files["int8"])
    hints = {"INFERENCE_PRECISION_HINT": "bf16" if kind == "bfloat16" else "f32", "INFERENCE_NUM_THREADS": threads,
             "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}  # fmt: skip
    file = files["int8" if kind == "int8" else "float32"]
    request = openvino.Core().compile_model(file, "CPU", hints).create_infer_request()
    return lambda: request.infer(texts.inputs, share_inputs=True)[0]


PEERS = {
    "transformers": (transformers, ("float32", "bfloat16")),
    "ONNX Runtime": (onnx_runtime, ("float32", "int8")),
    "OpenVINO": (openvino, ("float32", "bfloat16", "int8")),
}
KINDS = ("float32", "bfloat16", "int8")


def check(name: str, kind: str, found: np.ndarray, wanted: np.ndarray) -> None:
    """That it computed this model: by the cosine of all hidden states."""
    cosine = float((found * wanted).sum() / np.sqrt((found**2).sum() * (wanted**2).sum()))
    if cosine < MIN_COSINE[kind]:
        raise SystemExit(f"{name} in {kind} computes something else: cosine {cosine:.4f}")


def measure(case: Case, directory: str, args) -> dict[tuple[str, str], float]:
    """Median seconds of each program in each type."""
    texts = Texts.of(case)
    wanted = transformers(directory, texts, "float32", args.threads)()
    rounds: dict[tuple[str, str], Callable[[], float]] = {}
    for name, (make, kinds) in PEERS.items():
        for kind in kinds:
            encode = make(directory, texts, kind, args.threads)
            check(name, kind, encode(), wanted)
            rounds[name, kind] = lambda encode=encode: timed(encode)
    for kind in KINDS:
        rounds["Attend", kind] = lambda kind=kind: ours(case, directory, args, "--weights", kind)
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in rounds}
    for _ in range(args.rounds):
        for key, round_ in rounds.items():
            seconds[key].append(round_())
    return {key: statistics.median(values) for key, values in seconds.items()}


def main() -> None:
    args = begin(make_parser(__doc__))
    columns = [(name, kind) for kind in KINDS for name in ("Attend", *PEERS)
               if name == "Attend" or kind in PEERS[name][1]]  # fmt: skip
    print("| texts a second | " + " | ".join(f"{name} {kind}" for name, kind in columns) + " | to the best peer |")
    print("|---|" + "---:|" * (len(columns) + 1))
    for case in CASES:
        if args.case not in case.name:
            continue
        directory = os.path.join(args.models, case.model)
        make_model(case.model, directory)
        seconds = measure(case, directory, args)
        best = {attend: min(value for (name, _), value in seconds.items() if (name == "Attend") == attend)
                for attend in (True, False)}  # fmt: skip
        speeds = " | ".join(f"{len(case.lengths) / seconds[column]:.2f}" for column in columns)
        print(f"| {case.name} | {speeds} | {best[False] / best[True]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
