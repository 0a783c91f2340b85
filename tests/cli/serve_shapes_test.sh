#!/usr/bin/env bash
# Paths in the formats of text-embeddings-inference, Cohere, vLLM and LibreTranslate, with the same numbers as
# the command's.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
data=$(realpath tests/data)
export ATTEND=$attend DATA=$data PYTHONPATH=$(realpath tests/cli) PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nthe second door is open\nder Hund läuft auf die Straße\n' >text
"$attend" tokenizer train --model wordpiece --vocab-size 120 --output bert text 2>log
cp -r bert labels && cp -r bert judge
tiny=(--set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=64)
classifies=(--set 'architectures=["BertForSequenceClassification"]')
"$attend" init bert bert "${tiny[@]}" 2>>log
"$attend" init bert labels "${tiny[@]}" "${classifies[@]}" --set num_labels=3 2>>log
"$attend" init bert judge "${tiny[@]}" "${classifies[@]}" --set num_labels=1 2>>log
"$attend" tokenizer train --model unigram --vocab-size 60 --output bart text 2>>log
"$attend" init bart bart --set d_model=32 --set encoder_layers=1 --set decoder_layers=1 --set encoder_attention_heads=2 \
  --set decoder_attention_heads=2 --set encoder_ffn_dim=32 --set decoder_ffn_dim=32 2>>log

python3 - <<'PYTHON'
import base64, json, os, shutil, struct, subprocess, urllib.parse
from server import Server, attend, equal, fail

TEXTS = ["the lamp", "the second door is open"]


def command(*words, lines=None):
    ran = subprocess.run([attend, *words, "--quiet"], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def unit(vector):
    length = sum(x * x for x in vector) ** 0.5
    return [x / length for x in vector]


def close(what, found, expected, within=1e-6):
    if len(found) != len(expected) or any(abs(a - b) > within for a, b in zip(found, expected)):
        fail(f"{what}: expected {expected}, found {found}")


def embeddings_of_tei(server):
    vectors = [each["embedding"] for each in server.post("/v1/embeddings", model="bert", input=TEXTS)["data"]]
    found = server.post("/embed", model="bert", inputs=TEXTS)
    for vector, expected in zip(found, vectors):
        close("/embed", vector, unit(expected))
    equal("one text", server.post("/embed", model="bert", inputs=TEXTS[0]), found[:1])
    ids = server.post("/tokenize", model="bert", text=TEXTS[0], special_tokens=False)["ids"]
    equal("tokens", server.post("/embed", model="bert", inputs=ids), found[:1])
    short = server.post("/embed", model="bert", inputs=TEXTS, dimensions=8, truncate=None, truncation_direction="Right")
    close("cut", short[1], unit(vectors[1][:8]))
    plain = server.post("/embed", model="bert", inputs=TEXTS, normalize=False)
    close("as they are", unit(plain[0]), found[0])
    server.refused(400, "/embed", dict(model="bert", inputs="a", prompt_name="news"), "no prompt")
    server.refused(400, "/embed", dict(model="bert", inputs="a", truncation_direction="Left"), "right")
    server.refused(400, "/embed", dict(model="bert", inputs=[99999]), "inputs: the model has no token 99999")


def embeddings_of_cohere(server):
    vectors = [each["embedding"] for each in server.post("/v1/embeddings", model="bert", input=TEXTS)["data"]]
    ask = dict(model="bert", texts=TEXTS, input_type="search_document")
    first = server.post("/v1/embed", **ask)
    equal("version 1", (first["response_type"], first["embeddings"], first["texts"]), ("embeddings_floats", vectors, TEXTS))
    forms = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    for path in ("/v1/embed", "/v2/embed"):
        reply = server.post(path, **ask, embedding_types=forms)
        equal(path, (reply["response_type"], reply["meta"]["api_version"]["version"]), ("embeddings_by_type", path[2]))
        made = reply["embeddings"]
        equal("the forms", list(made), forms)
        for i, vector in enumerate(vectors):
            equal("float", made["float"][i], vector)
            equal("base64", list(struct.unpack(f"<{len(vector)}f", base64.b64decode(made["base64"][i]))), list(struct.unpack(f"<{len(vector)}f", struct.pack(f"<{len(vector)}f", *vector))))  # fmt: skip
            scale = max(abs(x) for x in vector) / 127
            close("int8", [x * scale for x in made["int8"][i]], vector, within=scale * 0.51)
            equal("uint8", made["uint8"][i], [x + 128 for x in made["int8"][i]])
            bits = "".join(str(int(x > 0)) for x in vector)
            equal("ubinary", made["ubinary"][i], [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)])
            equal("binary", made["binary"][i], [x - 128 for x in made["ubinary"][i]])
    equal("the default", list(server.post("/v2/embed", **ask)["embeddings"]), ["float"])
    short = server.post("/v2/embed", **ask, output_dimension=8, truncate="END", priority=1)["embeddings"]["float"]
    close("cut", short[0], vectors[0][:8])
    server.refused(400, "/v2/embed", dict(model="bert", texts=TEXTS), "input_type: expected one of")
    server.refused(400, "/v2/embed", dict(ask, embedding_types=["float16"]), "embedding_types[0]")
    server.refused(400, "/v2/embed", dict(ask, texts=["door " * 3000], truncate="NONE"), "tokens")
    server.refused(400, "/v2/embed", dict(ask, truncate="START"), "NONE, END")
    server.refused(400, "/v2/embed", dict(ask, images=["data:"]), "there is no field")


def predictions(server):
    pairs = [("the lamp", None), ("the lamp", "the second door")]
    lines = "".join(json.dumps({"text": a, "text_pair": b} if b else {"text": a}) + "\n" for a, b in pairs)
    one, pair = ([{"score": each["score"], "label": each["label"]} for each in answer]
                 for answer in command("run", "text-classification", "labels", "--top-k", "0", "--json-input", lines=lines))  # fmt: skip
    equal("a text", server.post("/predict", model="labels", inputs="the lamp"), one)
    equal("a pair", server.post("/predict", model="labels", inputs=["the lamp", "the second door"]), pair)
    equal("several", server.post("/predict", model="labels", inputs=[["the lamp"], ["the lamp", "the second door"]]), [one, pair])
    raw = server.post("/predict", model="labels", inputs="the lamp", raw_scores=True)
    equal("raw scores", ([each["label"] for each in raw], sum(each["score"] for each in raw) == 1), ([each["label"] for each in one], False))
    server.refused(400, "/predict", dict(model="labels", inputs=["a", "b", "c"]), "inputs: expected")
    server.refused(400, "/predict", dict(model="bert", inputs="a"), "")


def language_model_as_reranker():
    """The scores of sentence-transformers: tests/oracle/make_rerank_goldens.py."""
    goldens = json.load(open(os.environ["DATA"] + "/rerank/goldens.json"))
    case = goldens["cases"][0]
    shutil.copytree(os.environ["DATA"] + "/models/qwen3", "ranks")
    config = json.load(open("ranks/config.json"))
    json.dump(dict(config, max_position_embeddings=256), open("ranks/config.json", "w"))
    for name, content in case["files"].items():
        os.makedirs(os.path.dirname("ranks/" + name), exist_ok=True)
        with open("ranks/" + name, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
    server = Server("ranks")
    some = [i for i, (query, document) in enumerate(goldens["pairs"]) if document]
    first, second = zip(*(goldens["pairs"][i] for i in some))
    for call in case["calls"]:
        found = server.post("/v1/score", text_1=list(first), text_2=list(second), **call["options"])
        expected = [call["scores"][i] for i in some]
        close(f"scores with {call['options']}", [each["score"] for each in found["data"]], expected, within=1e-5)
    made = server.post("/v2/rerank", query=first[0], documents=list(second))
    if made["usage"]["prompt_tokens"] <= 10 * len(second):
        fail(f"the template's tokens are not counted: {made['usage']}")
    same = command("run", "rerank", "ranks", first[0], *second)[0]
    equal("the command's", [(each["index"], each["relevance_score"]) for each in made["results"]], [(each["index"], each["score"]) for each in same])
    equal("as text-embeddings-inference", server.post("/rerank", query=first[0], texts=list(second))[0]["index"], same[0]["index"])
    server.refused(400, "/v1/rerank", dict(query="a", documents=["b"], prompt_name="news"), "no prompt")
    server.refused(400, "/v1/rerank", dict(query="a", documents=["b"], prompt="c", prompt_name="web"), "found both")
    server.end()


def what_the_model_is():
    for model, kind in (("labels", "classifier"), ("judge", "reranker"), ("bert", "embedding")):
        server = Server(model)
        info = json.loads(server.ask("GET", "/info")[1])
        equal("its name and kind", (info["model_id"], list(info["model_type"])), (model, [kind]))
        equal("its longest text", info["max_input_length"], 512)
        if kind == "classifier":
            equal("its labels", info["model_type"][kind]["label2id"], {f"LABEL_{i}": i for i in range(3)})
        if kind == "embedding":
            equal("its pooling", info["model_type"][kind]["pooling"], "mean")
            server.refused(400, "/v1/rerank", dict(query="a", documents=["b"], prompt="c"), "vectors")
        server.end()


def detection(server):
    german = "Der Hund läuft schnell über die breite Straße."
    if b"libcld2" not in subprocess.run(["ldd", attend], capture_output=True).stdout:  # built without it
        server.refused(501, "/detect", dict(q=german), "built without")
        return server.refused(501, "/translate", dict(q=german, source="auto", target="en"), "built without")
    found = server.post("/detect", q=german)
    equal("German", (found[0]["language"], 50 < found[0]["confidence"] <= 100), ("de", True))
    form = urllib.parse.urlencode(dict(q="The dog runs quickly across the wide street.", api_key="")).encode()
    status, text = server.ask("POST", "/detect", form, {"Content-Type": "application/x-www-form-urlencoded"})
    equal("a form", (status, json.loads(text)[0]["language"]), (200, "en"))
    equal("no language", server.post("/detect", q="12345"), [])
    odd = ["\0\x01\x7f\x85\x9a\ufdd0\uffff\U0010ffff", "]\u00e1u4O\u00e1\u009a"]  # characters that CLD2 does not read
    equal("odd characters", {each["language"] for each in server.post("/detect", q=odd)} & {"un"}, set())
    equal("between others", server.post("/detect", q=german + "\x9a")[0]["language"], "de")
    known = server.post("/translate", q=german, source="de", target="en")
    made = server.post("/translate", q=german, source="auto", target="en")
    equal("auto", made, {**known, "detectedLanguage": found[0]})
    many = server.post("/translate", q=[german, german], source="auto", target="en")
    equal("several", (many["translatedText"], len(many["detectedLanguage"])), ([known["translatedText"]] * 2, 2))
    server.refused(404, "/translate", dict(q="The dog runs quickly across the wide street.", source="auto", target="en"), "from en to en")
    server.refused(400, "/translate", dict(q="12345", source="auto", target="en"), "its language is not known")


server = Server("bert", "labels", "judge", "de-en=bart")
embeddings_of_tei(server)
embeddings_of_cohere(server)
predictions(server)
detection(server)
server.end()
language_model_as_reranker()
what_the_model_is()
print("all well")
PYTHON
