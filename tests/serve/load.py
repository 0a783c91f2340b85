"""attend serve under load: a constant rate above what it can do, many connections, idle streams, clients that read or
write slowly, and invalid bytes. Every request gets an answer or a closed connection, and memory stays flat.

    ATTEND=build/release/attend python3 tests/serve/load.py [--seconds 120] [PART...]"""
import argparse, asyncio, json, os, random, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
ATTEND = os.environ["ATTEND"] = os.path.abspath(os.environ.get("ATTEND", "build/release/attend"))  # also for Server
from server import Server, equal, fail  # noqa: E402


def make_models():
    with open("text", "w") as text:
        text.write("the lamp is on the table\nnobody saw the second door\n")
    run = lambda *options: subprocess.run([ATTEND, *options], check=True, capture_output=True)  # noqa: E731
    run("tokenizer", "train", "--model", "bpe", "--vocab-size", "300", "--output", "gpt2", "text")
    run("init", "gpt2", "gpt2", *"--set n_embd=128 --set n_layer=4 --set n_head=4 --set n_positions=1024".split())
    run("tokenizer", "train", "--model", "wordpiece", "--vocab-size", "120", "--output", "bert", "text")
    run("init", "bert", "bert",
        *"--set hidden_size=64 --set num_hidden_layers=2 --set num_attention_heads=2 --set intermediate_size=128".split())  # fmt: skip


def request(path, body, fields=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{fields}\r\n".encode() + data


async def ask(server, data, timeout=120):
    """Status and body of one request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data.replace(b"\r\nHost", b"\r\nConnection: close\r\nHost", 1))
        await writer.drain()
        whole = await asyncio.wait_for(reader.read(), timeout)
    finally:
        writer.close()
    head, _, body = whole.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, head, body


def resident(server):
    with open(f"/proc/{server.process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


COMPLETION = dict(model="gpt2", prompt="the lamp", max_tokens=64, min_new_tokens=64, temperature=0)


async def overload(server, seconds):
    """Four times what it can do: all are answered, those that are taken in bounded time and with the same bits."""
    expected = json.loads((await ask(server, request("/v1/completions", COMPLETION)))[2])["choices"][0]["text"]
    made = subprocess.run([ATTEND, "generate", "gpt2", "the lamp", "--max-new-tokens", "64", "--min-new-tokens", "64", "--json",
                           "--quiet"], capture_output=True, text=True, check=True)  # fmt: skip
    equal("the command's text", json.loads(made.stdout)["texts"][0]["text"].removeprefix("the lamp"), expected)
    begin = time.monotonic()
    await asyncio.gather(*(ask(server, request("/v1/completions", COMPLETION)) for _ in range(64)))
    rate = 4 * 64 / (time.monotonic() - begin)
    statuses, late, health = {}, [], []

    async def one():
        begin = time.monotonic()
        status, head, body = await ask(server, request("/v1/completions", COMPLETION))
        statuses[status] = statuses.get(status, 0) + 1
        if status == 200:
            late.append(time.monotonic() - begin)
            equal("a text under load", json.loads(body)["choices"][0]["text"], expected)
        elif b"Retry-After" not in head or "error" not in json.loads(body):
            fail(f"a refusal without a word: {head} {body}")

    async def look():
        while True:
            begin = time.monotonic()
            equal("health", (await ask(server, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"))[0], 200)
            health.append(time.monotonic() - begin)
            await asyncio.sleep(0.5)

    looking, before, tasks, begin = asyncio.create_task(look()), resident(server), [], time.monotonic()
    while time.monotonic() - begin < seconds:
        tasks.append(asyncio.create_task(one()))
        await asyncio.sleep(max(0.0, begin + len(tasks) / rate - time.monotonic()))
    await asyncio.gather(*tasks)
    looking.cancel()
    late.sort()
    print(f"{rate:.0f} requests/s for {seconds:.0f} s: {statuses}; accepted: median {late[len(late) // 2]:.2f} s, longest {late[-1]:.2f} s; "
          f"/health: longest {max(health):.2f} s; memory {before:.0f} to {resident(server):.0f} MB")  # fmt: skip
    equal("statuses", set(statuses) <= {200, 429, 503}, True)
    if resident(server) > before + 100:
        fail("memory grows")


async def many_connections(server, seconds):
    answers = await asyncio.gather(*(ask(server, request("/v1/embeddings", dict(model="bert", input="the lamp"))) for _ in range(int(250 * SHARE))))
    equal("250 at once", {status for status, _, _ in answers}, {200})


async def idle_streams():
    """Streams that are open and silent: they cost little, and other requests are answered meanwhile."""
    count = int(2000 * SHARE)
    server = Server("gpt2", "bert", "--max-waiting", "4000", "--max-requests", "4000", "--cache-memory", "6MB")
    await ask(server, request("/v1/completions", COMPLETION))
    before = resident(server)
    body = dict(COMPLETION, stream=True, max_tokens=900, min_new_tokens=900)
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request("/v1/completions", body))
        writers.append(writer)
    while server.figure("attend_texts_waiting") + server.figure("attend_texts_running") < count:
        await asyncio.sleep(0.2)
    begin = time.monotonic()
    equal("meanwhile", (await ask(server, request("/v1/embeddings", dict(model="bert", input="the lamp"))))[0], 200)
    print(f"{count} streams: {resident(server) - before:.0f} MB; an embedding meanwhile takes {time.monotonic() - begin:.2f} s")
    for writer in writers:
        writer.close()
    await asyncio.sleep(0.5)  # lets asyncio close the connections
    server.wait_for("attend_texts_waiting", 0)
    server.wait_for("attend_texts_running", 0)
    equal("pages", server.figure("attend_cache_pages_used"), 0)
    server.end()


async def slow_clients():
    server = Server("gpt2", "bert", "--header-seconds", "1", "--body-seconds", "2", "--write-seconds", "1", "--idle-seconds", "1")
    big = request("/v1/embeddings", dict(model="bert", input=["the lamp"] * 2000))
    for what, data, wait in [("a slow head", b"POST /v1/comp", 4), ("a slow body", big[:200], 5), ("an idle one", b"", 4)]:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(data)
        equal(what, await asyncio.wait_for(reader.read(), wait), b"")
        writer.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.transport.pause_reading()  # megabytes of numbers that are never read
    for _ in range(20):
        writer.write(big)
    await asyncio.sleep(8)
    writer.transport.resume_reading()
    try:
        if len(await asyncio.wait_for(reader.read(), 30)) > 20_000_000:
            fail("a slow reader was waited for")
    except ConnectionResetError:  # closed while the server had unread requests
        pass
    writer.close()
    equal("alive", server.ask("GET", "/health")[0], 200)
    server.end()


HOSTILE = [
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 100000 + b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), b"\r\n\r\n\r\n", bytes(1000), b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n", request("/v1/completions", b'{"prompt": "\xff"}'),
    request("/v1/completions", b'{"prompt'), request("/v1/completions", b"[" * 200000), request("/v1/completions", b"null"),
]  # fmt: skip


async def hostile(server, seconds):
    for data in HOSTILE:
        for pieces in (1, 7):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            step = max(1, len(data) // pieces)
            for at in range(0, len(data), step):
                writer.write(data[at : at + step])
                await asyncio.sleep(0)
            if writer.can_write_eof():
                writer.write_eof()
            try:
                answer = await asyncio.wait_for(reader.read(), 20)
            except ConnectionError:
                answer = b""
            if answer and (not answer.startswith(b"HTTP/1.1 4") and not answer.startswith(b"HTTP/1.1 5")):
                fail(f"{data[:80]}: {answer[:80]}")
            writer.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 50 + b"GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    equal("pipelined", (await asyncio.wait_for(reader.read(), 20)).count(b"HTTP/1.1 200"), 51)
    writer.close()
    # A body of a gigabyte is rejected because of its length, and its bytes are not stored.
    before = resident(server)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n")
    answer = asyncio.create_task(reader.readexactly(12))  # now: a client that sends on loses it with the connection
    try:
        for _ in range(1024):
            writer.write(bytes(1 << 20))
            await writer.drain()
    except ConnectionError:
        pass
    equal("a gigabyte", await asyncio.wait_for(answer, 20), b"HTTP/1.1 413")
    writer.close()
    if resident(server) > before + 50:
        fail("a refused body is kept")
    random.seed(7)
    for _ in range(300):  # after any input, the next request is answered
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        data = bytearray(request("/v1/completions", COMPLETION | {"max_tokens": 1, "min_new_tokens": 1}))
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
        writer.write(bytes(data))
        if random.random() < 0.5:
            writer.write_eof()
            try:
                await asyncio.wait_for(reader.read(), 20)
            except ConnectionError:
                pass
        writer.close()
    equal("alive", (await ask(server, request("/v1/completions", COMPLETION)))[0], 200)


async def odd_but_right(server, seconds):
    """Requests that few clients send so, and that HTTP allows."""
    body = json.dumps(dict(COMPLETION, max_tokens=2, min_new_tokens=2)).encode()
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    chunks = b"".join(b"1;a=b\r\n" + body[i : i + 1] + b"\r\n" for i in range(len(body)))
    length = b"Content-Length: %d\r\n" % len(body)
    for what, data in [
        ("chunks of a byte, with extensions and a trailer", head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nA: b\r\n\r\n"),
        ("an absolute address", head.replace(b" /v1", b" http://x/v1") + length + b"\r\n" + body),
        ("a query", head.replace(b"completions ", b"completions?a=b ") + length + b"\r\n" + body),
        ("HTTP/1.0", head.replace(b"HTTP/1.1", b"HTTP/1.0") + length + b"\r\n" + body),
        ("that it expects 100", head + length + b"Expect: 100-continue\r\n\r\n" + body),
        ("lines before it", b"\r\n" + head + length + b"\r\n" + body),
        ("a hundred headers", head + length + b"A: b\r\n" * 100 + b"\r\n" + body),
    ]:
        for step in (len(data), 1):  # at once, and byte by byte
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            for at in range(0, len(data), step):
                writer.write(data[at : at + step])
                await asyncio.sleep(0)
            answer = await asyncio.wait_for(reader.read(), 30)
            answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
            equal(what, answer[8:12], b" 200")
            equal(what + ": two tokens", b'"completion_tokens":2' in answer, True)
            writer.close()
    before = server.figure("attend_texts_running")
    for _ in range(100):  # streams whose client resets the connection
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request("/v1/completions", dict(COMPLETION, stream=True, max_tokens=900, min_new_tokens=900)))
        await reader.read(10)
        writer.transport.abort()
    await asyncio.sleep(0.5)  # lets asyncio close the connections
    server.wait_for("attend_texts_running", before)
    equal("alive", (await ask(server, request("/v1/completions", COMPLETION)))[0], 200)


async def memory(server, seconds):
    before = resident(server)
    text = request("/v1/embeddings", dict(model="bert", input="word " * 1_000_000))
    for _ in range(int(80 * SHARE)):
        equal("a text of 5 MB", (await ask(server, text))[0], 200)
    large = resident(server)
    word = request("/v1/completions", COMPLETION | {"max_tokens": 4, "min_new_tokens": 4})
    for _ in range(int(250 * SHARE)):
        await asyncio.gather(*(ask(server, word) for _ in range(20)))
    texts = resident(server)
    word = request("/v1/embeddings", dict(model="bert", input="lamp"))
    for _ in range(int(250 * SHARE)):
        await asyncio.gather(*(ask(server, word) for _ in range(20)))
    print(f"memory: {before:.0f} MB at the start, {large:.0f} after {80 * SHARE:.0f} texts of 5 MB, {texts:.0f} after {5000 * SHARE:.0f} "
          f"completions, {resident(server):.0f} after {5000 * SHARE:.0f} embeddings of a word")  # fmt: skip
    if max(large, texts, resident(server)) > before + 100:
        fail("memory grows")


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("parts", nargs="*", metavar="PART", help="overload, many_connections, odd_but_right, hostile, memory, idle_streams, slow_clients")
    parser.add_argument("--share", type=float, default=1, help="of the requests of memory, connections and streams, for a slow machine")
    given = parser.parse_args()
    global SHARE
    SHARE = given.share
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_models()
        together = [many_connections, odd_but_right, hostile, memory, overload]
        if not given.parts or any(part.__name__ in given.parts for part in together):
            server = Server("gpt2", "bert", "--max-waiting", "64", "--cache-memory", "32MB")
            for part in together:
                if not given.parts or part.__name__ in given.parts:
                    await part(server, given.seconds)
                    print(part.__name__, "well", flush=True)
            server.end()
        for part in (slow_clients, idle_streams):
            if not given.parts or part.__name__ in given.parts:
                await part()
                print(part.__name__, "well", flush=True)
        os.chdir("/")


asyncio.run(main())
