#!/usr/bin/env bash
# A server and its clients, over real sockets: OpenAI's API, texts for many clients at a time, clients that
# disconnect, invalid requests, and a shutdown that answers all requests in flight.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
export ATTEND=$attend PYTHONPATH=$(realpath tests/cli) PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\nUser: hello\nBot: good day\nZoë läuft 東京\n' >text
"$attend" tokenizer train --model bpe --vocab-size 320 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=512 2>>log
"$attend" tokenizer train --model wordpiece --vocab-size 120 --output bert text 2>>log
"$attend" init bert bert --set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 \
  --set intermediate_size=64 2>>log

python3 - <<'PYTHON'
import base64, json, os, re, socket, struct, subprocess, threading, time
from server import Server, attend, equal, fail


def texts(server):
    whole = server.post("/v1/completions", prompt="the lamp", max_tokens=12, temperature=0, model="gpt2", logprobs=1)
    choice = whole["choices"][0]
    equal("usage", whole["usage"]["completion_tokens"], 12)
    equal("finish_reason", choice["finish_reason"], "length")
    equal("tokens", "".join(choice["logprobs"]["tokens"]), choice["text"])
    made = subprocess.run([attend, "generate", "gpt2", "the lamp", "--max-new-tokens", "12", "--json", "--quiet"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    equal("the command's text", json.loads(made.stdout)["texts"][0]["text"].removeprefix("the lamp"), choice["text"])

    # A stop string ends a text, which does not contain it, also in a stream.
    stop = re.search("[a-z]{2}", choice["text"][3:]).group()
    ask = dict(prompt="the lamp", max_tokens=12, temperature=0, model="gpt2", stop=stop)
    stopped = server.post("/v1/completions", **ask)["choices"][0]
    equal("stopped", stopped["text"], choice["text"][: choice["text"].index(stop)])
    equal("finish_reason", stopped["finish_reason"], "stop")
    pieces = server.stream("/v1/completions", **ask)
    equal("pieces", "".join(piece["choices"][0]["text"] for piece in pieces), stopped["text"])

    # A stop string that begins in the prompt has no effect.
    across = "e lamp" + choice["text"][0]
    if across in choice["text"]:
        fail(f"{across} is in {choice['text']}")
    whole = server.post("/v1/completions", **{**ask, "stop": across})["choices"][0]
    equal("not stopped", (whole["text"], whole["finish_reason"]), (choice["text"], "length"))

    # Several prompts with several texts each, by seed.
    ask = dict(prompt=["the lamp", "Zoë"], n=2, max_tokens=8, temperature=0.9, seed=5, model="gpt2")
    several = server.post("/v1/completions", **ask)["choices"]
    equal("indices", [choice["index"] for choice in several], [0, 1, 2, 3])
    equal("the same seed", [c["text"] for c in server.post("/v1/completions", **ask)["choices"]],
          [c["text"] for c in several])  # fmt: skip
    written = [""] * 4
    for piece in server.stream("/v1/completions", **ask, stream_options={"include_usage": True}):
        for choice in piece["choices"]:
            written[choice["index"]] += choice["text"]
    equal("streamed", written, [choice["text"] for choice in several])
    equal("usage", piece["usage"]["completion_tokens"], 32)

    messages = [{"role": "system", "content": "hello"}, {"role": "user", "content": [{"type": "text", "text": "door"}]}]
    ask = dict(messages=messages, max_tokens=10, temperature=0.8, seed=3, model="gpt2")
    answer = server.post("/v1/chat/completions", **ask)["choices"][0]["message"]
    pieces = [piece["choices"][0]["delta"] for piece in server.stream("/v1/chat/completions", **ask)]
    equal("role", pieces[0]["role"], "assistant")
    equal("chat", "".join(piece.get("content", "") for piece in pieces), answer["content"])


def vectors(server):
    lines = ["the lamp", "nobody saw the second door", "hello"] * 3
    printed = subprocess.run([attend, "embed", "bert", "--json", "--quiet"], input="\n".join(lines), text=True,
                             capture_output=True, check=True)  # fmt: skip
    expected = [json.loads(line)["embedding"] for line in printed.stdout.splitlines()]
    found = server.post("/v1/embeddings", input=lines, model="bert")
    equal("vectors", [each["embedding"] for each in found["data"]], expected)
    packed = server.post("/v1/embeddings", input=lines[1], encoding_format="base64", model="bert")["data"][0]
    numbers = base64.b64decode(packed["embedding"])
    equal("base64", numbers, struct.pack(f"<{len(expected[1])}f", *expected[1]))

    def one(**fields):
        found = server.post("/v1/embeddings", input="the lamp", model="bert", **fields)
        return found["data"][0]["embedding"], found["usage"]["prompt_tokens"]

    def length(vector):
        return round(sum(x * x for x in vector) ** 0.5, 5)

    whole, tokens = one()
    equal("that nothing is normalized", length(whole) != 1, True)
    equal("normalized", length(one(normalize=True)[0]), 1)
    equal("dimensions", one(dimensions=8)[0], whole[:8])
    equal("dimensions, normalized", length(one(dimensions=8, normalize=True)[0]), 1)
    both = server.post("/v1/embeddings", input="on the lamp", model="bert")
    equal("a prompt", one(prompt="on "), (both["data"][0]["embedding"], both["usage"]["prompt_tokens"]))
    equal("no prompt of that name", one(input_type="query"), (whole, tokens))
    equal("tokens of a long text", server.post("/v1/embeddings", input="the " * 5000, model="bert")["usage"]["prompt_tokens"], 512)

    # Requests at the same time are computed together, with the same results as alone.
    different = []

    def ask(i):
        for k in range(20):
            line = (i + k) % len(lines)
            if server.post("/v1/embeddings", input=lines[line], model="bert")["data"][0]["embedding"] != expected[line]:
                different.append(line)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal("vectors that depend on who else asks", different, [])


def tasks(server):
    printed = subprocess.run([attend, "run", "fill-mask", "bert", "the [MASK] is on", "--top-k", "2", "--quiet"],
                             capture_output=True, text=True, check=True)  # fmt: skip
    ask = dict(model="bert", parameters={"top_k": 2})
    equal("fill-mask", server.post("/v1/run/fill-mask", inputs="the [MASK] is on", **ask), json.loads(printed.stdout))
    equal("a list", server.post("/v1/run/fill-mask", inputs=["the [MASK] is on"], **ask), [json.loads(printed.stdout)])
    both = server.post("/v1/run/fill-mask", inputs=["the [MASK] is on", "none"], **ask)
    equal("a list with a bad input", both[0], json.loads(printed.stdout))
    equal("its error", list(both[1]), ["error"])
    tokens = server.post("/tokenize", model="gpt2", text="Zoë läuft")
    equal("tokens", server.post("/detokenize", model="gpt2", ids=tokens["ids"]), {"text": "Zoë läuft"})


def bad_requests(server):
    text, chat, vector = "/v1/completions", "/v1/chat/completions", "/v1/embeddings"
    server.refused(400, text, b'{"model": "gpt2", "prompt"', "not valid JSON")
    server.refused(400, text, b"[" * 100000, "nested deeper")
    server.refused(400, text, b'{"model": "gpt2", "prompt": "\xff"}', "UTF-8")
    server.refused(400, text, [1], "expected a JSON object")
    server.refused(404, text, {"prompt": "a"}, "expected one of gpt2, bert")
    server.refused(404, text, {"prompt": "a", "model": "other"}, "there is no other")
    server.refused(400, text, {"prompt": "a", "model": "bert"}, "generates no text")
    server.refused(400, text, {"model": "gpt2"}, "prompt: expected a text or a list of texts")
    server.refused(400, text, {"model": "gpt2", "prompt": "the " * 5000}, "the model reads 512")
    for field, value, words in [("n", 0, "from 1 to 128"), ("num_return_sequences", 1 << 30, "from 1 to 128"),
                                ("num_return_sequences", "2", "an integer"), ("temperature", -1, "at least 0"), ("stop", [""], "stop[0]: expected a text that is not empty"),
                                ("presence_penalty", 1e39, "presence_penalty: expected a number from"), ("logit_bias", {"x": 1}, "ids of tokens"),
                                ("logit_bias", {"99999": 1}, "outside"), ("max_tokens", "many", "an integer"),
                                ("beams", 2, 'there is no field "beams": /openapi.json'), ("stream", 1, "true or false"),
                                ("response_format", {"type": "xml"}, "response_format: expected"), ("logprobs", 21, "from 0 to 20"),
                                ("tools", [{}], 'there is no field "tools"')]:  # fmt: skip
        server.refused(400, text, {"model": "gpt2", "prompt": "a", field: value}, words)
    server.refused(400, chat, {"model": "gpt2", "messages": []}, "messages: expected a list of objects that is not empty")
    server.refused(400, chat, {"model": "gpt2", "messages": [{"role": "user", "content": "a"}], "tools": [{}]}, "tools")
    server.refused(400, chat, {"model": "gpt2", "messages": [{"role": "assistant", "content": "a"}]}, "one of user")
    server.refused(400, chat, {"model": "gpt2", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content")
    server.refused(400, vector, {"model": "bert", "input": []}, "input: expected")
    server.refused(400, vector, {"model": "bert", "input": [1, 9999]}, "the model has no token 9999")
    for field, value, words in [("dimensions", 33, "expected 1 to 32"), ("dimensions", 0, "dimensions"), ("prompt_name", "title", "it has document, query"),
                                ("input_type", "passage", "expected one of query, document"), ("normalize", 1, "true or false"),
                                ("truncate", "END", "true or false"), ("prompt", 1, "prompt: expected a text")]:  # fmt: skip
        server.refused(400, vector, {"model": "bert", "input": "a", field: value}, words)
    server.refused(400, vector, {"model": "bert", "input": "a", "prompt": "a", "input_type": "query"}, "expected one of prompt")
    server.refused(400, vector, {"model": "bert", "input": ["a", "the " * 5000], "truncate": False}, "text 2 has 5002 tokens")
    server.refused(400, "/v1/run/token-classification", {"model": "bert", "inputs": "a"}, "TokenClassification")
    server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": "a"}, "[MASK]")
    server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": "a", "parameters": {"help": 1}}, 'parameters: there is no field "help": expected top_k')
    server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": {"text": "a", "foo": 1}}, 'there is no field "foo"')
    server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": {"text": 1}}, "inputs.text: expected a text, found 1")
    for wrong, words in [({"truncate": [None]}, "truncate: expected true or false"), ({"top_k": 0}, "top_k: expected an integer of at least 1")]:
        server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": "a", "parameters": wrong}, "parameters." + words)
    pair = {"source_sentence": "a", "sentences": ["b"]}
    server.refused(400, "/v1/run/sentence-similarity", {"model": "bert", "inputs": pair, "parameters": {"normalize": [None, None]}}, "normalize: expected")
    server.refused(400, "/v1/run/sentence-similarity", {"model": "bert", "inputs": "a"}, "inputs: expected an object or a list of objects")
    server.refused(400, "/v1/run/fill-mask", {"model": "bert", "inputs": {}}, "expected a field text or sequence or inputs")
    server.refused(400, vector, {"model": "bert", "input": "a", "foo": 1}, 'there is no field "foo"')
    server.refused(400, "/tokenize", {"model": "bert", "text": "a", "foo": 1}, 'there is no field "foo"')
    server.refused(400, "/detokenize", {"model": "gpt2", "ids": [4294967297]}, "ids[0]: expected an integer of at most")
    server.refused(400, "/detokenize", {"model": "gpt2", "ids": [99999]}, "no token")
    server.refused(404, "/v1/other", {}, "/v1/completions")
    equal("GET of a POST", server.ask("GET", "/v1/completions")[0], 405)
    equal("packed", server.ask("POST", vector, b"{}", {"Content-Encoding": "gzip"})[0], 415)
    # 70 MB without an announced length.
    many = server.raw(b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(70):
        many.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
    many.sendall(b"0\r\n\r\n")
    if b"413" not in many.recv(100):
        fail("a body of 70 MB was not refused")
    many.close()
    for nonsense in [b"\0\1\2\r\n\r\n", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Le"]:
        server.raw(nonsense).close()
    equal("health after all that", server.ask("GET", "/health")[0], 200)


def request(**body):
    data = json.dumps(body).encode()
    return b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data) + data


def errors_of_texts(server):
    """What is found out while a text is made has the status of an error as long as nothing was sent."""
    for settings, words in [
        (dict(temperature=1e-44), "temperature: 1e-44 is so small"),
        (dict(logit_bias={"5": 1e39}, temperature=1), "logit_bias.5: expected a number from"),
        (dict(do_sample=True, suppress_tokens=list(range(320))), "rule out the whole vocabulary"),
        (dict(grammar="root ::= root"), ""),
        (dict(json_schema={"$ref": "#"}), ""),
    ]:
        for stream in (False, True):
            server.refused(400, "/v1/completions", dict(model="gpt2", prompt="the lamp", max_tokens=4, stream=stream, **settings), words)
    # Every token occurs once, and then none is left: by then the stream has begun.
    ask = dict(model="gpt2", prompt="the lamp", max_tokens=480, min_new_tokens=480, do_sample=True, no_repeat_ngram_size=1)
    server.refused(400, "/v1/completions", ask, "rule out the whole vocabulary")
    status, text = server.ask("POST", "/v1/completions", {**ask, "stream": True})
    equal("a stream that has begun", status, 200)
    last = json.loads(text.rstrip().split("\n\n")[-1].removeprefix("data: "))
    equal("its last piece", (last["error"]["code"], last["error"]["type"]), (400, "invalid_request_error"))
    equal("pages", server.figure("attend_cache_pages_used"), 0)


def many_connections(server):
    """All at once, and none of them is sent away."""
    sockets = []
    for _ in range(200):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", server.port))
        sockets.append(one)
    for one in sockets:
        one.settimeout(10)
        one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        if not one.recv(100).startswith(b"HTTP/1.1 200"):
            fail("a connection of many was not answered")
        one.close()


def clients_that_leave(server):
    for stream in (False, True):
        long = request(model="gpt2", prompt="the lamp", max_tokens=480, num_beams=1 if stream else 4, stream=stream)
        before = server.figure("attend_steps_total")
        clients = [server.raw(long) for _ in range(6)]
        while server.figure("attend_steps_total") == before:
            time.sleep(0.01)
        for client in clients:
            client.close()
        server.wait_for("attend_texts_running", 0)
        equal("pages", server.figure("attend_cache_pages_used"), 0)


def end_with_answers(server):
    """Everybody who has asked gets the whole answer; who comes later is told to go."""
    whole, stream = {}, []
    ask = dict(model="gpt2", prompt="the lamp", max_tokens=450, temperature=0)
    threads = [threading.Thread(target=lambda: whole.update(server.post("/v1/completions", **ask))),
               threading.Thread(target=lambda: stream.extend(server.stream("/v1/completions", **ask)))]  # fmt: skip
    before = server.figure("attend_steps_total")
    for thread in threads:
        thread.start()
    while server.figure("attend_steps_total") == before:
        time.sleep(0.01)
    server.end()
    for thread in threads:
        thread.join()
    equal("tokens", whole["usage"]["completion_tokens"], 450)
    equal("the stream", "".join(piece["choices"][0]["text"] for piece in stream), whole["choices"][0]["text"])


def a_key():
    server = Server("gpt2", ATTEND_KEY="secret")
    equal("health", server.ask("GET", "/health")[0], 200)
    equal("without a key", server.ask("GET", "/v1/models")[0], 401)
    equal("a wrong key", server.ask("GET", "/v1/models", headers={"Authorization": "Bearer secre"})[0], 401)
    status, models = server.ask("GET", "/v1/models", headers={"Authorization": "Bearer secret"})
    equal("models", (status, [each["id"] for each in json.loads(models)["data"]]), (200, ["gpt2"]))
    server.end()


def too_many():
    """Memory for little more than one text, and one place to wait for it: who comes then is told to come later."""
    server = Server("gpt2", "--max-waiting", "1", "--cache-memory", "600kb")
    clients = [server.raw(request(prompt="the lamp", max_tokens=500)) for _ in range(30)]
    replies = {client.recv(12) for client in clients}
    equal("replies", replies, {b"HTTP/1.1 200", b"HTTP/1.1 429"})
    for client in clients:
        client.close()
    server.wait_for("attend_texts_waiting", 0)
    port = subprocess.run([attend, "serve", "gpt2", "--port", str(server.port)], capture_output=True, text=True,
                          timeout=60)  # fmt: skip
    if port.returncode != 1 or "another program has the port" not in port.stderr:
        fail(f"a port that is taken: {port}")
    server.end()


server = Server("gpt2", "bert", "--template", r"User: {user}\nBot: {bot}")
equal("models", [each["id"] for each in json.loads(server.ask("GET", "/v1/models")[1])["data"]], ["gpt2", "bert"])
texts(server)
vectors(server)
tasks(server)
bad_requests(server)
errors_of_texts(server)
many_connections(server)
clients_that_leave(server)
end_with_answers(server)
a_key()
too_many()
print("all well")
PYTHON
