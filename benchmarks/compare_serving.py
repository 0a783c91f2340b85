#!/usr/bin/env python3
"""attend serve against other servers on this machine, in one run: clients at a time, requests and tokens a second.

    python benchmarks/compare_serving.py --attend build/release/attend --llama-server llama.cpp/build/bin/llama-server

Texts: SmolLM2's shape with random weights (compare_decoders.py's Q8_0 file), 64 prompt tokens and 64 new ones for each
request, against llama.cpp's server. Vectors: BERT of MiniLM's shape, 24-word texts, against sentence-transformers
behind a plain server. Translations: Marian-base's shape, 24-word texts and 32 new tokens, beam 4, against CTranslate2 behind a plain
server. The servers take turns, each alone on the machine, and the medians count. Needs transformers, tokenizers,
sentence-transformers and ctranslate2.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compare_decoders

WORDS = [a + b + c for a in ("ka", "lo", "mi", "tu", "re") for b in ("na", "so", "di", "pe") for c in ("l", "r", "m", "")]
CLIENTS = (1, 8, 32)
PORT = 8471


def text_of(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(24))


def make_tokenizer(directory: str, size: int, **special) -> None:
    """Whole words of WORDS, and tokens that no text contains; padding is the last token, as CTranslate2 expects it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = [*(token for name, token in special.items() if name != "pad_token"), *WORDS]
    names += [f"token{i}" for i in range(len(names), size - 1)] + [special["pad_token"]]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token=names[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if "eos_token" in special:
        end = special["eos_token"]
        tokenizer.post_processor = processors.TemplateProcessing(f"$A {end}", None, [(end, names.index(end))])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(directory)


def make_vectors_model(args) -> str:
    import torch
    import transformers as tf
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    directory = os.path.join(args.models, "serving-minilm")
    if not os.path.exists(directory):
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as plain:
            tf.BertModel(tf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                       intermediate_size=1536)).save_pretrained(plain)  # fmt: skip
            make_tokenizer(plain, 30522, unk_token="[UNK]", pad_token="[PAD]")
            body = modules.Transformer(plain, max_seq_length=256)
            SentenceTransformer(modules=[body, modules.Pooling(384)], device="cpu").save(directory)
    return directory


def make_translator(args) -> str:
    import torch
    import transformers as tf

    directory = os.path.join(args.models, "serving-marian")
    if not os.path.exists(directory):
        torch.manual_seed(0)
        size = 32000
        tf.MarianMTModel(tf.MarianConfig(
            d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
            encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="relu", vocab_size=size,
            decoder_vocab_size=size, pad_token_id=size - 1, eos_token_id=0, decoder_start_token_id=size - 1, scale_embedding=True,
            forced_eos_token_id=None, max_position_embeddings=512)).save_pretrained(directory)  # fmt: skip
        make_tokenizer(directory, size, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    return directory


class Request:
    """What clients ask: a path, a JSON body for a random generator, and how many items an answer has."""

    def __init__(self, path, body, items):
        self.path, self.body, self.items = path, body, items


@contextlib.contextmanager
def running(command: list, log: str, ready: str):
    with open(log, "w") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
                connection.request("GET", ready)
                if connection.getresponse().status == 200:
                    break
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended: see {log}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def measure(request: Request, clients: int, seconds: float) -> tuple[float, float, float]:
    """Items a second, and the median and 95th percentile of the latency."""
    end = time.monotonic() + seconds

    def client(number: int) -> list[tuple[float, int]]:
        rng, done = random.Random(number), []
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=300)
        while time.monotonic() < end:
            begin = time.monotonic()
            connection.request("POST", request.path, json.dumps(request.body(rng)), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise SystemExit(f"{request.path}: {response.status} {answer[:300]}")
            done.append((time.monotonic() - begin, request.items(json.loads(answer))))
        return done

    begin = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        done = [each for answers in pool.map(client, range(clients)) for each in answers]
    latencies = sorted(latency for latency, _ in done)
    rate = sum(items for _, items in done) / (time.monotonic() - begin)
    return rate, statistics.median(latencies), latencies[int(0.95 * len(latencies))]


def texts_case(args):
    file = compare_decoders.make_file(compare_decoders.Case("smollm2-135m", "q8_0", 1), args)
    prompt = lambda rng: [rng.randrange(1000, 9999) for _ in range(64)]  # noqa: E731
    ours = Request("/v1/completions", lambda rng: dict(model="m", prompt=prompt(rng), max_tokens=64, min_new_tokens=64,
                   temperature=0), lambda answer: answer["usage"]["completion_tokens"])  # fmt: skip
    theirs = Request("/completion", lambda rng: dict(prompt=prompt(rng), n_predict=64, ignore_eos=True, temperature=0,
                     cache_prompt=False), lambda answer: answer["tokens_predicted"])  # fmt: skip
    yield "attend", [args.attend, "serve", f"m={file}", "--weights", "int8", "--port", PORT, "--threads", args.threads], ours
    yield "llama.cpp", [args.llama_server, "-m", file, "--port", PORT, "-t", args.threads, "-tb", args.threads, "-np", 32,
                        "-c", 32 * 160, "--no-webui"], theirs  # fmt: skip


def vectors_case(args):
    model = make_vectors_model(args)
    request = Request("/v1/embeddings", lambda rng: dict(model="m", input=text_of(rng)), lambda answer: len(answer["data"]))
    yield "attend", [args.attend, "serve", f"m={model}", "--port", PORT, "--threads", args.threads], request
    yield "sentence-transformers", [sys.executable, __file__, "--plain", "vectors", "--file", model], request


def translations_case(args):
    model = make_translator(args)
    ours = Request("/v1/completions", lambda rng: dict(model="m", prompt=text_of(rng), num_beams=4, max_tokens=32,
                   min_new_tokens=32), lambda answer: len(answer["choices"]))  # fmt: skip
    theirs = Request("/translate", lambda rng: dict(text=text_of(rng)), lambda answer: 1)
    yield "attend", [args.attend, "serve", f"m={model}", "--port", PORT, "--threads", args.threads], ours
    yield "CTranslate2", [sys.executable, __file__, "--plain", "translations", "--file", model], theirs


def serve_plainly(args) -> None:
    """A peer's library behind the standard library's server, with a thread for each connection."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    answer = {"vectors": plain_vectors, "translations": plain_translations}[args.plain](args)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, value):
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.reply({})

        def do_POST(self):
            self.reply(answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    Server(("127.0.0.1", PORT), Handler).serve_forever()


def plain_vectors(args):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(args.threads)
    model = SentenceTransformer(args.file, device="cpu")
    return lambda body: {"data": [{"embedding": model.encode(body["input"], show_progress_bar=False).tolist()}]}


def plain_translations(args):
    import ctranslate2
    from compare_generation import converted
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(os.path.join(args.file, "tokenizer.json"))
    translator = ctranslate2.Translator(converted(args.file), inter_threads=1, intra_threads=args.threads)

    def translate(body):
        ids = [str(i) for i in tokenizer.encode(body["text"]).ids]
        found = translator.translate_batch([ids], beam_size=4, min_decoding_length=32, max_decoding_length=32)
        return {"text": tokenizer.decode([int(i) if i.isdigit() else 0 for i in found[0].hypotheses[0]])}

    return translate


CASES = {"texts (new tokens)": texts_case, "vectors": vectors_case, "translations": translations_case}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--llama-server", default="llama-server")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--case", default="", help="only the cases whose name holds this")
    parser.add_argument("--models", default=os.path.join(tempfile.gettempdir(), "attend-compare"))
    parser.add_argument("--plain", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plain:
        return serve_plainly(args)
    Path(args.models).mkdir(parents=True, exist_ok=True)
    print("| case | clients | server | a second | latency: median, 95 % |\n|---|---:|---|---:|---:|")
    for name, servers in CASES.items():
        if args.case not in name:
            continue
        found: dict[tuple[int, str], list[tuple[float, float, float]]] = {}
        for _ in range(args.rounds):
            for server, command, request in servers(args):
                log, ready = os.path.join(args.models, f"{server}.log"), "/ready" if server == "attend" else "/health"
                with running(command, log, ready):
                    measure(request, 2, 2)  # warms up
                    for clients in CLIENTS:
                        found.setdefault((clients, server), []).append(measure(request, clients, args.seconds))
        for (clients, server), rounds in sorted(found.items()):
            rate, median, late = (statistics.median(column) for column in zip(*rounds))
            print(f"| {name} | {clients} | {server} | {rate:.1f} | {median * 1e3:.0f}, {late * 1e3:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
