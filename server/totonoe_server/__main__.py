"""`python -m totonoe_server` is `totonoe serve`."""

from __future__ import annotations

import typer

from totonoe_server.commands import serve

if __name__ == "__main__":
    typer.run(serve)
