"""attend serve as tests of the command ask it: over real sockets."""
import atexit, http.client, json, os, signal, socket, ssl, subprocess, sys, threading, time, urllib.parse

attend = os.environ["ATTEND"]


def fail(text):
    sys.exit("FAILED: " + text)


def equal(what, found, expected):
    if found != expected:
        fail(f"{what}: expected {expected!r}, found {found!r}")


class Server:
    """attend serve on a port that was free."""

    def __init__(self, *options, **environment):
        atexit.register(lambda: self.process.kill())  # at any end of this test
        place = [] if "--socket" in options else ["--port", "0"]
        self.process = subprocess.Popen([attend, "serve", *options, *place], stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})  # fmt: skip
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if "listening on" in line:
                break
        else:
            fail(f"the server has not begun: {self.log}")
        self.address = json.loads(line)["message"] if line.startswith("{") else line
        self.port = None if place == [] else int(self.address.rsplit(":", 1)[1])
        self.tls = "https:" in self.address
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def ask(self, method, path, body=None, headers={}):
        """Status and body."""
        reply = self.reply(method, path, body, headers)
        return reply.status, reply.text

    def connect(self):
        if self.port is None:
            connection = http.client.HTTPConnection("localhost", timeout=60)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(self.address.split("unix:", 1)[1].strip())
            return connection
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=ssl._create_unverified_context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def reply(self, method, path, body=None, headers={}):
        connection = self.connect()
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, headers)
        reply = connection.getresponse()
        reply.text = reply.read().decode()
        return reply

    def post(self, path, **body):
        status, text = self.ask("POST", path, body)
        if status != 200:
            fail(f"{path} {body}: {status} {text}")
        return json.loads(text)

    def refused(self, status, path, body, words):
        found, text = self.ask("POST", path, body)
        message = json.loads(text)["error"]["message"]
        if found != status or words not in message:
            fail(f"{path} {body}: expected {status} and '{words}', found {found} {message}")

    def stream(self, path, **body):
        status, text = self.ask("POST", path, {**body, "stream": True})
        equal(path, status, 200)
        lines = [line for line in text.split("\n\n") if line]
        equal("the last event", lines[-1], "data: [DONE]")
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]

    def stream_now(self, path, **body):
        """The events of a stream as they come."""
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}).encode())
        for line in connection.getresponse():
            if line.startswith(b"data: {"):
                yield json.loads(line[len(b"data: ") :])

    def raw(self, data):
        """A connection on which this was sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def figure(self, name):
        for line in self.ask("GET", "/metrics")[1].splitlines():
            if line.startswith(name + "{"):
                return int(line.rsplit(" ", 1)[1])
        fail(f"no {name} in /metrics")

    def wait_for(self, name, value):
        for _ in range(300):
            if self.figure(name) == value:
                return
            time.sleep(0.1)
        fail(f"{name} is {self.figure(name)} and not {value}")

    def end(self, seconds=60):
        self.process.send_signal(signal.SIGTERM)
        equal("the exit status", self.process.wait(seconds), 0)


