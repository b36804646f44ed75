"""Draws docs/refusal.svg, the picture in README.md, from a real run.

    .venv/bin/python docs/picture.py [FILE]

The script starts a daemon with the bundled model on a temporary directory, runs COMMANDS, and
writes what the terminal shows.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from totonoe_server.tools.testing import running_server

PICTURE = Path(__file__).with_name("refusal.svg")
COLUMNS = 92
COMMANDS = (
    'totonoe remember "The nightly backup starts at 3 am." --agent planner',
    'totonoe remember "The nightly backup begins at 03:00." --agent reviewer',
    'totonoe remember "The nightly backup starts at 4 am." --agent reviewer',
)
STYLES = (
    (r"^\$ .*", "bold"),
    (r"^Saved\b", "bold green"),
    (r"^Not saved\b", "bold red"),
    (r"mem_[0-9a-f]+", "cyan"),
    (r"(?<=Verdict: )\w+", "bold yellow"),
)


def transcript() -> str:
    """Each command and what it prints, one below the other."""
    shown = []
    with running_server(embedder="use") as server:
        environment = {**os.environ, "TOTONOE_ADDRESS": server.address}
        for command in COMMANDS:
            words = [str(Path(sys.executable).with_name("totonoe")), *shlex.split(command)[1:]]
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, check=False
            )
            shown.append(f"$ {command}\n{done.stdout}{done.stderr}")
    return "\n".join(shown)


def draw(text: str) -> str:
    """The text as a terminal in SVG; it refers to no font of another site."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    styled = Text(text)
    for pattern, style in STYLES:
        styled.highlight_regex(re.compile(pattern, re.M), style)
    console.print(styled)
    svg = console.export_svg(title="totonoe", unique_id="refusal")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S)
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    place.write_text(draw(transcript()), encoding="utf-8")
