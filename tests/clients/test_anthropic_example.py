"""examples/anthropic_memory.py, run as a user runs it, with a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.waits import wait_s
from totonoe import Client
from totonoe_server.tools.testing import RunningServer

ROOT = Path(__file__).parents[2]
PORT = "The staging database listens on port 5433."


@contextmanager
def model(*answers: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of an API that gives content blocks one after the other, and its requests."""
    asked: list[dict[str, Any]] = []
    left = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            block = next(left)
            message = {
                "id": f"msg_{len(asked)}",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [block],
                "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            body = json.dumps(message).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join(wait_s())
        server.server_close()


def use(number: int, **command: Any) -> dict[str, Any]:
    """A call of the memory tool."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": command}


def run(server: RunningServer, base_url: str, agent: str) -> str:
    """What the example prints."""
    env = os.environ | {
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "none",
        "NO_PROXY": "127.0.0.1",
        "TOTONOE_ADDRESS": server.address,
    }
    example = str(ROOT / "examples" / "anthropic_memory.py")
    done = subprocess.run(
        [sys.executable, example, f"Remember: {PORT}", "--agent", agent],
        env=env, capture_output=True, text=True, check=False, timeout=wait_s(60.0),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def results(asked: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """The tool's answers in order, as the model gets them: text, and whether it is an error."""
    found = {
        block["tool_use_id"]: (block["content"], block.get("is_error", False))
        for request in asked
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    return list(found.values())


def test_example_keeps_what_the_model_writes(totonoe_server: RunningServer) -> None:
    answers = (
        use(1, command="view", path="/memories"),
        use(2, command="create", path="/memories/infra.md", file_text=f"- {PORT}\n"),
        use(3, command="view", path="/memories/none.md"),
        {"type": "text", "text": "Noted."},
    )
    with model(*answers) as (base_url, asked):
        assert run(totonoe_server, base_url, "first") == "Noted.\n"
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    head = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden"
    assert results(asked) == [
        (f"{head} items:\n4K\t/memories", False),
        ("File created successfully at: /memories/infra.md", False),
        ("The path /memories/none.md does not exist. Please provide a valid path.", True),
    ]
    again = use(1, command="create", path="/memories/more.md", file_text=f"* {PORT}")
    with model(again, {"type": "text", "text": "Known."}) as (base_url, asked):
        assert run(totonoe_server, base_url, "second") == "Known.\n"
    assert results(asked)[0][0].endswith(
        "\n\nNote: line 1 says the same as line 1 of /memories/infra.md."
    )
    with Client(totonoe_server.address) as client:
        (hit,) = client.recall("which port has the staging database").hits
        assert (hit.memory.content, hit.memory.agent_id) == (PORT, "first")
