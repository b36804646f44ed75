"""The loops of docs/agents.md run as printed, against a server that plays the model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from totonoe_server.tools.testing import running_server

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
FACT = "The cat of the user is called Miso."
KNOWN = "Miso the cat eats tuna only."


def _openai(request: Any) -> Any:
    last = request["messages"][-1]
    said: dict[str, Any] = {"role": "assistant", "content": "Tuna."}
    if last["role"] == "user":
        call = {"name": "remember", "arguments": json.dumps({"content": FACT})}
        said = {"role": "assistant", "content": None}
        said["tool_calls"] = [{"id": "c1", "type": "function", "function": call}]
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _anthropic(request: Any) -> Any:
    content: list[Any] = [{"type": "text", "text": "Tuna."}]
    if isinstance(request["messages"][-1]["content"], str):
        content = [{"type": "tool_use", "id": "t1", "name": "remember", "input": {"content": FACT}}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    stop = content[0]["type"].replace("text", "end_turn")
    answer = {"id": "x", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return answer | {"content": content, "stop_reason": stop, "stop_sequence": None}


@contextmanager
def playing_model() -> Iterator[tuple[str, list[Any]]]:
    """An HTTP server that answers like both services; its address, and the requests it got."""
    requests: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            answer = (_openai if "completions" in self.path else _anthropic)(request)
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}", requests
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize("sdk", ["OpenAI", "Anthropic"])
def test_loop_of_page_recalls_saves_and_answers(sdk: str) -> None:
    section = PAGE.read_text("utf-8").partition(f"\n## {sdk}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.S)
    with (
        running_server(embedder="use") as server,
        server.client() as client,
        playing_model() as (url, requests),
    ):
        client.remember(KNOWN)
        environment = os.environ | {
            "TOTONOE_ADDRESS": server.address,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
        }
        done = subprocess.run(
            [sys.executable, "-c", block],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (done.stdout, done.returncode) == ("Tuna.\n", 0), done.stderr
        stored = {memory.content: memory for memory in client.list().memories}
    assert set(stored) == {KNOWN, FACT}
    assert stored[FACT].agent_id == "assistant"
    assert stored[FACT].session_id
    first, second = requests
    assert KNOWN in json.dumps(first)
    assert f"Saved as {stored[FACT].id}." in json.dumps(second)


def test_page_names_each_example() -> None:
    page = PAGE.read_text("utf-8")
    examples = sorted(path.name for path in (PAGE.parents[1] / "examples").glob("*.py"))
    assert examples
    assert [name for name in examples if f"examples/{name}" not in page] == []
