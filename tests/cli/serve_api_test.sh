#!/usr/bin/env bash
# A server's replies, in the formats that clients of OpenAI, vLLM, Cohere, text-embeddings-inference and
# LibreTranslate expect, with the same numbers and texts as the command's.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
export ATTEND=$attend PYTHONPATH=$(realpath tests/cli) PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\nUser: hello\nBot: good day\nZoë läuft 東京\n' >text
small=(--set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=512)
"$attend" tokenizer train --model bpe --vocab-size 320 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 "${small[@]}" 2>>log
"$attend" tokenizer train --model wordpiece --vocab-size 120 --output bert text 2>>log
cp -r bert judge && cp -r bert labels
tiny=(--set hidden_size=32 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=64)
"$attend" init bert bert "${tiny[@]}" 2>>log
"$attend" init bert judge "${tiny[@]}" --set 'architectures=["BertForSequenceClassification"]' --set num_labels=1 2>>log
"$attend" init bert labels "${tiny[@]}" --set 'architectures=["BertForSequenceClassification"]' --set num_labels=3 2>>log
"$attend" tokenizer train --model unigram --vocab-size 60 --output bart text 2>>log
"$attend" init bart bart --set d_model=32 --set encoder_layers=1 --set decoder_layers=1 --set encoder_attention_heads=2 \
  --set decoder_attention_heads=2 --set encoder_ffn_dim=32 --set decoder_ffn_dim=32 2>>log

python3 - <<'PYTHON'
import json, re, subprocess, urllib.parse
from server import Server, attend, equal, fail


def command(*words, lines=None):
    ran = subprocess.run([attend, *words, "--quiet"], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def close(what, found, expected):
    if len(found) != len(expected) or any(abs(a - b) > 1e-6 for a, b in zip(found, expected)):
        fail(f"{what}: expected {expected}, found {found}")


TEXT = dict(model="gpt2", prompt="the lamp", temperature=0)
PATH = "/v1/completions"


def choices(server, path=PATH, **body):
    return server.post(path, **body)["choices"]


def scored_prompts(server):
    """What lm-evaluation-harness asks: the log-probabilities of tokens that are given."""
    ids = server.post("/tokenize", model="gpt2", text="nobody saw the second door")["ids"]
    open("line", "w").write("nobody saw the second door\n")
    expected = command("evaluate", "perplexity", "gpt2", "line", "--lines", "--tokens")[0]
    equal("ids", expected["ids"], ids[1:])
    for prompt in ("nobody saw the second door", ids, [ids]):
        choice = choices(server, model="gpt2", prompt=prompt, max_tokens=0, echo=True, logprobs=1)[0]
        equal("text", choice["text"], "nobody saw the second door")
        equal("the first token's", choice["logprobs"]["token_logprobs"][0], None)
        equal("log-probabilities", choice["logprobs"]["token_logprobs"][1:], expected["log_probabilities"])
        equal("tokens", "".join(choice["logprobs"]["tokens"]), choice["text"])
        for token, top in zip(choice["logprobs"]["token_logprobs"][1:], choice["logprobs"]["top_logprobs"][1:]):
            equal("the likeliest", max(top.values()) >= token, True)
    whole = server.post(PATH, **TEXT, max_tokens=0)
    equal("nothing new", (whole["choices"][0]["text"], whole["usage"]["completion_tokens"]), ("", 0))
    both = choices(server, model="gpt2", prompt=[ids, ids[:3]], max_tokens=1, echo=True, logprobs=2, temperature=0)
    equal("two prompts", [len(each["logprobs"]["tokens"]) for each in both], [len(ids) + 1, 4])
    equal("the same of the same", both[0]["logprobs"]["token_logprobs"][:4][1:3], both[1]["logprobs"]["token_logprobs"][1:3])
    equal("offsets", both[0]["logprobs"]["text_offset"][0], 0)
    server.refused(400, PATH, dict(model="gpt2", prompt=[1, 99999], max_tokens=0, echo=True), "no token 99999")
    server.refused(400, PATH, dict(model="gpt2", prompt=[99999]), "99999")
    server.refused(400, PATH, dict(model="gpt2", prompt="the " * 3000, max_tokens=0, echo=True, logprobs=1), "the model reads 512")
    server.refused(400, PATH, dict(model="en-de", prompt="the", max_tokens=1, echo=True), "encoder-decoder")


def likeliest_tokens(server):
    made = command("generate", "gpt2", "the lamp", "--max-new-tokens", "6", "--log-probabilities")[0]["texts"][0]
    whole = choices(server, **TEXT, max_tokens=6, logprobs=3)[0]
    equal("as the command", whole["logprobs"]["token_logprobs"], made["log_probabilities"])
    equal("text", "the lamp" + whole["text"], made["text"])
    for name, score, top in zip(whole["logprobs"]["tokens"], whole["logprobs"]["token_logprobs"], whole["logprobs"]["top_logprobs"]):
        equal("the chosen one is the likeliest", (max(top, key=top.get), top[name]), (name, score))
    pieces = [piece["choices"][0] for piece in server.stream(PATH, **TEXT, max_tokens=6, logprobs=3, echo=True)]
    equal("streamed text", "".join(piece["text"] for piece in pieces), made["text"])
    report = [number for piece in pieces if piece["logprobs"] for number in piece["logprobs"]["token_logprobs"]]
    equal("streamed", report[-6:], whole["logprobs"]["token_logprobs"])
    beams = choices(server, **TEXT, max_tokens=6, num_beams=3, logprobs=0)[0]
    equal("of beams", len(beams["logprobs"]["tokens"]), 6)
    server.refused(400, PATH, dict(**TEXT, num_beams=3, logprobs=2), "token by token")
    chat = dict(model="gpt2", messages=[{"role": "user", "content": "door"}], max_tokens=4, temperature=0, logprobs=True, top_logprobs=2)
    entries = choices(server, "/v1/chat/completions", **chat)[0]["logprobs"]["content"]
    equal("of a chat", [len(each["top_logprobs"]) for each in entries], [2] * 4)
    equal("the same token", [each["top_logprobs"][0]["logprob"] for each in entries], [each["logprob"] for each in entries])
    pieces = [piece["choices"][0] for piece in server.stream("/v1/chat/completions", **chat)]
    equal("streamed", [entry for piece in pieces if piece["logprobs"] for entry in piece["logprobs"]["content"]], entries)
    server.refused(400, "/v1/chat/completions", dict(chat, logprobs=False), "expected logprobs: true")


def several_texts(server):
    ask = dict(model="gpt2", prompt="the lamp", max_tokens=6)
    alike = choices(server, **ask, temperature=0, n=3)
    equal("greedy texts", len({choice["text"] for choice in alike}), 1)
    equal("their number", [choice["index"] for choice in alike], [0, 1, 2])
    streamed = ["", ""]
    for piece in server.stream(PATH, **ask, temperature=0, n=2):
        for choice in piece["choices"]:
            streamed[choice["index"]] += choice["text"]
    equal("streamed", streamed, [alike[0]["text"]] * 2)
    many = choices(server, **ask, temperature=1, seed=4, n=4, logprobs=0)
    means = [sum(choice["logprobs"]["token_logprobs"]) / 6 for choice in many]
    best = choices(server, **ask, temperature=1, seed=4, n=1, best_of=4)
    equal("the best of four", best[0]["text"], many[means.index(max(means))]["text"])
    server.refused(400, PATH, dict(**ask, n=3, best_of=2), "at least n (3)")
    server.refused(400, PATH, dict(**ask, best_of=2, stream=True, temperature=1), "stream false")
    beams = choices(server, **ask, use_beam_search=True, n=2, best_of=3)
    made = command("generate", "gpt2", "the lamp", "--max-new-tokens", "6", "--beams", "3", "--num-return-sequences", "2", "--json")
    equal("beams", ["the lamp" + choice["text"] for choice in beams], [text["text"] for text in made[0]["texts"]])


def penalties_and_forms(server):
    plain = choices(server, **TEXT, max_tokens=30)[0]["text"]
    made = command("generate", "gpt2", "the lamp", "--max-new-tokens", "30", "--frequency-penalty", "2", "--presence-penalty", "1", "--json")
    other = choices(server, **TEXT, max_tokens=30, frequency_penalty=2, presence_penalty=1)[0]["text"]
    equal("penalties", "the lamp" + other, made[0]["texts"][0]["text"])
    equal("that they change the text", plain != other, True)
    # Each token is the likeliest one after the penalties, which count only the new text.
    made = choices(server, **TEXT, max_tokens=12, logprobs=0, frequency_penalty=0.5, presence_penalty=0.25)[0]["logprobs"]["tokens"]
    for step, token in enumerate(made):
        if any(each.startswith("bytes:") for each in made[:step]):
            break
        before = choices(server, model="gpt2", prompt="the lamp" + "".join(made[:step]), max_tokens=1, temperature=0, logprobs=20)
        top = before[0]["logprobs"]["top_logprobs"][0]
        scores = {name: score - 0.5 * made[:step].count(name) - 0.25 * (name in made[:step]) for name, score in top.items()}
        equal(f"token {step}", token, max(scores, key=scores.get))
    end = dict(eos_token_id=0)  # a constrained text has an end
    end_text = server.post("/detokenize", model="gpt2", ids=[0])["text"]

    def is_one_of(what, path, texts, **body):
        choice = choices(server, path, **body, **end)[0]
        text = choice["text"] if path == PATH else choice["message"]["content"]
        if text.removesuffix(end_text) not in texts:
            fail(f"{what}: {text!r} is none of {texts}")

    is_one_of("a regular expression", PATH, ("yes", "no"), **TEXT, max_tokens=20, regex="(yes|no)")
    chat = dict(model="gpt2", messages=[{"role": "user", "content": "door"}], max_tokens=60, temperature=0)
    schema = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema, "strict": True}}
    text = choices(server, "/v1/chat/completions", **chat, **end, response_format=form)[0]["message"]["content"]
    equal("a schema", re.match(r'\s*\{\s*("a"\s*(:|$)|$)', text) is not None, True)  # this model likes spaces
    is_one_of("a grammar", "/v1/chat/completions", ("on", "off"), **chat, grammar='root ::= "on" | "off"')


TOOLS = [
    {"type": "function", "function": {"name": "look", "parameters": {
        "type": "object", "properties": {"far": {"type": "boolean"}, "at": {"enum": ["lamp", "door"]}}, "required": ["far", "at"]}}},
    {"type": "function", "function": {"name": "wait"}},
]  # fmt: skip
CHAT = "/v1/chat/completions"


def tools(server):
    """A model that knows nothing is held to the form of calls."""
    ask = dict(model="gpt2", messages=[{"role": "user", "content": "door"}], tools=TOOLS, max_tokens=150, temperature=0,
               eos_token_id=0, parallel_tool_calls=False)  # fmt: skip
    look = {"type": "function", "function": {"name": "look"}}
    end_text = server.post("/detokenize", model="gpt2", ids=[0])["text"]  # its end token is not a special
                                                                          # token
    for choice in ("required", look):
        answer = choices(server, CHAT, **ask, tool_choice=choice)[0]
        equal("the reason", (answer["finish_reason"], answer["message"]["content"]), ("tool_calls", end_text))
        (call,) = answer["message"]["tool_calls"]
        equal("an id", (call["type"], len(call["id"])), ("function", 9))
        arguments = json.loads(call["function"]["arguments"])
        if call["function"]["name"] == "look":
            equal("its fields", (set(arguments), type(arguments["far"]), arguments["at"] in ("lamp", "door")), ({"far", "at"}, bool, True))
    pieces = [piece["choices"][0] for piece in server.stream(CHAT, **ask, tool_choice=look)]
    deltas = [part for piece in pieces for part in piece["delta"].get("tool_calls", [])]
    equal("the first piece", (deltas[0]["index"], deltas[0]["type"], len(deltas[0]["id"])), (0, "function", 9))
    equal("the others", [each.get("id") for each in deltas[1:]], [None] * (len(deltas) - 1))
    equal("names", "".join(each["function"].get("name", "") for each in deltas), "look")
    equal("streamed", "".join(each["function"]["arguments"] for each in deltas), call["function"]["arguments"])
    equal("the last piece", pieces[-1]["finish_reason"], "tool_calls")
    history = ask["messages"] + [{"role": "assistant", "content": None, "tool_calls": [call]},
                                 {"role": "tool", "tool_call_id": call["id"], "content": [{"type": "text", "text": "a lamp"}]}]  # fmt: skip
    answer = choices(server, CHAT, **dict(ask, messages=history, tool_choice="none", max_tokens=4))[0]
    equal("an answer", "tool_calls" in answer["message"], False)
    choices(server, CHAT, **dict(ask, messages=history, max_tokens=4))  # auto
    server.refused(400, CHAT, dict(ask, tool_choice={"type": "function", "function": {"name": "go"}}), "there is no tool go")
    server.refused(400, CHAT, dict(ask, tools=[], tool_choice="required"), "expected tools to choose from")
    server.refused(400, CHAT, dict(ask, tools=[{"type": "function", "function": {"name": "f", "parameters": {"not": {}}}}]), "tools: f: ")
    server.refused(400, CHAT, dict(ask, regex="a"), "an answer has one form")
    server.refused(400, CHAT, dict(ask, chat_template_kwargs={"x": 1}), "plain text knows only turns")
    flat = [dict(type="function", **each["function"]) for each in TOOLS]
    ask = dict(model="gpt2", input="door", tools=flat, max_output_tokens=150, temperature=0, eos_token_id=0, parallel_tool_calls=False,
               tool_choice={"type": "function", "name": "look"})  # fmt: skip
    item = server.post("/v1/responses", **ask)["output"][-1]
    equal("a response", (item["type"], item["name"], item["arguments"]), ("function_call", "look", call["function"]["arguments"]))
    status, text = server.ask("POST", "/v1/responses", dict(ask, stream=True))
    events = [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]
    equal("its stream", "".join(each["delta"] for each in events if each["type"] == "response.function_call_arguments.delta"), item["arguments"])
    given = [{"role": "user", "content": "door"}, item, {"type": "function_call_output", "call_id": item["call_id"], "output": "a lamp"}]
    server.post("/v1/responses", **dict(ask, input=given, tool_choice="none", max_output_tokens=4))


def responses(server):
    """The form of an answer, and items of an answer that come back as openai-python writes them."""
    ask = dict(model="gpt2", max_output_tokens=100, temperature=0, eos_token_id=0)
    schema = {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"], "additionalProperties": False}
    form = {"format": {"type": "json_schema", "name": "it", "schema": schema, "strict": True}, "verbosity": None}
    reply = server.post("/v1/responses", **ask, input="door", text=form, store=False, truncation="disabled", previous_response_id=None,
                        include=["reasoning.encrypted_content"], prompt_cache_key="a")  # fmt: skip
    equal("its fields", set(json.loads(reply["output"][0]["content"][0]["text"].split("}")[0] + "}")), {"x"})
    equal("what comes back", reply["text"], form)
    message = dict(reply["output"][0], phase=None)
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "a door"}],
               "encrypted_content": None, "status": None}  # fmt: skip
    given = [{"role": "user", "content": "door"}, message, {"role": "user", "content": "lamp"}]
    server.post("/v1/responses", **dict(ask, max_output_tokens=4), input=given)
    given.insert(1, thought)
    server.refused(400, "/v1/responses", dict(ask, input=given), "plain text knows only turns")
    server.refused(400, "/v1/responses", dict(ask, input="a", previous_response_id="resp_1"), "send the conversation as input")
    server.refused(400, "/v1/responses", dict(ask, input="a", num_return_sequences=2), "a response is one text")
    server.refused(400, "/v1/responses", dict(ask, input="a", include=["message.output_text.logprobs"]), "include[0]")


def reasoning_that_comes_back():
    """The template gets it with the message of the assistant that follows it."""
    server = Server("gpt2", "--template", "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content }}|{{ m.content }}{% endfor %}<assistant>")
    given = [{"role": "user", "content": "door"}, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "the "}]},
             {"type": "reasoning", "summary": [{"type": "summary_text", "text": "lamp"}]}, {"role": "assistant", "content": "saw"},
             {"role": "user", "content": "table"}]  # fmt: skip
    prompt = "<user>|door<assistant>the lamp|saw<user>|table<assistant>"
    reply = server.post("/v1/responses", input=given, max_output_tokens=8, temperature=0)
    equal("the prompt", reply["usage"]["input_tokens"], len(server.post("/tokenize", text=prompt)["ids"]))
    made = choices(server, prompt=prompt, max_tokens=8, temperature=0)[0]["text"]
    equal("its answer", reply["output"][0]["content"][0]["text"].strip(), made.strip())
    server.end()


def embeddings(server):
    ids = server.post("/tokenize", model="bert", text="the lamp", special_tokens=False)["ids"]
    by_text, by_ids = (server.post("/v1/embeddings", model="bert", input=given) for given in ("the lamp", ids))
    equal("tokens", by_ids["data"], by_text["data"])
    both = server.post("/v1/embeddings", model="bert", input=[ids, ids])
    equal("several", [each["embedding"] for each in both["data"]], [by_text["data"][0]["embedding"]] * 2)


def judgements(server):
    documents = ["nobody saw the second door", "the lamp", "good day"]
    ranked = command("run", "rerank", "judge", "the table", *documents)[0]
    scores = [each["score"] for each in sorted(ranked, key=lambda each: each["index"])]
    order = sorted(range(3), key=lambda i: -scores[i])
    ask = dict(model="judge", query="the table")
    for path in ("/v1/rerank", "/v2/rerank"):
        found = server.post(path, **ask, documents=documents, top_n=2, return_documents=True)["results"]
        expected = [{"index": i, "relevance_score": scores[i], "document": {"text": documents[i]}} for i in order[:2]]
        equal(path, found, expected)
    found = server.post("/v1/rerank", **ask, documents=[{"text": each} for each in documents])["results"]
    equal("objects", [each["index"] for each in found], order)
    found = server.post("/rerank", **ask, texts=documents, return_text=True)
    equal("/rerank", found, [{"index": i, "score": scores[i], "text": documents[i]} for i in order])
    found = server.post("/v1/score", model="judge", text_1="the table", text_2=documents)["data"]
    equal("/v1/score", [each["score"] for each in found], scores)
    server.post("/rerank", **ask, texts=documents, truncation_direction="Right", truncate=False, raw_scores=True)
    server.refused(400, "/v1/score", dict(model="judge", text_1=["a", "b"], text_2=documents), "as many texts")
    server.refused(400, "/v1/rerank", dict(model="labels", query="a", documents=["b"]), "one score")
    vectors = server.post("/v1/embeddings", model="bert", input=["the table", *documents])["data"]
    near = [json.loads(json.dumps(v["embedding"])) for v in vectors]
    cosine = lambda a, b: sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    found = server.post("/v1/score", model="bert", text_1="the table", text_2=documents)["data"]
    close("by vectors", [each["score"] for each in found], [cosine(near[0], each) for each in near[1:]])
    run = command("run", "text-classification", "labels", "--top-k", "0", "the lamp")[0]
    found = server.post("/v1/classify", model="labels", input=["the lamp"])["data"][0]
    equal("the label", found["label"], run[0]["label"])
    equal("its scores", found["probs"], [dict((each["label"], each["score"]) for each in run)[f"LABEL_{i}"] for i in range(3)])
    server.refused(400, "/v1/classify", dict(model="gpt2", input="a"), "")


def translations(server):
    made = subprocess.run([attend, "translate", "bart", "the lamp", "--max-length", "257", "--quiet"], capture_output=True, text=True, check=True)
    equal("languages", json.loads(server.ask("GET", "/languages")[1]), [{"code": "en", "name": "en", "targets": ["de"]}])
    ask = dict(q="the lamp", source="en", target="de")
    equal("as the command", server.post("/translate", **ask)["translatedText"], made.stdout.removesuffix("\n"))
    form = urllib.parse.urlencode(dict(ask, alternatives=1, api_key="")).encode()
    status, text = server.ask("POST", "/translate", form, {"Content-Type": "application/x-www-form-urlencoded"})
    equal("a form", (status, len(json.loads(text)["alternatives"])), (200, 1))
    several = server.post("/translate", q=["the lamp", "the lamp"], source="en", target="de")["translatedText"]
    equal("several", several, [made.stdout.removesuffix("\n")] * 2)
    server.refused(404, "/translate", dict(ask, source="fr"), "from fr to de; there are en to de")
    server.refused(400, "/translate", dict(ask, format="html"), "format: expected text")


def the_api_itself(server):
    document = json.loads(server.ask("GET", "/openapi.json")[1])
    for path in (PATH, "/v1/chat/completions", "/v1/embeddings", "/v1/rerank", "/v1/run/fill-mask", "/metrics", "/v1/models/{model}"):
        if path not in document["paths"]:
            fail(f"/openapi.json has no {path}")
    fields = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    equal("required", fields["required"], ["prompt"])
    equal("a limit", fields["properties"]["n"]["maximum"], 128)
    equal("one model", json.loads(server.ask("GET", "/v1/models/gpt2")[1])["id"], "gpt2")
    equal("no such model", server.ask("GET", "/v1/models/other")[0], 404)
    reply = server.reply("DELETE", "/v1/models/gpt2")
    equal("a method", (reply.status, reply.headers["Allow"]), (405, "GET, HEAD"))
    equal("an unknown method", server.reply("BREW", "/v1/models").status, 405)
    figures = server.ask("GET", "/metrics")[1]
    for line in ('vllm:num_requests_running{model_name="gpt2"} 0', 'vllm:time_to_first_token_seconds_bucket{model_name="gpt2",le="0.001"}',
                 'vllm:request_success_total{model_name="gpt2",finished_reason="length"}', "vllm:generation_tokens_total"):  # fmt: skip
        if line not in figures:
            fail(f"/metrics has no {line}: {figures}")


server = Server("gpt2", "bert", "judge", "labels", "en-de=bart", "--template", r"User: {user}\nBot: {bot}")
scored_prompts(server)
likeliest_tokens(server)
several_texts(server)
penalties_and_forms(server)
tools(server)
responses(server)
embeddings(server)
judgements(server)
translations(server)
the_api_itself(server)
server.end()
reasoning_that_comes_back()
print("all well")
PYTHON
