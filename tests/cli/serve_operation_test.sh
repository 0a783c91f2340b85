#!/usr/bin/env bash
# What an operator of a server relies on: answers while models load, keys, ids of requests and logs, TLS, a Unix socket, a
# configuration file, and an end in bounded time.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
export ATTEND=$attend PYTHONPATH=$(realpath tests/cli) PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=4096 2>>log
# Some seconds for a long text.
"$attend" init gpt2 slow --tokenizer gpt2 --set n_embd=768 --set n_layer=12 --set n_head=12 --set n_positions=4096 2>>log
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out certificate.pem 2>>log

python3 - <<'PYTHON'
import json, os, shutil, signal, stat, subprocess, threading, time
from server import Server, attend, equal, fail

ASK = dict(prompt="the lamp", max_tokens=3)


def log_line(server, word):
    """The first line of the log with this word, as JSON."""
    for _ in range(100):
        for line in server.log:
            if word in line:
                return json.loads(line)
        time.sleep(0.05)
    fail(f"the log has no {word}: {server.log}")


def while_models_load():
    """The test controls how long a model loads: its config.json is a pipe, to which the test writes later."""
    shutil.copytree("gpt2", "late")
    shutil.copy("gpt2/config.json", "config.json")
    os.remove("late/config.json")
    os.mkfifo("late/config.json")
    server = Server("gpt2", "late", "--socket", "early.sock", waits=False)
    for _ in range(600):
        try:
            if server.ask("POST", "/v1/completions", dict(ASK, model="gpt2"))[0] == 200:
                break  # the first model is there
        except OSError:
            pass  # it does not listen yet
        time.sleep(0.1)
    equal("health", server.ask("GET", "/health")[0], 200)
    server.refused(503, "/v1/completions", dict(ASK, model="late"), "late is not loaded yet")
    server.refused(404, "/v1/completions", dict(ASK, model="never"), "there is no never")
    server.refused(503, "/translate", dict(q="a", source="en", target="de"), "late: not loaded yet")
    reply = server.reply("GET", "/ready")
    equal("readiness", (reply.status, reply.headers["Retry-After"], "late" in reply.text), (503, "1", True))
    equal("models", [each["id"] for each in json.loads(server.ask("GET", "/v1/models")[1])["data"]], ["gpt2"])
    with open("late/config.json", "w") as pipe:
        os.replace("config.json", "late/config.json")
        pipe.write(open("late/config.json").read())
    server.wait_until_it_listens()
    equal("readiness", server.ask("GET", "/ready")[0], 200)
    equal("the second model", server.ask("POST", "/v1/completions", dict(ASK, model="late"))[0], 200)
    server.end()
    broken = subprocess.run([attend, "serve", "gpt2", "none", "--port", "0"], capture_output=True, text=True, timeout=60)
    equal("a model that is not there", (broken.returncode, "none" in broken.stderr), (1, True))


def logs_and_ids():
    server = Server("gpt2", "--log-format", "json")
    reply = server.reply("POST", "/v1/completions", ASK, {"X-Request-Id": "mine-17"})
    equal("the client's id", reply.headers["X-Request-Id"], "mine-17")
    line = log_line(server, "mine-17")
    equal("the log", (line["level"], line["method"], line["path"], line["status"], line["seconds"] > 0),
          ("info", "POST", "/v1/completions", 200, True))  # fmt: skip
    ids = [server.reply("GET", "/health", headers={"X-Request-Id": bad}).headers["X-Request-Id"] for bad in ("a b", "x" * 200)]
    ids.append(server.reply("GET", "/health").headers["X-Request-Id"])
    equal("ids of its own", len({each for each in ids if len(each) == 24}), 3)
    server.ask("POST", "/v1/completions", {}, {"X-Request-Id": "wrong-1"})
    equal("the status of an error", log_line(server, "wrong-1")["status"], 400)
    server.end()


def keys():
    with open("keys", "w") as file:
        file.write("first\nsecond \n\n")
    server = Server("gpt2", "--key-file", "keys", "--key", "third")
    for path in ("/health", "/ready"):
        equal(path, server.ask("GET", path)[0], 200)
    for key, status in [("first", 200), ("second", 200), ("third", 200), ("fir", 401), ("firsts", 401), ("", 401)]:
        equal(f"key '{key}'", server.ask("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})[0], status)
    equal("no key", server.reply("GET", "/metrics").headers["WWW-Authenticate"], "Bearer")
    server.end()


def ways_to_listen():
    server = Server("gpt2", "--tls-certificate", "certificate.pem", "--tls-key", "key.pem")
    equal("TLS", server.tls, True)
    equal("an answer", len(server.post("/v1/completions", **ASK)["choices"]), 1)
    equal("a stream", len(server.stream("/v1/completions", **ASK)) > 0, True)
    server.end()
    server = Server("gpt2", "--socket", "here.sock")
    equal("who may use the socket", stat.S_IMODE(os.stat("here.sock").st_mode) & 0o007, 0)
    equal("an answer", len(server.post("/v1/completions", **ASK)["choices"]), 1)
    second = subprocess.run([attend, "serve", "gpt2", "--socket", "here.sock"], capture_output=True, text=True, timeout=60)
    equal("a second server", (second.returncode, "another program listens there" in second.stderr), (1, True))
    server.process.kill()
    server.process.wait()
    server = Server("gpt2", "--socket", "here.sock")  # the socket file of a killed server
    server.end()
    equal("the file is gone", os.path.exists("here.sock"), False)
    for options, words in [(["--tls-key", "key.pem"], "expected both"), (["--socket", "x" * 200], "at most"),
                           (["--tls-certificate", "text", "--tls-key", "key.pem"], "in PEM"),
                           (["--tls-certificate", "none", "--tls-key", "key.pem"], "no such file")]:  # fmt: skip
        refused = subprocess.run([attend, "serve", "gpt2", "--port", "0", *options], capture_output=True, text=True, timeout=60)
        if refused.returncode != 1 or words not in refused.stderr:
            fail(f"{options}: {refused}")


def a_configuration_file():
    with open("serve.toml", "w") as file:
        file.write('model = ["gpt2"]\nmax-body = "1kb"\nlog-format = "json"\n')
    server = Server("--config", "serve.toml")
    equal("a large body", server.ask("POST", "/v1/completions", dict(ASK, prompt="the " * 400))[0], 413)
    equal("a small one", server.ask("POST", "/v1/completions", ASK)[0], 200)
    server.end()


def an_end_in_time():
    server = Server("slow", "--drain-seconds", "1")
    states = []
    ask = dict(prompt="the lamp", max_tokens=4000, min_new_tokens=4000, temperature=0)
    client = threading.Thread(target=lambda: states.append(server.ask("POST", "/v1/completions", ask)[0]))
    before = server.figure("attend_steps_total")
    client.start()
    while server.figure("attend_steps_total") == before:
        time.sleep(0.01)
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    equal("readiness while it stops", [server.ask("GET", path)[0] for path in ("/health", "/ready", "/v1/models")], [200, 503, 503])
    equal("the exit status", server.process.wait(30), 0)
    client.join()
    equal("within its time", time.monotonic() - begin < 10, True)
    equal("the replies to unfinished requests", states, [503])


while_models_load()
logs_and_ids()
keys()
ways_to_listen()
a_configuration_file()
an_end_in_time()
print("all well")
PYTHON
