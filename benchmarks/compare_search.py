#!/usr/bin/env python3
"""The search in stored vectors (attend embed --search v.safetensors) compared with NumPy and hnswlib on this machine, in one run.

    python benchmarks/compare_search.py [--attend build/release/attend] [--vectors 100000] [--queries 200]

The model has MiniLM's shape and random weights. It embeds some texts; the stored vectors are these with noise, of length 1. Recall is
the share of the ten nearest vectors, as NumPy finds them in float32, that are among the ten found. One query: the time of the whole
command, start of the program included, the fastest of several. Many queries: what each adds. "index" is the search with
--index. Needs the packages of tests/oracle/requirements.txt, and hnswlib for its row.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from safetensors.numpy import save_file

SIZE, TOP, ROUNDS = 384, 10, 7


def make_model(directory: Path) -> None:
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(30517))]
    body = directory.with_name("body")
    body.mkdir()
    (body / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(body / "vocab.txt")).save_pretrained(body)
    model = BertModel(BertConfig(hidden_size=SIZE, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536))
    for table in (model.embeddings.position_embeddings, model.embeddings.token_type_embeddings):
        table.weight.data.mul_(0.1)  # what all texts share would otherwise make their vectors alike
    model.save_pretrained(body)
    modules = [models.Transformer(str(body)), models.Pooling(SIZE, pooling_mode="mean"), models.Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(directory))


def make_texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(f"w{draw.randrange(2000)}" for _ in range(draw.randint(4, 12))) for _ in range(count)]


def call(attend: str, *arguments: str, stdin: str = "") -> tuple[list[str], float, float]:
    """Lines of output, seconds by the clock, and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([attend, "embed", *arguments], input=stdin, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout.splitlines(), seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def embed(attend: str, model: str, texts: list[str]) -> np.ndarray:
    lines = call(attend, model, "--json", "--quiet", stdin="\n".join(texts) + "\n")[0]
    return np.array([json.loads(line)["embedding"] for line in lines], np.float32)


def write_files(folder: Path, vectors: np.ndarray) -> dict[str, Path]:
    files = {name: folder / f"{name}.safetensors" for name in ("float32", "int8", "bits")}
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    use = {"dimensions": str(SIZE)}
    save_file({"vectors": vectors}, files["float32"], metadata=use)
    integers = np.rint(vectors / scales[:, None]).astype(np.int8)
    save_file({"vectors": integers, "scales": scales.astype(np.float32)}, files["int8"], metadata=use)
    save_file({"vectors": np.packbits(vectors > 0, axis=1)}, files["bits"], metadata=use)
    return files


def measure(options: argparse.Namespace, model: str, path: Path, texts: list[str], index: bool) -> tuple[list[list[int]], str]:
    """What is found for each text, and the columns of the table."""
    common = [model, "--quiet", "--json", "--threads", options.threads]
    search = [*common, "--top", str(TOP), "--search", str(path)]
    start = time.perf_counter()
    if index:
        call(options.attend, *search, "--index", texts[0])
    built = f"   (built in {time.perf_counter() - start:.0f} s)" if index else ""
    one = [call(options.attend, *search, texts[0]) for _ in range(ROUNDS)]
    many = min((call(options.attend, *search, stdin="\n".join(texts) + "\n") for _ in range(3)), key=lambda done: done[1])
    embedded = min(call(options.attend, *common, stdin="\n".join(texts) + "\n")[1] for _ in range(3))
    numbers = [[each["line"] - 1 for each in json.loads(line)["results"]] for line in many[0]]
    clock, processor = (min(times) * 1000 for times in list(zip(*one))[1:])
    added = (many[1] - embedded) / len(texts) * 1000
    return numbers, f"{clock:9.1f} ms{processor:9.1f} ms{added:11.2f} ms{built}"


def recall(found: list[list[int]], wanted: np.ndarray) -> float:
    return float(np.mean([len(set(a) & set(b)) / TOP for a, b in zip(found, wanted.tolist(), strict=True)]))


def timed(queries: np.ndarray, search: Callable[[np.ndarray], np.ndarray]) -> tuple[list[list[int]], float]:
    """What is found, one query at a time, and milliseconds for each."""
    start = time.perf_counter()
    found = [search(query).tolist() for query in queries]
    return found, (time.perf_counter() - start) / len(queries) * 1000


def numpy_search(vectors: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def search(query: np.ndarray) -> np.ndarray:
        scores = vectors @ query
        best = np.argpartition(-scores, TOP)[:TOP]
        return best[np.argsort(-scores[best])]

    return search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", default="0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        make_model(model)
        seeds, texts = embed(options.attend, str(model), make_texts(2000, 1)), make_texts(options.queries, 2)
        queries, noise = embed(options.attend, str(model), texts), np.random.default_rng(3)
        vectors = np.repeat(seeds, -(-options.vectors // len(seeds)), axis=0)[: options.vectors]
        vectors = vectors + noise.normal(scale=0.6 / SIZE**0.5, size=vectors.shape).astype(np.float32)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        found, each = timed(queries, numpy_search(vectors))
        wanted = np.array(found)
        print(f"{'':24}{'recall':>8}{'one query':>12}{'processor':>12}{'each of many':>14}")
        print(f"{'NumPy, float32':24}{1:8.3f}{'':24}{each:11.2f} ms")
        for name, path in write_files(Path(folder), vectors).items():
            for index in (False, True):
                numbers, columns = measure(options, str(model), path, texts, index)
                print(f"{f'attend, {name}' + ', index' * index:24}{recall(numbers, wanted):8.3f}{columns}", flush=True)
        try:
            import hnswlib
        except ImportError:
            return
        index, start = hnswlib.Index("cosine", SIZE), time.perf_counter()
        index.init_index(len(vectors), M=16, ef_construction=200)
        index.add_items(vectors)
        built = time.perf_counter() - start
        for ef in (50, 200):
            index.set_ef(ef)
            found, each = timed(queries, lambda query: index.knn_query(query, TOP)[0][0])
            print(f"{f'hnswlib, ef {ef}':24}{recall(found, wanted):8.3f}{'':24}{each:11.2f} ms   (built in {built:.0f} s)")


if __name__ == "__main__":
    main()
