"""A daemon in this process over the store that the tests run over."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.kept import FILES, chosen
from totonoe_server.life import config
from totonoe_server.tools.testing import RunningServer, running_server

IDLE_S = 10.0


@contextmanager
def serving(
    data_dir: Path | None = None, *, kept_in: str = "", **settings: Any
) -> Iterator[RunningServer]:
    """A running server, as `running_server` makes it, over a store of `STORES` or the chosen one.

    A data directory stands for one database, so that a second server finds what the first kept.
    """
    if (kept_in or chosen()) == FILES:
        with running_server(data_dir, **settings) as server:
            yield server
        return
    from support.postgres import migrated, store_url

    # An open collection holds connections, of which a server has not many.
    settings.setdefault("collection_idle_s", IDLE_S)

    url = migrated() if data_dir is None else store_url(data_dir)
    with (
        tempfile.TemporaryDirectory(prefix="totonoe-derived-") as derived,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(config, "user_cache_path", lambda _: Path(derived))
        with running_server(store=url, **settings) as server:
            yield server
