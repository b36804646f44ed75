"""Removal of bytes that SQLite leaves in the unallocated part of its pages.

`secure_delete` zeroes a cell where it is deleted. But when SQLite rebalances neighbouring pages,
moved cells stay behind in the gap between cell pointers and cell contents of the page that they
left, until they are overwritten: about one in a hundred of rows whose length changes. A purge has
to find these copies, and SQL cannot see them.

So this module zeroes the gaps of all b-tree pages in the file itself. They belong to no row and no
checksum covers them: concurrent readers, and a crash in the middle, see the same database. The
caller ensures two things: the WAL is empty (else an older gap is checkpointed over a clean one),
and the pages that the writing connection caches are dropped afterwards (else it writes an old gap
again). Only one process and one thread may write the file.

Layout of pages: https://www.sqlite.org/fileformat2.html, section 1.6. An overflow or freelist page
begins with a page number, whose first byte is below 2 up to PAGES_MAX; those are zeroed whole by
`secure_delete` when they are let go.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

PAGES_MAX = 2 << 24
"""Above this size (137 GB) a page number may look like the kind of a b-tree page: no scrub."""
STEP_BYTES = 64 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_FILE_HEADER = 100
_INTERIOR = (2, 5)
_LEAVES = (10, 13)


class Scrub:
    """One pass over a file, in steps.

    Its descriptor stays open until `close`. Close it only after the connections of the process:
    closing one descriptor of a file drops all locks that the process holds on it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR)
        self._at = 0
        self._page_size = 0

    def restart(self) -> None:
        """Start over at the first page."""
        self._at = 0

    def step(self, bytes_max: int = STEP_BYTES) -> bool:
        """Zero the gaps of the next pages, and sync; return whether the pass is complete."""
        size = os.fstat(self._descriptor).st_size
        if self._at == 0:
            header = os.pread(self._descriptor, _FILE_HEADER, 0)
            # 1 stands for 65,536, which two bytes do not hold.
            said = int.from_bytes(header[16:18], "big")
            self._page_size = 65_536 if said == 1 else said
        if size >= PAGES_MAX * self._page_size:
            return True
        end = min(size, self._at + bytes_max)
        while self._at < end:
            data = os.pread(self._descriptor, min(_READ_BYTES, end - self._at), self._at)
            whole = len(data) - len(data) % self._page_size
            if not whole:
                break
            self._zero(np.frombuffer(data, np.uint8, whole).reshape(-1, self._page_size))
            self._at += whole
        os.fsync(self._descriptor)
        return self._at + self._page_size > size

    def _zero(self, pages: np.ndarray[tuple[int, int], np.dtype[np.uint8]]) -> None:
        """Zero the gaps of some pages that were read at the current place."""
        header = np.zeros(len(pages), np.int64)
        if self._at == 0:
            header[0] = _FILE_HEADER
        rows = np.arange(len(pages))
        kind = pages[rows, header]

        def number(offset: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            high = pages[rows, header + offset].astype(np.int64)
            return high * 256 + pages[rows, header + offset + 1]

        leaf, interior = np.isin(kind, _LEAVES), np.isin(kind, _INTERIOR)
        begin = header + np.where(leaf, 8, 12) + 2 * number(3)
        content = number(5)
        content[content == 0] = 65_536
        # An inconsistent page is left alone; reading it will report the damage.
        sound = (leaf | interior) & (begin <= content) & (content <= self._page_size)
        for page in np.flatnonzero(sound).tolist():
            gap = pages[page, begin[page] : content[page]]
            if gap.any():
                place = self._at + page * self._page_size + int(begin[page])
                os.pwrite(self._descriptor, bytes(len(gap)), place)

    def close(self) -> None:
        """Closes the descriptor. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
