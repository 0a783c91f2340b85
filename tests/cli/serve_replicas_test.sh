#!/usr/bin/env bash
# Two replicas behind nginx, with packaging/nginx.conf: one is killed, comes back, and is stopped. No request is lost that a
# client retries, and every answer is the same.
set -euo pipefail
command -v nginx >/dev/null || { echo "nginx is not installed"; exit 77; }
attend=$(realpath "${ATTEND:-build/release/attend}")
export ATTEND=$attend CONFIGURATION=$(realpath packaging/nginx.conf)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf 'the lamp is on the table\nnobody saw the second door\n' >text
"$attend" tokenizer train --model bpe --vocab-size 300 --output gpt2 text 2>log
"$attend" init gpt2 gpt2 --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=512 2>>log

python3 - <<'PYTHON'
import atexit, http.client, json, os, pathlib, signal, socket, subprocess, sys, threading, time

free = socket.create_server(("127.0.0.1", 0))
port = free.getsockname()[1]
free.close()
text = pathlib.Path(os.environ["CONFIGURATION"]).read_text().replace("127.0.0.1:8080", f"127.0.0.1:{port}")
for number in (1, 2):
    text = text.replace(f"127.0.0.1:808{number}", f"unix:{os.getcwd()}/replica{number}")
pathlib.Path("nginx.conf").write_text(text)


def fail(what):
    sys.exit("FAILED: " + what)


def replica(number):
    process = subprocess.Popen([os.environ["ATTEND"], "serve", "gpt2", "--socket", f"replica{number}"], stderr=subprocess.PIPE)
    atexit.register(process.kill)
    for line in process.stderr:
        if b"listening on" in line:
            break
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process


replicas = [replica(1), replica(2)]
as_user = "user root;" if os.getuid() == 0 else ""  # by default nginx switches to the user `nobody`, who may not
                                                    # open the sockets
nginx = subprocess.Popen(["nginx", "-p", os.getcwd(), "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;" + as_user],
                         stderr=open("nginx.log", "w"))  # fmt: skip
atexit.register(nginx.terminate)
ASK = json.dumps(dict(model="gpt2", prompt="the lamp", max_tokens=40, min_new_tokens=40, temperature=0)).encode()
answers, retries, lost, over = set(), [], [], threading.Event()


def once():
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/v1/completions", ASK)
        reply = connection.getresponse()
        body = reply.read()
        return json.loads(body)["choices"][0]["text"] if reply.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def client():
    while not over.is_set():
        for attempt in range(5):
            answer = once()
            if answer is not None:
                answers.add(answer)
                break
            retries.append(time.monotonic())
            time.sleep(0.1 * 2**attempt)
        else:
            lost.append(time.monotonic())


for _ in range(100):
    if once() is not None:
        break
    time.sleep(0.1)
else:
    fail("no answer through nginx: " + open("nginx.log").read())
clients = [threading.Thread(target=client) for _ in range(8)]
for each in clients:
    each.start()
time.sleep(1)
replicas[0].kill()  # in the middle of its texts
time.sleep(2)
replicas[0] = replica(1)
time.sleep(2)
replicas[1].send_signal(signal.SIGTERM)  # it finishes requests in flight
if replicas[1].wait(60) != 0:
    fail("the exit status of a replica that was stopped")
time.sleep(1)
over.set()
for each in clients:
    each.join()
print(f"{len(retries)} retries")
if lost:
    fail(f"{len(lost)} requests were lost")
if len(answers) != 1:
    fail(f"the answers differ: {answers}")
PYTHON
