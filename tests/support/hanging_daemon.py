"""The command with several daemons, whose event loops hang on SIGUSR1 while the rest of them runs.

`python -m support.hanging_daemon OPTION...` is the command; each daemon runs this module without
options.
"""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

import typer

from totonoe_server.life import seat, several
from totonoe_server.tools.commands import serve
from totonoe_server.tools.options import with_settings


def hang(*_: Any) -> None:
    """Keep the main thread, which is that of the event loop; other threads go on."""
    time.sleep(3600)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        signal.signal(signal.SIGUSR1, hang)
        sys.exit(seat.main())
    several.MODULE = "support.hanging_daemon"
    typer.run(with_settings(serve))
