"""A collection's own settings, as every store keeps them."""

from __future__ import annotations

from totonoe_core.base import plain
from totonoe_core.base.errors import Corruption
from totonoe_core.domain.collections import CollectionInfo
from totonoe_core.store.records import SETTINGS_KEY
from totonoe_core.store.seam import Rows


def read_settings(rows: Rows, name: str = "the collection") -> CollectionInfo:
    """Read the settings from the collection of `rows`. Raises `Corruption` if it has none."""
    text = rows.setting(SETTINGS_KEY)
    if text is None:
        # A collection is always made with settings, so this is another file.
        raise Corruption(
            "CORRUPT_ROW", f"{name} has lost its settings; restore a snapshot", file=name
        )
    return plain.loads(CollectionInfo, text)
