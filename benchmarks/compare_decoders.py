#!/usr/bin/env python3
"""Decoders in few bits with Attend, llama.cpp, OpenVINO GenAI and ONNX Runtime GenAI on this machine, in one run.

    python benchmarks/compare_decoders.py --attend build/release/attend --threads 2

Random weights in the shapes of SmolLM2-135M and Llama-3.2-1B, written as GGUF by attend convert, so all read the same
file; only ONNX Runtime reads no GGUF, and its own builder rounds the same weights. The programs take turns, and the
medians count. The prompt's speed is that of a run with one new token; the rest of a longer run is the speed of new
tokens. Needs transformers, and for the peers llama-cpp-python, openvino-genai, onnxruntime-genai with onnx and onnx-ir
(the builder of 0.18 needs transformers 5, which serves here too). A peer whose package is missing is left out.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from compare import reading, timed

SHAPES = {
    "smollm2-135m": dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                         num_attention_heads=9, num_key_value_heads=3, rope_theta=100000.0),
    "llama-3.2-1b": dict(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                         num_attention_heads=32, num_key_value_heads=8, rope_theta=500000.0),
}  # fmt: skip
LONG = 8192  # tokens of a prompt that takes minutes: one round, and no warm-up of the peers
# Attend's weights for the file's type: its own integers and scales, and rounded again.
ATTEND = {"q8_0": ["blocks", "int8"], "q4_0": ["blocks", "int4"], "q4_k_m": ["blocks", "int8"]}
ONNX_BITS = {"q8_0": "int8", "q4_0": "int4"}  # blocks of 32 as in the file; the mix of 4 and 8 bits is not Q4_K_M


@dataclass
class Case:
    model: str
    type: str
    texts: int
    prompt: int = 512
    new_tokens: int = 128

    @property
    def name(self) -> str:
        return f"{self.model} {self.type}, {self.texts} x {self.prompt} + {self.new_tokens}"


def make_tokenizer(size: int, directory: str) -> None:
    """One with `size` tokens: the bytes, and names that no text contains."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*alphabet, *(f"token{i}" for i in range(len(alphabet), size - 1))]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>").save_pretrained(directory)


def make_file(case: Case, args) -> str:
    """The GGUF file of a case."""
    directory = os.path.join(args.models, case.model)
    if not os.path.exists(os.path.join(directory, "model.safetensors")):
        import torch
        import transformers as tf

        torch.manual_seed(0)
        config = tf.LlamaConfig(**SHAPES[case.model], max_position_embeddings=32768, tie_word_embeddings=True,
                                eos_token_id=SHAPES[case.model]["vocab_size"] - 1)  # fmt: skip
        make_tokenizer(config.vocab_size, directory)
        tf.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(directory)
    file = os.path.join(args.models, f"{case.model}-{case.type}.gguf")
    if not os.path.exists(file):
        subprocess.run([args.attend, "convert", directory, file, "--type", case.type], check=True)
    return file


def prompts(case: Case) -> list[list[int]]:
    return np.random.default_rng(1).integers(1000, 9999, (case.texts, case.prompt)).tolist()


def seconds(case: Case, generate, counts: list[int]) -> list[float]:
    """Of a peer, for each count of new tokens."""
    if case.prompt < LONG:
        generate(2)
    return [timed(lambda count=count: generate(count)) for count in counts]


def attend_seconds(case: Case, file: str, weights: str, new_tokens: int, args) -> float:
    command = [args.attend, "bench", file, "--work", "generate", "--weights", weights, "--cache", args.cache,
               "--threads", str(args.threads), "--json", "--lengths", ",".join([str(case.prompt)] * case.texts),
               "--new-tokens", str(new_tokens), "--rounds", "1" if case.prompt >= LONG else "2"]  # fmt: skip
    reply = subprocess.run(command, check=True, capture_output=True, text=True)
    return min(json.loads(reply.stdout)["seconds_per_round"])


def llama_seconds(case: Case, file: str, counts: list[int], args) -> list[float]:
    """Greedy, with the tokens chosen here, as fast as NumPy can: llama.cpp's own loop in C would choose them alike."""
    import llama_cpp as llama

    silent = llama.llama_log_callback(lambda *_: None)  # kept: llama.cpp calls it until the end
    llama.llama_log_set(silent, None)
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(file.encode(), llama.llama_model_default_params())
    params = llama.llama_context_default_params()
    params.n_threads = params.n_threads_batch = args.threads
    params.n_ctx = case.texts * (case.prompt + max(counts) + 32)
    params.n_batch, params.n_seq_max = case.texts * case.prompt, case.texts
    context = llama.llama_init_from_model(model, params)
    vocabulary = SHAPES[case.model]["vocab_size"]
    batch = llama.llama_batch_init(case.texts * case.prompt, 0, 1)

    def decode(rows):  # (token, position, text, wanted)
        batch.n_tokens = len(rows)
        for i, (token, position, text, wanted) in enumerate(rows):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
            batch.seq_id[i][0] = text
        if llama.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        return [i for i, row in enumerate(rows) if row[3]]

    def generate(count):
        llama.llama_memory_clear(llama.llama_get_memory(context), False)
        rows = [(token, position, text, position == case.prompt - 1)
                for text, ids in enumerate(prompts(case)) for position, token in enumerate(ids)]  # fmt: skip
        for step in range(count):
            logits = [llama.llama_get_logits_ith(context, i) for i in decode(rows)]
            best = [int(np.ctypeslib.as_array(row, (vocabulary,)).argmax()) for row in logits]
            rows = [(token, case.prompt + step, text, True) for text, token in enumerate(best)]

    return seconds(case, generate, counts)


def openvino_seconds(case: Case, file: str, counts: list[int], args) -> list[float]:
    import openvino
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False  # prompts of all rounds are the same
    pipeline = genai.LLMPipeline(file, "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=args.threads,
                                 NUM_STREAMS=1, PERFORMANCE_HINT="LATENCY")  # fmt: skip
    ids = np.array(prompts(case), np.int64)
    inputs = genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids)))

    def generate(count):
        pipeline.generate(inputs, genai.GenerationConfig(max_new_tokens=count, min_new_tokens=count, do_sample=False,
                                                         ignore_eos=True))  # fmt: skip

    return seconds(case, generate, counts)


def make_onnx(case: Case, args) -> str:
    """The directory of ONNX Runtime's model, built from that of transformers."""
    bits, original = ONNX_BITS[case.type], os.path.join(args.models, case.model)
    directory = f"{original}-onnx-{bits}"
    if not os.path.exists(os.path.join(directory, "genai_config.json")):
        # Activations in 8 bits (level 4), its fastest, and logits of the last position only: so do the others.
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", original, "-o", directory,
                   "-c", args.models, "-p", bits, "-e", "cpu",
                   "--extra_options", "int4_accuracy_level=4", "prune_lm_head=true"]  # fmt: skip
        reply = subprocess.run(command, capture_output=True, text=True)
        if reply.returncode:
            sys.exit("the model builder: " + reply.stderr.strip().rpartition("\n")[2])
    return directory


def onnx_seconds(case: Case, file: str, counts: list[int], args) -> list[float]:
    """Keys and values are float32."""
    import onnxruntime_genai as genai

    if case.type not in ONNX_BITS:
        sys.exit(f"no type like {case.type}")
    config = genai.Config(make_onnx(case, args))
    session = {"intra_op_num_threads": args.threads}
    config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
    model = genai.Model(config)
    ids = np.array(prompts(case), np.int32)

    def generate(count):
        params = genai.GeneratorParams(model)
        length = case.prompt + count  # the least as well: the end token must not stop it
        params.set_search_options(batch_size=case.texts, min_length=length, max_length=length, do_sample=False)
        generator = genai.Generator(model, params)
        generator.append_tokens(ids)
        while not generator.is_done():
            generator.generate_next_token()
        if any(len(generator.get_sequence(i)) != length for i in range(case.texts)):
            raise RuntimeError("a text has the wrong length")

    return seconds(case, generate, counts)


WORKERS = {"llama.cpp": llama_seconds, "OpenVINO": openvino_seconds, "ONNX Runtime": onnx_seconds}
PACKAGES = {"llama.cpp": "llama_cpp", "OpenVINO": "openvino_genai", "ONNX Runtime": "onnxruntime_genai"}


def measure(peer: str, case: Case, file: str, counts: list[int], args) -> list[float] | None:
    """Seconds for each count of new tokens, in a process of its own; None if the peer cannot read the file."""
    if peer.startswith("attend "):
        return [attend_seconds(case, file, peer.removeprefix("attend "), count, args) for count in counts]
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", peer, "--file", file,
               "--work", json.dumps([case.__dict__, counts])]  # fmt: skip
    reply = subprocess.run(command, capture_output=True, text=True)
    if reply.returncode == 0:
        return json.loads(reply.stdout.splitlines()[-1])
    print(f"{peer} ended with {reply.returncode}: {reply.stderr.strip()[-200:]}", file=sys.stderr)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", default="", help="only the cases whose name holds this")
    parser.add_argument("--cache", default="auto", help="of attend's keys and values; llama.cpp's are float16")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--peers", default=",".join(WORKERS))
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "attend-compare"))
    for internal in ("worker", "file", "work"):
        parser.add_argument(f"--{internal}", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        case, counts = json.loads(args.work)
        print(json.dumps(WORKERS[args.worker](Case(**case), args.file, counts, args)))
        return
    import torch

    peers = []
    for peer in filter(None, args.peers.split(",")):
        if importlib.util.find_spec(PACKAGES[peer]):
            peers.append(peer)
        else:
            print(f"{peer} is missing: there is no package {PACKAGES[peer]}")
    torch.set_num_threads(args.threads)
    print(f"roof: {reading():.1f} GB/s on {args.threads} threads\n")
    print("| case | program | prompt, tokens/s | new tokens/s | bytes of weights read, GB/s |\n|---|---|---:|---:|---:|")
    for case in (Case(m, t, n, args.prompt, args.new_tokens) for m in SHAPES for t in ATTEND for n in (1, 8)):
        if args.case not in case.name:
            continue
        own = [f"attend {weights}" for weights in ATTEND[case.type]]
        file, counts = make_file(case, args), [1, 1 + case.new_tokens]
        found: dict[str, list[list[float]]] = {peer: [] for peer in own + peers}
        for _ in range(args.rounds):
            for peer in list(found):
                taken = measure(peer, case, file, counts, args)
                if taken is None:
                    found.pop(peer)
                else:
                    found[peer].append(taken)
        for peer, rounds in found.items():
            first, whole = (statistics.median(column) for column in zip(*rounds))
            steps = case.new_tokens / (whole - first)
            print(f"| {case.name} | {peer} | {case.texts * case.prompt / first:.0f} | {case.texts * steps:.1f} "
                  f"| {steps * os.path.getsize(file) / 1e9:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
