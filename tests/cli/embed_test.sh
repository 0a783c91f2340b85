#!/usr/bin/env bash
# attend embed and its search on the command line: prompts, sizes, blank lines, JSON, and the output of
# inspect. The vectors themselves are tested in tests/tasks/embed_test.cpp.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\na quick fox\nquery: passage: hello\n' >text
"$attend" tokenizer train --model bpe --vocab-size 320 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=32 --set n_layer=1 --set n_head=2 --set n_positions=64 2>>log
"$attend" tokenizer train --model wordpiece --vocab-size 120 --output plain text 2>>log
"$attend" init bert plain --set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 \
  --set intermediate_size=64 2>>log
cp -r plain bert
mkdir bert/1_Pooling
echo '{"pooling_mode": "mean"}' >bert/1_Pooling/config.json
echo '[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]' >bert/modules.json
echo '{"prompts": {"query": "query: ", "document": "passage: "}, "similarity_fn_name": "dot"}' \
  >bert/config_sentence_transformers.json
printf 'the lamp\n\n  \nthe second door\r\na quick fox\n' >lines

python3 - "$attend" <<'PYTHON'
import json, os, shutil, subprocess, sys

attend = sys.argv[1]


def fail(text):
    sys.exit("FAILED: " + text)


def equal(what, found, expected):
    if found != expected:
        fail(f"{what}: expected {expected!r}, found {found!r}")


def run(*arguments, stdin="", status=0):
    """Output, and what it says besides."""
    done = subprocess.run([attend, *arguments], input=stdin, capture_output=True, text=True)
    if done.returncode != status:
        fail(f"{arguments}: exit status {done.returncode}, not {status}: {done.stderr}")
    return done.stdout, done.stderr


def vectors(*arguments, stdin=""):
    return [json.loads(line)["embedding"] for line in run("embed", *arguments, "--json", stdin=stdin)[0].splitlines()]


def near(what, found, expected):
    if len(found) != len(expected) or any(abs(a - b) > 1e-5 for a, b in zip(found, expected)):
        fail(f"{what}: expected {expected}, found {found}")


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


# A search: the query's and the documents' prompts, the model's similarity, no blank lines, lines with their
# numbers.
found = json.loads(run("embed", "bert", "--search", "lines", "--json", "door")[0])["results"]
query = vectors("bert", "query: door")[0]
documents = {1: "the lamp", 4: "the second door", 5: "a quick fox"}
scores = {line: dot(query, vectors("bert", "passage: " + text)[0]) for line, text in documents.items()}
equal("lines", [each["line"] for each in found], sorted(scores, key=scores.get, reverse=True))
near("scores", [each["score"] for each in found], sorted(scores.values(), reverse=True))
equal("texts", {each["line"]: each["text"] for each in found}, documents)
other = json.loads(run("embed", "bert", "--search", "lines", "--json", "--similarity", "cosine", "--prompt", "a ",
                       "--document-prompt", "the ", "door")[0])["results"]  # fmt: skip
a, b = vectors("bert", "a door")[0], vectors("bert", "the the lamp")[0]
near("prompts given", [next(each["score"] for each in other if each["line"] == 1)],
     [dot(a, b) / (dot(a, a) * dot(b, b)) ** 0.5])  # fmt: skip

# Prompts by name and as text, and sizes.
equal("a prompt by its name", vectors("bert", "--prompt-name", "query", "door"), [query])
equal("a prompt", vectors("bert", "--prompt", "query: ", "door"), [query])
equal("dimensions", vectors("bert", "--dimensions", "5", "query: door"), [query[:5]])
near("the length", [dot(v, v) for v in vectors("bert", "--dimensions", "5", "--normalize", "door", "fox")], [1, 1])
for arguments, words in [(["--prompt-name", "title"], "it has document, query"), (["--dimensions", "33"], "expected 1 to 32")]:
    if words not in (shown := run("embed", "bert", "door", *arguments, status=1)[1]):
        fail(f"{arguments}: {shown}")
for arguments in (["--pooling", "median"], ["--prompt", "a", "--prompt-name", "query"], ["--document-prompt", "a"]):
    run("embed", "bert", "door", *arguments, status=2)

# Vectors in a file: the same search without the lines, whose numbers and texts are in it.
arguments = ["--json", "door"]
shown = run("embed", "bert", "--input", "lines", "--output", "v.safetensors")
equal("messages", (shown[0], "v.safetensors: 3 vectors of 32 numbers" in shown[1]), ("", True))
searched = json.loads(run("embed", "bert", "--search", "lines", *arguments)[0])["results"]
kept = json.loads(run("embed", "bert", "--search", "v.safetensors", *arguments)[0])["results"]
equal("kept lines", [(each["line"], each["text"]) for each in kept], [(each["line"], each["text"]) for each in searched])
near("kept scores", [each["score"] for each in kept], [each["score"] for each in searched])
for name, precision in [("i.safetensors", "int8"), ("b.safetensors", "bits"), ("v.npy", "float32"), ("b.npy", "bits")]:
    run("embed", "bert", "--output", name, "--precision", precision, stdin="the lamp\nthe second door\na quick fox\n")
    kept = json.loads(run("embed", "bert", "--search", name, *arguments, "--top", "2")[0])["results"]
    equal(f"fields of {name}", [sorted(each) for each in kept], [["line", "score"] + ["text"] * (name[-1] == "s")] * 2)
    if precision != "bits":
        equal(f"the first of {name}", kept[0]["line"], {1: 1, 4: 2, 5: 3}[searched[0]["line"]])
equal("lines without texts", run("embed", "bert", "--search", "v.npy", "door")[0].count("  line "), 3)
plain = run("embed", "bert", "--search", "v.npy", "--json", "door")[0]
run("embed", "bert", "--search", "v.npy", "--index", "door")
equal("a search with an index", run("embed", "bert", "--search", "v.npy", "--json", "door")[0], plain)
with open("v.npy.hnsw", "rb") as file:
    index = file.read()
run("embed", "bert", "--output", "w.npy", "--index", stdin="the lamp\nthe second door\nsome other lines\n")
equal("an index of --output", os.path.exists("w.npy.hnsw"), True)
with open("w.npy.hnsw", "wb") as file:
    file.write(index)
said = run("embed", "bert", "--search", "w.npy", "door", status=1)[1]
equal("another index", "it is not the index of these vectors" in said, True)
run("embed", "bert", "--search", "w.npy", "--no-index", "door")
run("embed", "bert", "--search", "w.npy", "--index", "door")
run("embed", "bert", "--search", "w.npy", "door")
with open("cut.npy", "wb") as file:
    file.write(open("v.npy", "rb").read()[:-1])
run("embed", "bert", "--dimensions", "8", "--output", "short.safetensors", "door")
shutil.copytree("plain", "other", ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
run("init", "bert", "other", "--seed", "9", "--set", "hidden_size=32", "--set", "num_hidden_layers=2",
    "--set", "num_attention_heads=2", "--set", "intermediate_size=64")  # fmt: skip
for arguments, words in [
    (["bert", "--search", "cut.npy"], "it is cut off"),
    (["bert", "--search", "short.safetensors"], "it has vectors of 8 numbers, but the model's have 32"),
    (["bert", "--search", "short.safetensors", "--dimensions", "9"], "it has vectors of 8 numbers"),
    (["other", "--search", "v.safetensors"], "it was made with another model or other settings"),
    (["bert", "--search", "b.npy", "--similarity", "euclidean"], "bits have no distances"),
    (["bert", "--search", "v.npy", "--document-prompt", "a "], "contains vectors already"),
    (["bert", "--output", "v.txt"], "expected a name that ends with .safetensors or .npy"),
    (["bert", "--output", "i.npy", "--precision", "int8"], "no place for the scales of int8"),
    (["bert", "--index"], "expected --output or --search with a file of vectors"),
    (["bert", "--search", "lines", "--index"], "lines has no vectors"),
    (["bert", "--input", "lines"], "expected no other texts"),
    (["bert", "--output", "v.npy", "--search", "lines"], "expected no --search"),
]:
    if words not in (shown := run("embed", *arguments, "door", status=1)[1]):
        fail(f"{arguments}: {shown}")
for arguments in (["--precision", "int8"], ["--shard", "0/2"]):
    run("embed", "bert", "door", *arguments, status=2)

# Lines without tokens are zeros, and the others what they are alone.
equal("a blank line", vectors("gpt2", "--quiet", stdin="the lamp\n\na door\n"),
      [vectors("gpt2", "the lamp")[0], [0] * 32, vectors("gpt2", "a door")[0]])  # fmt: skip
scores = run("run", "sentence-similarity", "gpt2", "--json-input", stdin='{"source_sentence": "", "sentences": ["a", ""]}\n')
equal("no tokens", json.loads(scores[0]), [0, 0])

# A directory without modules.json: one line names the defaults, unless options set them.
equal("what is taken", run("embed", "plain", "door")[1].splitlines(),
      ["attend: plain: it has no modules.json, so vectors are those of mean pooling, not normalized"])  # fmt: skip
equal("messages", run("embed", "plain", "--pooling", "cls", "door")[1], "")
equal("cls", vectors("plain", "--pooling", "cls", "door")[0] == vectors("plain", "door")[0], False)
for model, words in [("plain", "mean pooling, not normalized (assumed: there is no modules.json)"),
                     ("bert", "mean pooling, at most 512 tokens, similarity dot, prompt document: \"passage: \", prompt query: \"query: \"")]:  # fmt: skip
    if words not in (shown := run("inspect", model)[0]):
        fail(f"inspect {model}: {shown}")

# sentence-similarity has the model's similarity, and numbers have only the digits that a float32 needs.
scores = run("run", "sentence-similarity", "bert", "door", "the lamp")[0]
near("similarity", json.loads(scores), [dot(vectors("bert", "door")[0], vectors("bert", "the lamp")[0])])
near("prompted", json.loads(run("run", "sentence-similarity", "bert", "--prompt", "a ", "door", "the lamp")[0]),
     [dot(vectors("bert", "a door")[0], vectors("bert", "a the lamp")[0])])  # fmt: skip
for line in (run("embed", "bert", "door", "--json")[0], scores, run("run", "feature-extraction", "bert", "door")[0]):
    for number in line.replace("[", ",").replace("]", ",").split(","):
        if sum(letter.isdigit() for letter in number.split("e")[0].lstrip("-0.")) > 9:
            fail(f"{number} has more digits than a float32 needs")
PYTHON
echo "all well"
