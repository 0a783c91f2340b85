#!/usr/bin/env bash
# attend explain: its numbers are those of attend forward, for every kind of model; and messages for bad
# input.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
here=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash "$here/explain/make_models.sh" "$attend" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"

python3 - "$attend" <<'PYTHON'
import json, struct, subprocess, sys
from array import array

attend = sys.argv[1]


def fail(text):
    sys.exit("FAILED: " + text)


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    kinds = {"F32": "f", "I64": "q", "I32": "i", "U8": "B"}
    tensors = {}
    for name, entry in header.items():
        values = array(kinds[entry["dtype"]])
        values.frombytes(data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
        tensors[name] = (entry["shape"], values)
    return tensors, metadata


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = array("q", values).tobytes()
        header[name] = {"dtype": "I64", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


def run(*arguments):
    done = subprocess.run([attend, *arguments], capture_output=True, text=True)
    if done.returncode:
        fail(f"attend {' '.join(arguments)}: {done.stderr}")


def same(name, ours, theirs, memory=0):
    if memory:  # everything before the text is one key here
        return
    if ours[0] != theirs[0][1:]:
        fail(f"{name}: shape {ours[0]}, but forward has {theirs[0]}")
    worst = max(abs(a - b) for a, b in zip(ours[1], theirs[1]))
    if worst > 1e-6:
        fail(f"{name} differs from forward by {worst}")


text = "time flies like an arrow"
for model in ["bert", "gpt2", "gptj", "deberta", "bigbird", "xlnet", "xl", "t5", "marian"]:
    long = " ".join([text] * 12) if model == "bigbird" else text
    pair = ["--pair", "the lamp is on the table"] if model == "bert" else []
    target = ["--target", "the lamp"] if model in ("t5", "marian") else []
    run("explain", f"m-{model}", long, *pair, *target, "--safetensors", "all.safetensors")
    ours, metadata = read("all.safetensors")
    document = json.loads(metadata["explanation"])
    sides = document["sides"]
    ids = [[token["id"] for token in side["tokens"]] for side in sides]
    inputs = {"input_ids": ([1, len(ids[0])], ids[0])}
    if pair:
        segments = [token["segment"] for token in sides[0]["tokens"]]
        if set(segments) != {0, 1}:
            fail(f"segments of a pair are {segments}")
        inputs["token_type_ids"] = ([1, len(ids[0])], segments)
    if model == "xlnet":
        inputs["token_type_ids"] = ([1, len(ids[0])], [0] * (len(ids[0]) - 1) + [2])
    if len(ids) > 1:
        inputs["decoder_input_ids"] = ([1, len(ids[1])], ids[1])
    write("in.safetensors", inputs)
    run("forward", f"m-{model}", "--inputs", "in.safetensors", "--outputs", "out.safetensors", "--attentions", "--hidden-states")
    theirs, _ = read("out.safetensors")
    compared = 0
    for attention in document["attentions"]:
        kind = {"self": "attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
        if len(attention["layers"]) != attention["all_layers"]:
            fail(f"{model}: {len(attention['layers'])} layers of {attention['all_layers']}")
        for layer in attention["layers"]:
            number = layer["number"]
            name = f"attentions.{attention['name']}.{number}.weights"
            same(f"{model} {name}", ours[name], theirs[f"{kind[attention['name']]}.{number}"], attention["memory"])
            compared += 1
    side = sides[-1]["name"]
    prefix = "decoder_hidden_states" if len(sides) > 1 else "hidden_states"
    for number in range(len(sides[-1]["hidden"])):
        same(f"{model} hidden {number}", ours[f"{side}.hidden.{number}"], theirs[f"{prefix}.{number}"])
    if compared == 0:
        fail(f"{model}: nothing to compare")
    for name in ("logits", "prediction_logits", "prediction_scores"):
        if name not in theirs or "predictions" not in document:
            continue
        vocabulary = theirs[name][0][-1]
        count = ours["predictions.ids"][0][1]
        for place in range(ours["predictions.ids"][0][0]):
            for rank in (0, count - 1):
                token = ours["predictions.ids"][1][place * count + rank]
                if abs(theirs[name][1][place * vocabulary + token] - ours["predictions.logits"][1][place * count + rank]) > 1e-4:
                    fail(f"{model}: the logit of token {token} in place {place} is not forward's")

run("explain", "m-gpt2", text, "--layers", "2,0", "--json", "two.json", "--output", "two.html", "--svg", "two.svg", "--layer", "2")
document = json.load(open("two.json"))
if [layer["number"] for layer in document["attentions"][0]["layers"]] != [0, 2]:
    fail("--layers keeps others")
if abs(sum(document["attentions"][0]["layers"][1]["weights"][3][4]) - 1) > 1e-5:
    fail("a row of weights is not 1")
if not open("two.svg").read().startswith("<svg "):
    fail("no picture")


def refuses(expected, *arguments):
    done = subprocess.run([attend, "explain", *arguments, "--output", "never.html"], capture_output=True, text=True)
    if done.returncode == 0 or expected not in done.stderr:
        fail(f"explain {arguments}: expected a refusal with {expected!r}, got {done.returncode}: {done.stderr}")


refuses("expected a text, or a picture", "m-bert")
refuses("layer 7: expected one from 0 to 1", "m-bert", text, "--layers", "7")
refuses("the model reads pictures", "m-vit", text)
refuses("expected a model of pictures", "m-bert", "--image", "portrait.png")
refuses("a target is for a decoder with an encoder", "m-gpt2", text, "--target", "x")
refuses("the model reads 512", "m-bert", "the " * 600)
refuses("text", "m-vit", "--image", "text")
refuses("has no tokens", "m-gpt2", "")
refuses("head 9: expected one from 0 to 3", "m-bert", text, "--svg", "never.svg", "--head", "9")
refuses("no-such", "no-such", text)
PYTHON
if compgen -G "$work/never*.svg" >/dev/null; then echo "FAILED: a refused picture was written"; exit 1; fi
