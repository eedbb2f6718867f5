"""What the two loops with models' own clients share: bashd behind `bashd rpc`, and a model that follows a script."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer


class Bashd:
    """One `bashd rpc` of a profile."""

    def __init__(self, program, profile):
        self.process = subprocess.Popen(
            [program, "rpc", "--profile", profile], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.calls = 0

    def ask(self, **request):
        """Sends a request, and returns its answer's data."""
        self.calls += 1
        self.process.stdin.write(json.dumps({"id": self.calls, **request}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer["success"]:
            raise RuntimeError(answer["error"])
        return answer.get("data")

    def call(self, arguments, tool=None):
        """Calls a tool of the profile: the first one, unless it is named."""
        named = {} if tool is None else {"tool": tool}
        return self.ask(type="call", arguments=arguments, **named)

    def tools(self):
        """The definitions of all tools, in the form of the profile's API."""
        return self.ask(type="schema", all=True)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class ScriptedModel:
    """A model on loopback: answers the n-th request with the n-th answer of its script, and keeps what it was asked."""

    def __init__(self, answers):
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                model.requests.append(json.loads(body))
                answer = json.dumps(answers[len(model.requests) - 1]).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
