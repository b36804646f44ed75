"""One collection whose file is missing, foreign or damaged hides none of the others."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from support.cataloging import create
from support.engines import opened
from support.waits import wait_s
from totonoe_core.base import errors


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("gone", "MISSING_FILE"),
        ("foreign", "WRONG_FILE"),
        ("cut", "CORRUPT_ROW"),
        ("no database", "CORRUPT_ROW"),
        ("later format", "UNSUPPORTED_FORMAT"),
    ],
)
def test_list_names_a_collection_that_cannot_be_read_beside_the_others(
    tmp_path: Path, how: str, reason: str
) -> None:
    with opened(tmp_path) as store:
        for name in ("attic", "barn", "cellar"):
            create(store, name)
        paths = {
            name: store.engine._collections.names.catalog.path(uid)
            for name, uid in store.engine._collections.names.uids().items()
        }
    path = paths["barn"]
    if how == "gone":
        path.unlink()
    elif how == "foreign":
        shutil.copy(paths["attic"], path)
    elif how == "cut":
        os.truncate(path, path.stat().st_size - 1)
    elif how == "no database":
        path.write_bytes(b"x" * 5000)
    else:
        data = path.read_bytes()
        path.write_bytes(data[:60] + (99).to_bytes(4, "big") + data[64:])
    with opened(tmp_path) as store:
        page = store.engine.list_collections(10, "").result(wait_s())
        found = {info.name: info.fault for info in page.collections}
        assert list(found) == ["attic", "barn", "cellar", "default"]
        assert found.pop("barn").startswith(f"{reason}: ")
        assert set(found.values()) == {""}
        with pytest.raises(errors.TotonoeError):
            store.engine.get_collection("barn").result(wait_s())
        store.engine.delete_collection("attic", "", agent_id="anna").result(wait_s())
