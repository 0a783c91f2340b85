#!/usr/bin/env bash
# Changes while a server runs, and its limits: loading and unloading adapters, long prompts between the tokens
# of other requests, explanations, limits of requests.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
export ATTEND=$attend PYTHONPATH=$(realpath tests/cli) PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\nUser: hello\nBot: good day\n' >text
"$attend" tokenizer train --model bpe --vocab-size 320 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=1024 2>>log
"$attend" tokenizer train --model wordpiece --vocab-size 120 --output bert text 2>>log
"$attend" init bert bert --set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 \
  --set intermediate_size=64 --set 'architectures=["BertForSequenceClassification"]' --set num_labels=2 2>>log
mkdir adapters
for seed in 1 2; do
  "$attend" train --objective causal-lm --model gpt2 --train text --steps 10 --length 8 --lora 4 --learning-rate 5e-2 --seed "$seed" \
    --quiet --output "adapters/a$seed" 2>>log
done
mkdir adapters/broken && echo '{}' >adapters/broken/adapter_config.json
ln -s "$work/gpt2" adapters/outside
mkdir adapters/link && ln -s /etc/hostname adapters/link/adapter_config.json

python3 - <<'PYTHON'
import json, os, shutil, subprocess, threading, time
from server import Server, attend, equal, fail

LOAD, UNLOAD, TEXT = "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/v1/completions"
ASK = dict(prompt="the lamp", max_tokens=24, min_new_tokens=24, temperature=0)


def command(*words):
    made = subprocess.run([attend, *words, "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


def text_of(*options):
    options = ["--max-new-tokens", "24", "--min-new-tokens", "24", "--json", *options]
    return command("generate", "gpt2", "the lamp", *options)["texts"][0]["text"].removeprefix("the lamp")


def names(server):
    return [each["id"] for each in json.loads(server.ask("GET", "/v1/models")[1])["data"]]


def adapters(server):
    expected = {"gpt2": text_of(), "x": text_of("--adapter", "adapters/a1"), "y": text_of("--adapter", "adapters/a2")}
    equal("that the adapters differ", len(set(expected.values())), 3)
    texts = lambda name: server.post(TEXT, **ASK, model=name)["choices"][0]["text"]  # noqa: E731
    equal("the model's text", texts("gpt2"), expected["gpt2"])

    # A text that began before the change continues unchanged.
    pieces, begun = [], threading.Event()

    def stream():
        for piece in server.stream_now(TEXT, **{**ASK, "max_tokens": 900, "min_new_tokens": 900}, model="gpt2"):
            pieces.append(piece["choices"][0]["text"])
            begun.set()

    long = "".join(p["choices"][0]["text"] for p in server.stream(TEXT, **{**ASK, "max_tokens": 900, "min_new_tokens": 900}, model="gpt2"))
    thread = threading.Thread(target=stream)
    thread.start()
    begun.wait(60)
    loaded = server.post(LOAD, lora_name="x", lora_path="a1", model="gpt2")
    equal("the new model", (loaded["id"], loaded["parent"]), ("x", "gpt2"))
    server.post(LOAD, lora_name="y", lora_path="a2", model="gpt2")
    equal("models", names(server), ["gpt2", "x", "y", "bert"])
    for name, text in expected.items():
        equal(name, texts(name), text)
    found = {}

    def ask(name):
        found[name] = texts(name)

    threads = [threading.Thread(target=ask, args=(name,)) for name in expected]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    equal("texts of several adapters at a time", found, expected)
    equal("unloaded", server.post(UNLOAD, lora_name="x"), {"id": "x", "deleted": True})
    equal("models", names(server), ["gpt2", "y", "bert"])
    equal("y", texts("y"), expected["y"])
    server.refused(404, TEXT, {**ASK, "model": "x"}, "there is no x")
    thread.join()
    equal("the text in flight", "".join(pieces), long)

    # The same name, another adapter.
    server.post(UNLOAD, lora_name="y")
    server.post(LOAD, lora_name="y", lora_path="a1", model="gpt2")
    equal("the new y", texts("y"), expected["x"])

    server.refused(400, LOAD, dict(lora_name="y", lora_path="a2", model="gpt2"), "y is loaded already")
    server.refused(400, LOAD, dict(lora_name="bert", lora_path="a2", model="gpt2"), "bert is loaded already")
    server.refused(404, LOAD, dict(lora_name="z", lora_path="none", model="gpt2"), "is no directory")
    server.refused(400, LOAD, dict(lora_name="z", lora_path="broken", model="gpt2"), "adapter_config.json")
    server.refused(400, LOAD, dict(lora_name="z", lora_path="a2", model="bert"), 'expected an adapter for a model of type "bert"')
    server.refused(404, LOAD, dict(lora_name="z", lora_path="a2"), "expected one of gpt2, bert")
    server.refused(404, LOAD, dict(lora_name="z", lora_path="a2", model="y"), "there is no y; there are gpt2, bert")
    for path in ("../gpt2", "/etc", "outside", "a1/../../gpt2", ".."):
        server.refused(400, LOAD, dict(lora_name="z", lora_path=path, model="gpt2"), "expected a directory in")
    server.refused(400, LOAD, dict(lora_name="z", lora_path="link", model="gpt2"), "is a link out of")
    server.refused(404, UNLOAD, dict(lora_name="z"), "there is no adapter z; there are y")
    server.post(LOAD, lora_name="z", lora_path="a2", model="gpt2")
    server.refused(400, LOAD, dict(lora_name="w", lora_path="a2", model="gpt2"), "at most 2 may be loaded")
    equal("models", names(server), ["gpt2", "y", "z", "bert"])


def one_change_at_a_time(server):
    """The test controls how long an adapter loads: its configuration is a pipe. Other requests must not wait for it."""
    shutil.copytree("adapters/a1", "adapters/late")
    shutil.copy("adapters/a1/adapter_config.json", "config")
    os.remove("adapters/late/adapter_config.json")
    os.mkfifo("adapters/late/adapter_config.json")
    server.post(UNLOAD, lora_name="z")
    found = []
    load = lambda: found.append(server.ask("POST", LOAD, dict(lora_name="late", lora_path="late", model="gpt2"))[0])  # noqa: E731
    threads = [threading.Thread(target=load) for _ in range(40)]
    for each in threads:
        each.start()
    for each in range(300):
        if len(found) == 39:
            break
        time.sleep(0.1)
    equal("the others", found, [429] * 39)
    server.post(TEXT, **ASK, model="y")
    server.refused(429, UNLOAD, dict(lora_name="y"), "try again later")
    with open("adapters/late/adapter_config.json", "w") as pipe:
        os.replace("config", "adapters/late/adapter_config.json")
        pipe.write(open("adapters/late/adapter_config.json").read())
    for each in threads:
        each.join()
    equal("the first", found[39:], [200])
    equal("models", names(server), ["gpt2", "y", "late", "bert"])


def explanations(server):
    subprocess.run([attend, "explain", "gpt2", "the lamp", "--json", "out", "--quiet"], check=True)
    expected, found = json.load(open("out")), server.post("/v1/explain", model="gpt2", text="the lamp")
    equal("fields", sorted(found), sorted(expected))
    equal("tokens", found["sides"][0]["tokens"], expected["sides"][0]["tokens"])
    for attention, other in zip(found["attentions"][0]["layers"], expected["attentions"][0]["layers"]):
        for head, same in zip(attention["weights"], other["weights"]):
            for row, line in zip(head, same):
                if any(abs(a - b) > 1e-5 for a, b in zip(row, line)):
                    fail(f"attention: expected {line}, found {row}")
    one = server.post("/v1/explain", model="gpt2", text="the lamp", layers=[1])
    equal("layers", [layer["number"] for layer in one["attentions"][0]["layers"]], [1])
    plain, adapted = (server.post("/v1/explain", model=name, text="the lamp")["predictions"] for name in ("gpt2", "y"))
    equal("that an adapter predicts something else", plain != adapted, True)
    labels = server.post("/v1/explain", model="bert", text="the lamp", attribute=["occlusion"], toward="LABEL_1")
    equal("labels", [each["label"] for each in labels["labels"]], ["LABEL_0", "LABEL_1"])
    equal("toward", labels["attributions"][0]["toward"], "LABEL_1")
    status, page = server.ask("POST", "/v1/explain/page", dict(model="bert", text="the lamp"))
    equal("a page", (status, page[:15], "data-explanation" in page), (200, "<!doctype html>", True))
    server.refused(400, "/v1/explain", dict(model="bert", text="the " * 300), "expected at most 256 tokens")
    server.refused(400, "/v1/explain", dict(model="bert", text="the", layers=[7]), "layer 7: expected one from 0 to 1")
    server.refused(400, "/v1/explain", dict(model="bert", text="the", toward="LABEL_1"), "expected attribute as well")
    server.refused(400, "/v1/explain", dict(model="bert", text="the", attribute=["magic"]), "attribute[0]: expected one of")
    server.refused(400, "/v1/explain", dict(model="gpt2", text="the", target="lamp"), "a target is for a decoder with an encoder")


def limits():
    server = Server("gpt2", "bert", "--max-inputs", "3", "--max-prompt-tokens", "20", "--max-waiting-tokens", "40",
                    "--max-queue-seconds", "0.1", "--cache-memory", "1100kb", "--prompt-step-tokens", "32")  # fmt: skip
    server.refused(400, "/v1/embeddings", dict(model="bert", input=["the"] * 4), "input: expected at most 3 inputs")
    server.refused(400, "/v1/classify", dict(model="bert", input=["the"] * 4), "input: expected at most 3 inputs")
    server.refused(400, "/v1/run/fill-mask", dict(model="bert", inputs=["the"] * 4), "inputs: expected at most 3 inputs")
    server.refused(400, TEXT, dict(model="gpt2", prompt=["the"] * 4), "prompt: expected at most 3 inputs")
    server.refused(400, TEXT, dict(model="gpt2", prompt=[5] * 21), "the prompt has 21 tokens: expected at most 20")
    status, text = server.ask("POST", LOAD, dict(lora_name="x", lora_path="a1"))
    equal("adapters without permission", status, 404)

    # More than the cache holds at a time: some requests continue, others find no room or wait for too long.
    replies = []

    def ask():
        reply = server.reply("POST", TEXT, dict(model="gpt2", prompt=[5] * 20, max_tokens=900, min_new_tokens=900))
        replies.append((reply.status, reply.getheader("Retry-After") is not None))

    threads = []
    for _ in range(12):
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        time.sleep(0.01)
    for each in threads:
        each.join()
    equal("replies", set(replies) | {(503, True)}, {(200, False), (429, True), (503, True)})
    server.post(TEXT, model="gpt2", prompt="the", max_tokens=2)
    server.end()


server = Server("gpt2", "bert", "--allow-adapter-loading", "adapters", "--max-adapters", "2")
adapters(server)
one_change_at_a_time(server)
explanations(server)
server.end()
limits()
PYTHON
