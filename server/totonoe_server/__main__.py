"""`python -m totonoe_server` is `totonoe serve`."""

from __future__ import annotations

import sys

import typer

from totonoe_server import extra
from totonoe_server.tools.commands import serve
from totonoe_server.tools.options import with_settings

if __name__ == "__main__":
    try:
        extra.require()
    except extra.MissingExtraError as error:
        typer.echo(f"totonoe_server needs the server: {extra.INSTALL} ({error})", err=True)
        sys.exit(2)
    typer.run(with_settings(serve))
