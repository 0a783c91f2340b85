#!/usr/bin/env bash
# attend run: the JSON of transformers' pipelines (tests/data/tasks), inputs that are partly bad, labels with
# commas, unknown fields and columns. Also translate, embed and generate with bad lines.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
data=$(realpath tests/data)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 - "$attend" "$data" <<'PYTHON'
import json, os, shutil, subprocess, sys

attend, data = sys.argv[1:]
tasks = data + "/tasks/"


def fail(text):
    sys.exit("FAILED: " + text)


def equal(what, found, expected):
    if found != expected:
        fail(f"{what}: expected {expected!r}, found {found!r}")


def call(*arguments, stdin=b""):
    """Status, lines of standard output, standard error."""
    stdin = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run([attend, *arguments], input=stdin, capture_output=True)
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


def run(task, model, *options, stdin=b""):
    return call("run", task, tasks + model, *options, stdin=stdin)


def answers(task, model, *options, stdin=b""):
    status, out, err = run(task, model, *options, stdin=stdin)
    equal(f"status of {task} {options}: {err}", status, 0)
    return [json.loads(line) for line in out]


def near(a, b):
    if isinstance(b, float):
        return isinstance(a, (int, float)) and abs(a - b) < 1e-4
    if isinstance(b, dict):
        return isinstance(a, dict) and list(a) == list(b) and all(near(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(map(near, a, b))
    return a == b


# The pipelines' answers.
for golden in json.load(open(tasks + "goldens.json")):
    options = []
    for name, value in golden["options"].items():
        flag = "--" + name.replace("_", "-")
        if name == "truncation":
            options.append("--truncate")
        elif name == "max_length":
            pass  # the model reads it
        elif isinstance(value, list):
            options += [flag, json.dumps(value)]
        elif value is True:
            options.append(flag)
        else:
            options += [flag, "0" if value is None else str(value)]
    inputs = golden["inputs"]
    if golden["task"] == "image-classification":
        inputs = [f"{data}/images/{name}" for name in inputs]
    found = answers(golden["task"], golden["model"], "--json-input", *options,
                    stdin="".join(json.dumps(each) + "\n" for each in inputs))
    if not near(found, golden["answers"]):
        fail(f"{golden['task']} {golden['options']}: expected {golden['answers']}, found {found}")

# A bad line does not affect the others, and keeps its place.
long = "a " * 60
lines = [b"a good film", long.encode(), b"", b"caf\xe9", b"bad"]
alone = answers("text-classification", "classifier", "a good film", "", "bad")
status, out, err = run("text-classification", "classifier", stdin=b"\n".join(lines) + b"\n")
equal("bad lines: status", status, 1)
equal("bad lines: lines", len(out), 5)
equal("bad lines: good ones", [json.loads(out[i]) for i in (0, 2, 4)], alone)
for i, text in ((1, "standard input, line 2: the text has 62 tokens, but the model reads 48: shorten it, or cut it off "
                    "with --truncate"), (3, "standard input, line 4: invalid UTF-8 at byte 3")):
    equal("bad lines: error", json.loads(out[i]), {"error": text})
    equal("bad lines: on standard error", "attend: " + text in err.splitlines(), True)
equal("bad lines: no other messages", len(err.splitlines()), 2)
status, out, err = run("text-classification", "classifier", "--strict", stdin=b"\n".join(lines) + b"\n")
equal("strict", (status, len(out), err.splitlines()[-1][:40]), (1, 1, "attend: standard input, line 2: the text"))
status, out, err = run("text-classification", "classifier", "--truncate", stdin=f"{long}\n{long}\n")
equal("cut", (status, len(out), err.count("\n")), (0, 2, 1))
equal("one message about the cut", "longer than the 48 tokens" in err, True)

# The last of many inputs, in its own group and in a group with others.
many = "".join(f"film {i}\n" for i in range(600)) + long + "\nx\n"
status, out, err = run("text-classification", "classifier", stdin=many)
equal("many lines", (status, len(out)), (1, 602))
equal("many lines: error", "standard input, line 601" in json.loads(out[600])["error"], True)

for task, model, good, bad, words in (
    ("fill-mask", "masks", "[MASK]", "none", "nothing to fill in: expected [MASK]"),
    ("feature-extraction", "classifier", "a", long, "--truncate"),
):
    status, out, err = run(task, model, stdin=f"{good}\n{bad}\n{good}\n")
    equal(f"{task}: bad line", (status, len(out), "error" in out[1], words in err), (1, 3, True, True))
status, out, err = run("token-classification", "tags", stdin=f"{long}\nx\n")
equal("tags of a long text", (status, len(out), "--stride" in err), (0, 2, True))
status, out, err = run("question-answering", "answers", "--json-input",
                       stdin='{"question": "", "context": "x"}\n{"question": "Who?", "context": "x"}\nnonsense\n'
                             '{"question": "Who?"}\n[1]\n')
equal("questions", (status, len(out), json.loads(out[1])["answer"]), (1, 5, "x"))
for line, words in ((1, "the question is empty"), (3, "not valid JSON"), (4, "expected a field context"), (5, "JSON object")):
    equal(f"questions: {words}", f"standard input, line {line}: " in err and words in err, True)
    equal(f"questions: {words} in its place", words in json.loads(out[line - 1])["error"], True)
status, out, err = run("image-classification", "pictures", f"{data}/images/grey.png", "nowhere.png", f"{data}/images/bits.png")
equal("pictures", (status, len(out), "nowhere.png" in json.loads(out[1])["error"]), (1, 3, True))

# Fields and columns.
status, out, err = run("text-classification", "classifier", "--json-input", stdin='{"text": "a", "top_k": 2}\n"b"\n')
equal("an unknown field", (status, json.loads(out[0])["error"]),
      (1, 'standard input, line 1: there is no field "top_k": expected text, sequence, inputs, text_pair, adapter'))
table = "id,review\n1,a good film\n2,\n3,bad\n"
equal("a table with an empty cell", len(answers("text-classification", "classifier", "--input-format", "csv", "--column",
                                               "text=review", stdin=table)), 3)
for options, words in (((), 'expected a column text or sequence or inputs, found "id, review"; name the column that has it '
                            'with --column text=COLUMN'),
                       (("--column", "txt=review"), "there is no field txt"), (("--column", "text=x"), "there is no column 'x'")):
    status, out, err = run("text-classification", "classifier", "--input-format", "csv", *options, stdin=table)
    equal(words, (status, out, words in err), (1, [], True))

# Labels and targets with commas.
def labels(*options, text='{"text": "Who?"}'):
    return sorted(answers("zero-shot-classification", "entailment", "--json-input", *options, stdin=text + "\n")[0]["labels"])


equal("labels with commas between them", labels("--labels", "cat, dog"), ["cat", "dog"])
equal("labels one by one", labels("--labels", "a, b", "--labels", "c"), ["a, b", "c"])
equal("labels as a list", labels("--labels", '["a, b"]'), ["a, b"])
equal("labels of an input", labels("--labels", "z", text='{"text": "Who?", "candidate_labels": ["x, y"]}'), ["x, y"])
equal("labels of an input alone", labels(text='{"text": "Who?", "candidate_labels": "x, y"}'), ["x", "y"])
status, out, err = run("zero-shot-classification", "entailment", "Who?")
equal("no labels", (status, "expected labels to choose from: the parameter labels" in err), (1, True))
equal("a comma as a target", answers("fill-mask", "masks", "--targets", ",", "It is [MASK].")[0][0]["token_str"], ",")

# Documents sorted for a query: by the score of a classifier with one label.
with open("scored.tsv", "w") as file:
    file.write("a good film\ta bad film\t0.5\ngood\tgood\t1.0\n")
status, out, err = call("train", "--objective", "regression", "--model", tasks + "classifier", "--train", "scored.tsv", "--output",
                        "reranker", "--steps", "1", "--fresh-head")
equal(f"status of train: {err}", status, 0)
documents = ["a bad film", "good", "so so", "film"]
pairs = "".join(json.dumps({"text": "a good film", "text_pair": each}) + "\n" for each in documents)
status, out, err = call("run", "text-classification", "reranker", "--json-input", "--function-to-apply", "sigmoid", stdin=pairs)
scores = [json.loads(line)[0]["score"] for line in out]
best = sorted(range(4), key=lambda i: -scores[i])
status, out, err = call("run", "rerank", "reranker", "a good film", *documents)
equal(f"status of rerank: {err}", status, 0)
ranking = [{"index": i, "score": scores[i], "document": documents[i]} for i in best]
equal(f"{out[0]} is {ranking}", near(json.loads(out[0]), ranking), True)
query = json.dumps({"query": "a good film", "documents": documents}) + "\n"
status, out, err = call("run", "rerank", "reranker", "--top-k", "2", "--raw-scores", stdin=query + '{"query": "a", "documents": []}\n')
equal("the best two", [each["index"] for each in json.loads(out[0])], best[:2])
equal("no documents", (status, "documents: expected at least one" in json.loads(out[1])["error"]), (1, True))
status, out, err = run("rerank", "classifier", "a good film", "good")
equal("a reranker of three labels", (status, "found one with 3 labels" in err), (1, True))

# Invalid options.
for arguments, words in ((("embed", tasks + "classifier", "--top", "0", "x"), "expected more than 0, found 0"),
                         (("embed", tasks + "classifier", "--threads", "-1", "x"), "expected 0 or more, found -1")):
    status, out, err = call(*arguments)
    equal(words, (status, words in err, len(err) < 200), (2, True, True))

# Architectures that config.json does not name.
os.makedirs("unnamed")
for name in os.listdir(tasks + "tags"):
    shutil.copy(tasks + "tags/" + name, "unnamed")
config = json.load(open("unnamed/config.json"))
config["architectures"] = None
json.dump(config, open("unnamed/config.json", "w"))
equal("inspect", json.loads(call("inspect", "--json", "unnamed")[1][0])["architectures"], ["BertForTokenClassification"])

# Other verbs: an empty line, or an object, in the place of a bad one.
equal("embed", call("embed", tasks + "classifier", stdin=b"a\n\xff\nb\n")[1][1], "")
status, out, err = call("embed", tasks + "classifier", "--json", stdin=b"a\n\xff\nb\n")
equal("embed --json", (status, len(out), json.loads(out[1])["error"]), (1, 3, "standard input, line 2: invalid UTF-8 at byte 0"))
open("lines", "wb").write(b"a\n\xff\nb\n")
status, out, err = call("embed", tasks + "classifier", "--search", "lines", "--json", "b")
equal("embed --search", (status, sorted(each["line"] for each in json.loads(out[0])["results"]), "lines, line 2" in err),
      (1, [1, 3], True))
PYTHON

printf 'the lamp is on the table\nnobody saw the second door\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=16 --set n_layer=1 --set n_head=2 --set n_positions=24 2>>log
"$attend" tokenizer train --model bpe --vocab-size 300 --output bart text 2>>log
"$attend" init bart bart --set d_model=16 --set encoder_layers=1 --set decoder_layers=1 --set encoder_attention_heads=2 \
  --set decoder_attention_heads=2 --set encoder_ffn_dim=16 --set decoder_ffn_dim=16 --set max_position_embeddings=24 2>>log
long=$(printf 'lamp %.0s' {1..60})
# lines STATUS PATTERN COMMAND...: three lines of output; the second one matches PATTERN.
lines() {
  local wanted=$1 pattern=$2 status=0
  shift 2
  printf 'the lamp\n%s\nthe door\n' "$long" | "$@" >out 2>err || status=$?
  [ $status = "$wanted" ] || { echo "FAILED: $*: exit status $status: $(cat err)"; exit 1; }
  [ "$(wc -l <out)" = 3 ] || { echo "FAILED: $*: $(wc -l <out) lines: $(cat out err)"; exit 1; }
  sed -n 2p out | grep -q "$pattern" || { echo "FAILED: $*: $(cat out)"; exit 1; }
  [ "$wanted" = 0 ] || grep -q 'standard input, line 2: the .* tokens' err || { echo "FAILED: $*: $(cat err)"; exit 1; }
}
bad='"error":"standard input, line 2: the '
for model in gpt2 bart; do
  lines 1 "$bad" "$attend" generate $model --max-new-tokens 2 --json
  lines 0 '"texts"' "$attend" generate $model --max-new-tokens 2 --json --truncate
done
lines 1 "$bad" "$attend" translate bart --max-length 4 --json
lines 1 '^$' "$attend" translate bart --max-length 4
lines 0 '"translation"' "$attend" translate bart --max-length 4 --json --truncate
lines 1 "$bad" "$attend" run summarization bart --max-length 4
lines 0 summary_text "$attend" run summarization bart --max-length 4 --truncate
lines 1 "$bad" "$attend" run text-generation gpt2 --max-new-tokens 2
lines 0 generated_text "$attend" run text-generation gpt2 --max-new-tokens 2 --truncate
if printf 'the lamp\n%s\nthe door\n' "$long" | "$attend" translate bart --max-length 4 --strict >out 2>err; then exit 1; fi
[ "$(wc -l <out)" = 1 ] && grep -q 'line 2' err
echo "all well"
