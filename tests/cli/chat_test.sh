#!/usr/bin/env bash
# A conversation in a terminal, as a person types it, and through a pipe.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_STATE_HOME=$work/state

printf 'the lamp is on the table\nnobody saw the second door\nUser: hello\nBot: good day\nZoë läuft 東京\n' >text
"$attend" tokenizer train --model bpe --vocab-size 320 --output model text 2>log
"$attend" init gpt2 model --set n_embd=64 --set n_layer=2 --set n_head=2 --set n_positions=2048 2>>log

python3 - "$attend" <<'PYTHON'
import json, os, pty, re, select, signal, subprocess, sys, time

attend = sys.argv[1]
TEMPLATE = ["--template", r"User: {user}\nBot: {bot}", "--seed", "3"]


def fail(text):
    sys.exit("FAILED: " + text)


class Terminal:
    """attend chat at the other end of a pseudo-terminal."""

    def __init__(self, *options):
        self.process, self.end = pty.fork()
        if self.process == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # it is ignored if the test itself runs in the
                                                          # background
            os.execv(attend, [attend, "chat", "model", *TEMPLATE, *options])
        self.seen = b""

    def read(self, seconds):
        """What comes next, or nothing after so long."""
        if not select.select([self.end], [], [], seconds)[0]:
            return b""
        try:
            more = os.read(self.end, 65536)
        except OSError:  # the process has ended
            more = b""
        self.seen += more
        return more

    def wait_for(self, text, seconds=60):
        begin = time.time()
        while text not in self.seen:
            if time.time() - begin > seconds:
                fail(f"no {text!r} in {self.seen!r}")
            self.read(1)
        found, _, self.seen = self.seen.partition(text)
        return found

    def type(self, text):
        os.write(self.end, text)

    def answer_prompt(self, text):
        """Types no sooner than asked, or what is typed may be seen on either side of the prompt."""
        self.wait_for(b"> ")
        self.type(text)

    def go_on(self, text):
        """Types the next line of an entry."""
        self.wait_for(b"... ")
        self.type(text)

    def status(self, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            self.read(0.1)
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
        fail(f"it has not ended after {seconds} s: {self.seen!r}")


# Ctrl-C in the middle of an answer stops it, and the conversation continues.
terminal = Terminal("--max-new-tokens", "1500", "--min-new-tokens", "1500", "--temperature", "1.5")
terminal.answer_prompt(b"hello\n")
terminal.wait_for(b"hello\r\n")
while len(terminal.seen) < 20:  # an answer is in progress
    if not terminal.read(60):
        fail("no answer")
terminal.type(b"\x03")
terminal.wait_for(b"\r\n\r\n> ")
terminal.type(b"/save saved.json\n")
terminal.wait_for(b"wrote saved.json")
messages = json.load(open("saved.json"))
if [m["role"] for m in messages] != ["user", "assistant"] or not messages[1]["content"]:
    fail(f"saved {messages}")
if len(messages[1]["content"]) > 20000:
    fail("the answer was not stopped")
# Ctrl-C at the prompt discards the line; the next question is answered.
terminal.answer_prompt(b"never sent\x03")
terminal.wait_for(b"(Ctrl-D ends)")
terminal.answer_prompt(b"/undo\n")
terminal.answer_prompt(b"/nonsense\n")
terminal.wait_for(b"there is no command /nonsense")
terminal.answer_prompt(b"/prompt the door\n")
terminal.wait_for(b"/prompt the door\r\n")
if terminal.wait_for(b"> ") != b"User: the door\r\nBot:\r\n":
    fail("the question that was taken back is still there")
terminal.type(b"\x04")
if terminal.status() != 0:
    fail("Ctrl-D is no error")


def piped(text, *options):
    return subprocess.run(
        [attend, "chat", "model", *TEMPLATE, *options], input=text.encode(), capture_output=True, timeout=300
    )


# Entries of several lines; commands about the conversation.
terminal = Terminal("--max-new-tokens", "4")
terminal.answer_prompt(b"first \\\n")
terminal.go_on(b"second\n")
terminal.wait_for(b" of 2048 of the context)")
terminal.answer_prompt(b'"""one\n')
terminal.go_on(b"\n")
terminal.go_on(b'two"""\n')
terminal.wait_for(b" of 2048 of the context)")
terminal.answer_prompt(b"/system be kind\n")
terminal.answer_prompt(b"/tokens\n")
terminal.wait_for(b" of 2048 tokens of the context (")
terminal.answer_prompt(b"/tools\n")
terminal.wait_for(b"there are no tools: --tools FILE")
terminal.answer_prompt(b"/save lines.json\n")
terminal.wait_for(b"wrote lines.json")
messages = json.load(open("lines.json"))
if [m["content"] for m in messages if m["role"] != "assistant"] != ["be kind", "first \nsecond", "one\n\ntwo"]:
    fail(f"saved {messages}")
terminal.answer_prompt(b"/retry\n")
terminal.wait_for(b" of 2048 of the context)")
terminal.answer_prompt(b"/load lines.json\n")
terminal.wait_for(b"read 5 messages")
terminal.answer_prompt(b"/quit\n")
if terminal.status() != 0:
    fail("/quit is no error")

# A later conversation recalls the lines of this one. Only their owner may read the file.
if b"libedit" in subprocess.run(["ldd", attend], capture_output=True).stdout:  # not without: CMakeLists.txt
    if os.stat("state/attend/history").st_mode & 0o777 != 0o600:
        fail("others can read the history")
    terminal = Terminal("--max-new-tokens", "4")
    terminal.answer_prompt(b" /not kept\n")
    terminal.answer_prompt(b"\x1b[A\n")  # /quit
    if terminal.status() != 0 or not open("state/attend/history").read().endswith("/load lines.json\n/quit\n/quit\n"):
        fail("the history: " + open("state/attend/history").read())


# Through a pipe: only answers, whole characters, and the same answers for the same seed.
done = piped("hello\nZoë\n", "--max-new-tokens", "30", "--temperature", "1.2")
if done.returncode != 0 or done.stderr or b"> " in done.stdout[:2]:
    fail(f"{done}")
done.stdout.decode()
if piped("hello\nZoë\n", "--max-new-tokens", "30", "--temperature", "1.2").stdout != done.stdout:
    fail("other answers with the same seed")
# Messages that no longer fit are dropped with a notice; a message that can never fit is rejected, and the
# conversation continues.
done = piped("the lamp is on the table " * 20 + "\n" + "second door " * 30 + "\n", "--max-new-tokens", "1900")
if b"first 2 messages" not in done.stderr or done.returncode != 0:
    fail(f"nothing forgotten: {done.stderr}")
done = piped("the lamp is on the table " * 500 + "\nhello\n", "--max-new-tokens", "5")
if b"the question has" not in done.stderr or done.returncode != 1 or len(done.stdout.splitlines()) < 1:
    fail(f"too long a question: {done}")
# Each turn reads the new tokens (an answer, a question, marks), and at most a page of cached ones.
done = piped("the lamp\n/tokens\n" * 20, "--max-new-tokens", "20", "--temperature", "1.2")
turns = re.findall(r"(\d+) of 2048 tokens of the context .*; (\d+) were read", done.stdout.decode())
if len(turns) != 20:
    fail(f"20 turns: {done}")
grown = [int(turn[0]) for turn in turns]
for before, now, turn in zip(grown, grown[1:], turns[1:]):
    if int(turn[1]) > now - before + 20 + 16:
        fail(f"a turn from {before} to {now} tokens read {turn[1]}")

# A call waits for its result, which is the next line.
tool = {"type": "function", "function": {"name": "look", "description": "Looks around.", "parameters": {
    "type": "object", "properties": {"far": {"type": "boolean"}}, "required": ["far"]}}}  # fmt: skip
json.dump([tool], open("tools.json", "w"))
call = {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": {"far": True}}}
json.dump([{"role": "user", "content": "look"}, {"role": "assistant", "content": "", "tool_calls": [call]}], open("waits.json", "w"))
open("config.json", "w").write('{"eos_token_id": 0}')
TOOLS = ["--tools", "tools.json", "--max-new-tokens", "40", "--generation-config", "config.json"]
done = piped("/tools\na lamp\n/save after.json\n", *TOOLS, "--load", "waits.json")
messages = json.load(open("after.json"))
if messages[2] != {"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "a lamp"} or len(messages) != 4:
    fail(f"a result: {messages}")
if b"look: Looks around.\n" not in done.stdout or done.returncode != 0:
    fail(f"/tools: {done}")
# A model that is forced to begin a call: the grammar determines the rest.
ids = json.loads(subprocess.run([attend, "tokenize", "model", "<tool_call>", "--json"], capture_output=True, check=True).stdout)["ids"]
bias = [[ids[: i + 1], 100 * (i + 1)] for i in range(len(ids))]
json.dump({"eos_token_id": 0, "sequence_bias": bias}, open("config.json", "w"))
TOOLS[3] = "90"
done = piped("hello\na lamp\n/save called.json\n", *TOOLS)
messages = json.load(open("called.json"))
called = messages[1]["tool_calls"][0]["function"]
if called["name"] != "look" or [type(value) for value in called["arguments"].values()] != [bool] or messages[2]["content"] != "a lamp":
    fail(f"calls: {messages}")
if b"look {" not in done.stdout:
    fail(f"a call is not shown: {done}")
open("tool.sh", "w").write('printf "%s says " "$1"; cat')
done = piped("hello\n", *TOOLS, "--tool-command", "sh tool.sh")
if b"look> look says {" not in done.stdout:
    fail(f"--tool-command: {done}")
done = piped("hello\n", *TOOLS, "--tool-command", "sh -c 'exit 3'")
if b"look> error: exit status 3" not in done.stdout:
    fail(f"a command that fails: {done}")
done = subprocess.run([attend, "chat", "model"], input=b"hello\n", capture_output=True)
if b"--template" not in done.stderr or done.returncode != 1:
    fail(f"no template: {done.stderr}")
print("all well")
PYTHON
