"""Trained models against llama.cpp, transformers and sentence-transformers.

    python check_real_models.py --attend build/release/attend --smollm2 SmolLM2-135M-Instruct.Q4_1.gguf \\
        --gemma3 gemma-3-270m-q4_k_m.gguf --mpnet all-mpnet-base-v2 --text book.txt

Each model is optional. Greedy answers to 20 prompts must be transformers' (of the dequantized weights) where llama.cpp
gives the same; without the package llama-cpp-python, wherever transformers' best token is clearly ahead. The
perplexity of a text must be transformers' to four digits, MPNet's vectors sentence-transformers' to a cosine of 0.99999.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import gguf
import torch
import transformers

from common import Attend, Table

PROMPTS = [
    "What is the capital of France?", "Write a short poem about the sea.", "Explain why the sky is blue.",
    "How many legs does a spider have?", "Name three fruits that are red.", "Translate 'good morning' into Spanish.",
    "What is 12 plus 30?", "Who wrote Romeo and Juliet?", "Give me a recipe for pancakes.", "What is photosynthesis?",
    "Tell me a joke.", "Which planet is the largest?", "Describe a cat in one sentence.", "What do bees make?",
    "How do I boil an egg?", "What is the opposite of 'hot'?", "Write a haiku about autumn.", "List the days of the week.",
    "Why do we sleep?", "What is a noun? Give an example: 'dog's 3 tails'.",
]  # fmt: skip
STARTS = [
    "The capital of France is", "Once upon a time, there was a", "The sky is blue because", "Water boils at",
    "def fibonacci(n):\n    ", "In 1969, the first", "The three primary colours are", "To make bread you need", "Shakespeare was born in",
    "The largest planet in the solar system", "1, 2, 3, 4,", "Die Hauptstadt von Deutschland ist", "El gato", "The quick brown fox",
    "She opened the door and", "Photosynthesis is the process", "    if x > 10:\n", "A haiku about autumn:\n", "Q: Who wrote Hamlet?\nA:",
    "The meaning of life",
]  # fmt: skip
NEW_TOKENS = 24
COSINE = 0.99999


def chat(prompt: str) -> str:
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def load(path: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32,
                                                              attn_implementation="eager").eval()  # fmt: skip
    return model, transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def greedy(model: Any, ids: list[int], ends: set[int]) -> tuple[list[int], float]:
    """Tokens, and the smallest lead of a best token over the second."""
    made, lead = [], math.inf
    given, cache = torch.tensor([ids]), None
    for _ in range(NEW_TOKENS):
        with torch.no_grad():
            output = model(given, past_key_values=cache, use_cache=True)
        best = output.logits[0, -1].topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        made.append(int(best.indices[0]))
        if made[-1] in ends:
            break
        given, cache = best.indices[:1].view(1, 1), output.past_key_values
    return made, lead


def llama_cpp(path: Path) -> Any:
    try:
        import llama_cpp
    except ImportError:
        return None
    return llama_cpp.Llama(str(path), n_ctx=1024, n_threads=2, verbose=False)


def greedy_of_llama_cpp(model: Any, ids: list[int], ends: set[int]) -> list[int]:
    made: list[int] = []
    for token in model.generate(ids, temp=0.0, top_k=1, reset=True):
        made.append(int(token))
        if made[-1] in ends or len(made) == NEW_TOKENS:
            break
    return made


def ends_of(path: Path) -> set[int]:
    reader = gguf.GGUFReader(path)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    known = {"<|im_end|>", "<|endoftext|>", "<end_of_turn>"}
    return {i for i, token in enumerate(tokens) if token in known} | {int(reader.fields["tokenizer.ggml.eos_token_id"].contents())}


def check_answers(attend: Attend, path: Path, prompts: list[str], table: Table) -> None:
    model, _ = load(path)
    other, ends = llama_cpp(path), ends_of(path)
    equal = comparable = tokens_differ = 0
    details = []
    for prompt in prompts:
        ids = attend.tokenize(path, [prompt])[0]
        if other is not None:
            theirs = other.tokenize(prompt.encode(), add_bos=False, special=True)
            begins = ids[:1] != theirs[:1]
            if ids[begins:] != theirs:
                tokens_differ += 1
                details.append(f"{prompt!r}: tokens {ids} for {theirs}")
        line = json.loads(attend.run("generate", path, "--json", "--no-sample", "--max-new-tokens", str(NEW_TOKENS), "--quiet", prompt))
        got = [i for i in line["texts"][0]["ids"] if i not in ends]
        wanted, lead = greedy(model, ids, ends)
        same = wanted == greedy_of_llama_cpp(other, ids, ends) if other is not None else lead > 1e-3
        wanted = [i for i in wanted if i not in ends]
        comparable += same
        equal += got == wanted
        if same and got != wanted:
            details.append(f"{prompt!r}: {got} for {wanted}, smallest lead {lead:.1e}")
    table.row([path.stem[:24], "answers", f"{equal} of {len(prompts)}; {comparable} agreed"], bool(details), details)


def perplexity(model: Any, ids: list[int], window: int, stride: int) -> tuple[float, int]:
    total, count, done = 0.0, 0, 1
    for begin in range(0, len(ids), stride):
        end = min(begin + window, len(ids))
        with torch.no_grad():
            logits = model(torch.tensor([ids[begin:end]])).logits[0]
        scores = torch.log_softmax(logits.double(), -1)
        for at in range(max(done, begin + 1), end):
            total -= float(scores[at - begin - 1, ids[at]])
            count += 1
        done = end
        if end == len(ids):
            break
    return total / count, count


def check_perplexity(attend: Attend, path: Path, text: Path, table: Table) -> None:
    model, _ = load(path)
    given = attend.run("tokenize", path, "--json", stdin=json.dumps({"text": text.read_text()}) + "\n")
    loss, count = perplexity(model, json.loads(given)["ids"], 256, 128)
    ours = json.loads(attend.run("evaluate", "perplexity", path, text, "--length", "256", "--stride", "128", "--json"))
    wanted = math.exp(loss)
    wrong = ours["tokens"] != count or abs(ours["perplexity"] / wanted - 1) > 5e-5
    table.row([path.stem[:24], "perplexity", f"{ours['perplexity']:.5f} for {wanted:.5f}, {count} tokens"], wrong)


def check_vectors(attend: Attend, directory: Path, text: Path, table: Table) -> None:
    from sentence_transformers import SentenceTransformer

    lines = [line for line in text.read_text().splitlines() if len(line) > 20][:64] if text else PROMPTS
    wanted = torch.tensor(SentenceTransformer(str(directory), device="cpu").encode(lines))
    got = attend.embed(directory, lines)
    cosines = torch.nn.functional.cosine_similarity(got, wanted)
    table.row([directory.name[:24], "vectors", f"least cosine {float(cosines.min()):.7f}"], bool(cosines.min() < COSINE))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--smollm2", type=Path)
    parser.add_argument("--gemma3", type=Path)
    parser.add_argument("--mpnet", type=Path)
    parser.add_argument("--text", type=Path, help="whose perplexity is computed; some thousand words")
    options = parser.parse_args()
    attend, table = Attend(options.attend.resolve(), seconds=1200), Table([("model", 24), ("what", 10), ("found", 44)])
    if options.smollm2:
        check_answers(attend, options.smollm2, [chat(prompt) for prompt in PROMPTS], table)
        if options.text:
            check_perplexity(attend, options.smollm2, options.text, table)
    if options.gemma3:
        check_answers(attend, options.gemma3, STARTS, table)
    if options.mpnet:
        check_vectors(attend, options.mpnet, options.text, table)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
