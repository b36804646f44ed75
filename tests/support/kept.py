"""Where the tests keep collections: in a data directory, or in a PostgreSQL database.

`TOTONOE_TEST_STORE=postgresql` chooses the database for a whole run (`make test-postgres`). A test
marked `both_stores` runs over both in every run.
"""

from __future__ import annotations

import os

FILES, POSTGRESQL = STORES = ("files", "postgresql")


def chosen() -> str:
    """Return the store that this run is about, one of `STORES`."""
    return POSTGRESQL if os.environ.get("TOTONOE_TEST_STORE") == POSTGRESQL else FILES
