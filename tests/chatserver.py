"""A real HTTP server on loopback that speaks the OpenAI protocol, with scripted replies."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.prompts, self.bodies, self.starts = answer, [], [], []
        self.running = self.most = 0
        self.lock = threading.Lock()

    def handle_error(self, *_):
        """Clients that were killed are no errors of the server."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            prompt = body["messages"][-1]["content"]
            server.prompts.append(prompt)
            server.bodies.append(body)
            server.starts.append(time.monotonic())
            server.running += 1
            server.most = max(server.most, server.running)
        try:
            reply = server.answer(prompt)
            if reply.get("delay"):
                time.sleep(reply["delay"])
        finally:
            with server.lock:
                server.running -= 1
        self.send(reply)

    def send(self, reply):
        status = reply.get("status", 200)
        if "raw" in reply:
            raw = reply["raw"]
        elif status == 200:
            raw = json.dumps(completion(reply)).encode()
        else:
            raw = json.dumps({"error": {"message": reply.get("error", "no"), "code": reply.get("error")}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw) + reply.get("missing", 0)))
        if "retry_after" in reply:
            self.send_header("Retry-After", str(reply["retry_after"]))
        self.end_headers()
        self.wfile.write(raw)
        if reply.get("missing"):
            self.close_connection = True

    def log_message(self, *_):
        pass


def completion(reply):
    message = {"role": "assistant", "content": reply.get("content")}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reply.get("finish_reason", "stop")}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


@contextmanager
def serving(answer):
    """Serve; ``answer`` maps a prompt to a reply."""
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def scripted(script):
    """Replies for prompts that hold a text, in order, the last one repeating: {text: [reply, ...]}."""
    counts = dict.fromkeys(script, 0)
    lock = threading.Lock()

    def answer(prompt):
        with lock:
            text = next(text for text in script if text in prompt)
            replies = script[text]
            reply = replies[min(counts[text], len(replies) - 1)]
            counts[text] += 1
            return reply

    return answer
