"""A model that says what a script says, for agents that nobody here wrote.

It speaks the APIs that the agents use: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's
generateContent, each streaming or not. It answers the request with k tool results in it with step k of the script, and
keeps every tool result as the agent sent it: that is what a model would read.

A step is {"tool": "bash", "arguments": {...}}, several of them in a list (calls at once), or {"say": "..."}.
"""

import http.server
import json
import re
import threading

# What finds every tool of bashd where tools are hidden.
SEARCH = "select:mcp__bashd__bash,mcp__bashd__job,mcp__bashd__artifact"


class Script:
    """The steps, and what came back for each."""

    def __init__(self, steps):
        self.steps = [step if isinstance(step, list) else [step] for step in steps]
        self.results = []
        self.tools = []
        self.lock = threading.Lock()

    def next(self, tools, results):
        """The calls of the next answer, as (id, name, arguments); a text if there are none."""
        with self.lock:
            is_hidden = "tool_search" in tools and not any("bashd" in name for name in tools)
            if is_hidden:
                # Tools of servers are looked up first, and then called through another tool.
                if not results:
                    return [("call_search", "tool_search", {"query": SEARCH})]
                found, *results = results
                tools = tools + sorted(set(re.findall(r"mcp__bashd__[a-z]+", found["text"])))
            if len(results) > len(self.results):
                self.results = results
            if len(tools) > len(self.tools):
                self.tools = tools
            begun = 0
            for number, step in enumerate(self.steps):
                if len(results) == begun:
                    if "say" in step[0]:
                        return step[0]["say"]
                    named = [(call["arguments"], name_of(call["tool"], tools)) for call in step]
                    if all(name for _, name in named):
                        if is_hidden:
                            named = [
                                ({"name": name, "arguments": given}, "tool_call") if "bashd" in name else (given, name)
                                for given, name in named
                            ]
                        return [
                            (f"call_{number}_{place}", name, given) for place, (given, name) in enumerate(named)
                        ]
                    return "There is no such tool."
                begun += len(step)
            return "Done."


def name_of(tool, tools):
    """The name under which the agent offers a tool of bashd, or one of its own (own:NAME)."""
    if tool.startswith("own:"):
        return tool[4:] if tool[4:] in tools else None
    fitting = [name for name in tools if "bashd" in name and name.endswith(tool)]
    if not any("bashd" in name for name in tools):
        # A client that has no tools of its own may keep the names.
        fitting = [name for name in tools if name == tool]
    return fitting[0] if fitting else None


def text_of(content):
    """Content blocks as the text that a model reads."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", f"[{block.get('type')}]") for block in content or [])


def anthropic(script, body, stream):
    results = []
    for message in body["messages"]:
        if message["role"] == "user" and isinstance(message["content"], list):
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    result = {"text": text_of(block.get("content"))}
                    if block.get("is_error"):
                        result["is_error"] = True
                    results.append(result)
    tools = [tool["name"] for tool in body.get("tools", [])]
    answer = script.next(tools, results) if tools else "A title"
    content = [{"type": "text", "text": answer}] if isinstance(answer, str) else [
        {"type": "tool_use", "id": f"toolu_{id}", "name": name, "input": arguments} for id, name, arguments in answer
    ]
    reason = "end_turn" if isinstance(answer, str) else "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "fake"), "usage": usage}
    if not stream:
        return [message | {"content": content, "stop_reason": reason, "stop_sequence": None}]
    events = [{"type": "message_start", "message": message | {"content": [], "stop_reason": None, "stop_sequence": None}}]
    for index, block in enumerate(content):
        if block["type"] == "text":
            begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": begun},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def responses_tools(tools):
    """The names of the tools; those in a namespace with it, as (namespace, name)."""
    named = {}
    for tool in tools:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools", []):
                named[f"{tool['name']}__{inner['name']}"] = (tool["name"], inner["name"])
        elif "name" in tool:
            named[tool["name"]] = (None, tool["name"])
    return named


def openai_responses(script, body, stream):
    results = [
        {"text": text_of(item["output"])}
        for item in body.get("input", [])
        if isinstance(item, dict) and item.get("type") == "function_call_output"
    ]
    named = responses_tools(body.get("tools", []))
    answer = script.next(list(named), results) if named else "A title"
    if isinstance(answer, str):
        part = {"type": "output_text", "text": answer, "annotations": []}
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}]
    else:
        output = []
        for id, name, arguments in answer:
            space, own = named[name]
            item = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": own, "status": "completed"}
            item["arguments"] = json.dumps(arguments)
            output.append(item | ({"namespace": space} if space else {}))
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": f"resp_{len(results)}", "object": "response", "status": "completed", "output": output, "usage": usage}
    if not stream:
        return [response]
    events = [{"type": "response.created", "response": response | {"status": "in_progress", "output": []}}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return [(event["type"], event) for event in events]


def openai_chat(script, body, stream):
    results = [{"text": text_of(message["content"])} for message in body["messages"] if message["role"] == "tool"]
    tools = [tool["function"]["name"] for tool in body.get("tools", [])]
    answer = script.next(tools, results) if tools else "A title"
    if isinstance(answer, str):
        message, reason = {"role": "assistant", "content": answer}, "stop"
    else:
        calls = [
            {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for index, (id, name, arguments) in enumerate(answer)
        ]
        message, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
    about = {"id": "chat_1", "created": 1, "model": body.get("model", "fake")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return [about | {"object": "chat.completion", "choices": [choice], "usage": usage}]
    chunk = about | {"object": "chat.completion.chunk"}
    return [
        (None, chunk | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        (None, chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        (None, "[DONE]"),
    ]


def gemini(script, body, stream):
    results = []
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            if "functionResponse" in part:
                response = part["functionResponse"]["response"]
                key = "error" if "error" in response else "output"
                result = {"text": text_of(response.get(key, json.dumps(response)))}
                results.append(result | ({"is_error": True} if key == "error" else {}))
    tools = [
        function["name"] for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])
    ]
    answer = script.next(tools, results) if tools else json.dumps({"reasoning": "none", "next_speaker": "user"})
    if isinstance(answer, str):
        parts = [{"text": answer}]
    else:
        parts = [{"functionCall": {"id": id, "name": name, "args": arguments}} for id, name, arguments in answer]
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    return [(None, whole)] if stream else [whole]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer([{"object": "list", "data": [{"id": "fake", "object": "model"}], "models": []}])

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        if self.headers.get("transfer-encoding") == "chunked":
            raw = self.chunked()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        self.server.seen.append((self.path, body))
        stream = bool(body.get("stream")) or "streamGenerateContent" in path
        script = self.server.script
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            self.answer([{"input_tokens": 1, "totalTokens": 1}])
        elif path.endswith("/messages"):
            self.answer(anthropic(script, body, stream))
        elif path.endswith("/responses"):
            self.answer(openai_responses(script, body, stream))
        elif path.endswith("/chat/completions"):
            self.answer(openai_chat(script, body, stream))
        elif "enerateContent" in path:
            self.answer(gemini(script, body, stream))
        else:
            self.answer([{}])

    def chunked(self):
        raw = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return raw

    def answer(self, events):
        """One JSON object, or events as (name, data)."""
        if isinstance(events[0], dict):
            kind, body = "application/json", json.dumps(events[0])
        else:
            lines = []
            for name, data in events:
                data = data if isinstance(data, str) else json.dumps(data)
                lines.append((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
            kind, body = "text/event-stream", "".join(lines)
        body = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Model(http.server.ThreadingHTTPServer):
    """The server; `with Model(steps) as model` serves on a free port of this machine."""

    daemon_threads = True

    def __init__(self, steps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = Script(steps)
        self.seen = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
