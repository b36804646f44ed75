"""Reading of a SQLite file's write-ahead log, to find frames that recovery will not reach.

Recovery takes frames from the first one on, while each has the salts of the log's header and the
checksum that follows from the frame before it, and keeps them up to the last commit frame. It
ignores everything after the first frame that fails, and reports nothing.

Some frames after that point are legitimate:

    another salt            frames of the log before its last restart; they are in the database
    one commit, unfollowed  the commit under way when the power was lost, or one that the disk
                            refused: its frames reach the disk in any order, and nobody was answered

SQLite syncs a commit before the next one writes a frame. So a commit frame whose next frame
continues its checksum was synced, and may have been answered. If recovery stops before such a
frame, the log is damaged. A frame's checksum is computed from the checksum that the frame before it
*states*, and from the one that it should state, so that a single bad frame does not hide those
after it.

Layout and checksum: https://www.sqlite.org/fileformat2.html, section 4. The checksum is linear
modulo 2**32: that of a frame is `power @ before + words @ weights`, which numpy does for many
frames at once.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_SECTOR_BYTES: Final = 512  # the smallest unit that a disk writes atomically
_READ_BYTES: Final = 1024 * 1024
_MAGIC: Final = 0x377F0682
_VERSION: Final = 3_007_000
_PAGE_SIZES: Final = tuple(2**power for power in range(9, 17))
_STEP: Final = np.array([[1, 1], [1, 2]], np.uint32)
"""Effect of one pair of words on the two sums, apart from adding the pair."""
_PAIR: Final = np.array([[1, 0], [1, 1]], np.uint32)


@dataclass(frozen=True, slots=True)
class LogScan:
    """Result of scanning a log.

    Attributes
    ----------
    kept_frame_count : int
        Frames that recovery will take, up to the last commit that it accepts.
    damaged : bool
        True if a synced commit lies after these.
    lost_commit_count : int
        Commit frames of this log after them. In an undamaged log at most the last commit, which was
        not answered.
    page_bytes : int
        Size of a page; 0 if recovery takes no frame.
    page_count : int
        Pages of the database after the last commit that recovery takes; 0 if there is none.
    pages : uint32[kept_frame_count]
        Number of the page in each frame that recovery takes, counted from 1.
    """

    kept_frame_count: int = 0
    damaged: bool = False
    lost_commit_count: int = 0
    page_bytes: int = 0
    page_count: int = 0
    pages: Words = field(default_factory=lambda: np.empty(0, np.uint32), compare=False)


EMPTY: Final = LogScan()


class _Layout(NamedTuple):
    """Format of the frames of a log, and the sums before its first frame."""

    page_size: int
    word: str
    before: Words
    salts: Words | None
    """uint32[2]; `None` if the header is damaged, and the first frame states them."""


def scan(path: Path) -> LogScan:
    """Scan a log. Changes nothing, and holds a megabyte of it at a time.

    Raises `OSError` if the log exists and cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return EMPTY
    try:
        header = os.pread(descriptor, HEADER_BYTES, 0)
        if len(header) < HEADER_BYTES:
            return EMPTY
        layout = _layout(header)
        if layout is None:
            layout = _layout_of_damaged(descriptor, header)
        return EMPTY if layout is None else _scan(descriptor, layout)
    finally:
        os.close(descriptor)


def _layout(header: bytes) -> _Layout | None:
    """Return the layout that a header states; `None` if recovery refuses it, and takes no frame."""
    magic, version, page_size, _, *_ = (int(word) for word in _words(header, ">u4"))
    if magic & ~1 != _MAGIC or version != _VERSION or page_size not in _PAGE_SIZES:
        return None
    word = _word(magic)
    salts, stated = _words(header[16:24], ">u4"), _words(header[24:], ">u4")
    if not np.array_equal(_of_header(header, word), stated):
        return None
    return _Layout(page_size, word, stated, salts)


def _layout_of_damaged(descriptor: int, header: bytes) -> _Layout | None:
    """Return the layout of a log whose header is damaged, from its first frame.

    `None` if the first frame does not continue this header. Then the frames belong to an earlier
    header, and the header was being written when the power was lost.
    """
    for word in ("<u4", ">u4"):
        for before in (_words(header[24:], ">u4"), _of_header(header, word)):
            for page_size in _PAGE_SIZES:
                frame = os.pread(descriptor, _FRAME_HEADER_BYTES + page_size, HEADER_BYTES)
                if len(frame) < _FRAME_HEADER_BYTES + page_size:
                    break
                frames = _Frames.of(frame, page_size, word)
                if np.array_equal(frames.expected(before[None])[0], frames.stated[0]):
                    return _Layout(page_size, word, before, None)
    return None


def _scan(descriptor: int, layout: _Layout) -> LogScan:
    frame_bytes = _FRAME_HEADER_BYTES + layout.page_size
    step = max(1, _READ_BYTES // frame_bytes)
    frame_count = (os.fstat(descriptor).st_size - HEADER_BYTES) // frame_bytes
    salts, stated, computed = layout.salts, layout.before, layout.before
    sound = salts is not None
    kept = at = lost = page_count = 0
    pages: list[Words] = []
    damaged = follows_commit = False
    while at < frame_count:
        data = os.pread(descriptor, min(step, frame_count - at) * frame_bytes, _offset(at, layout))
        data = data[: len(data) - len(data) % frame_bytes]
        if not data:
            break
        frames = _Frames.of(data, layout.page_size, layout.word)
        salts = frames.salts[0] if salts is None else salts
        current = (frames.salts == salts).all(axis=1)
        expected = frames.expected(np.vstack([stated, frames.stated[:-1]]))
        follows = (expected == frames.stated).all(axis=1)
        # For a frame whose stated checksum is the damaged part.
        repaired = frames.expected(np.vstack([computed, expected[:-1]]))
        linked = current & (follows | (repaired == frames.stated).all(axis=1))
        good = current & follows & (frames.pages != 0)
        length = _run(good) if sound else 0
        ends = np.flatnonzero(frames.is_commit[:length])
        if len(ends):
            kept, lost, damaged = at + int(ends[-1]) + 1, 0, False
            page_count = int(frames.page_counts[ends[-1]])
        if length:
            pages.append(frames.pages[:length])
        behind = max(0, kept - at)
        # A header that spans two sectors may have halves of two transactions.
        offsets = _offset(at, layout) + np.arange(len(good)) * frame_bytes
        whole = offsets % _SECTOR_BYTES <= _SECTOR_BYTES - _FRAME_HEADER_BYTES
        commits = frames.is_commit & (follows | whole)
        after_commit = np.concatenate([[follows_commit], commits[:-1]])
        # The frame right after the last kept commit continues that one.
        damaged |= bool((linked & after_commit)[behind + (kept >= at) :].any())
        lost += int(np.count_nonzero((current & frames.is_commit)[behind:]))
        sound = sound and length == len(good)
        stated, computed = frames.stated[-1], expected[-1]
        follows_commit = bool(commits[-1])
        at += len(good)
    if not kept:
        return LogScan(0, damaged, lost)
    taken = np.concatenate(pages)[:kept]
    return LogScan(kept, damaged, lost, layout.page_size, page_count, taken)


def pages_of(path: Path, frame_count: int) -> Words:
    """Return uint32[frame_count]: the page in each of the first frames of a log, from 1.

    Only the heads of the frames are read, and nothing is checked: call this beside the connection
    that wrote them. Fewer are returned if the log ends earlier. Raises `OSError`.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        page_bytes = int(_words(os.pread(descriptor, 12, 0)[8:].ljust(4, b"\0"), ">u4")[0])
        frame_bytes = _FRAME_HEADER_BYTES + page_bytes
        heads = b"".join(
            os.pread(descriptor, 4, HEADER_BYTES + number * frame_bytes)
            for number in range(frame_count)
        )
    finally:
        os.close(descriptor)
    return _words(heads[: len(heads) // 4 * 4], ">u4")


class _Frames(NamedTuple):
    """Some consecutive frames."""

    pages: Words
    page_counts: Words
    """Pages of the database after a commit; 0 in a frame that ends none."""
    is_commit: NDArray[np.bool_]
    salts: Words
    """uint32[n, 2]."""
    stated: Words
    """uint32[n, 2]: the stated checksums."""
    added: Words
    """uint32[n, 2]: the amount that each adds to the checksum before it."""
    power: Words

    @classmethod
    def of(cls, data: bytes, page_size: int, word: str) -> _Frames:
        """Read frames from their bytes; `word` is the numpy type of the summed words."""
        heads = _words(data, ">u4").reshape(-1, (_FRAME_HEADER_BYTES + page_size) // 4)
        words = heads if word == ">u4" else _words(data, word).reshape(heads.shape)
        power, weights = _weights(page_size)
        added = words[:, :2] @ weights[:2] + words[:, _FRAME_HEADER_BYTES // 4 :] @ weights[2:]
        pages, page_counts = heads[:, 0].copy(), heads[:, 1].copy()
        salts, stated = heads[:, 2:4], heads[:, 4:6]
        return cls(pages, page_counts, page_counts != 0, salts, stated, added, power)

    def expected(self, before: Words) -> Words:
        """Return uint32[n, 2]: the right checksums, given the checksums before."""
        return before @ self.power.T + self.added


@functools.lru_cache(maxsize=len(_PAGE_SIZES))
def _weights(page_size: int) -> tuple[Words, Words]:
    """Return uint32[2, 2] for the checksum before a frame, uint32[words, 2] for its words."""
    pair_count = 1 + page_size // 8
    weights = np.empty((pair_count, 2, 2), np.uint32)
    power = np.eye(2, dtype=np.uint32)
    for pair in range(pair_count - 1, -1, -1):
        weights[pair] = (power @ _PAIR).T
        power = power @ _STEP
    return power, weights.reshape(-1, 2)


def _of_header(header: bytes, word: str) -> Words:
    """Return uint32[2]: the checksum of a log's header."""
    first = second = 0
    values = [int(value) for value in _words(header[:24], word)]
    for low, high in zip(values[::2], values[1::2], strict=True):
        first = (first + low + second) & 0xFFFFFFFF
        second = (second + high + first) & 0xFFFFFFFF
    return np.array([first, second], np.uint32)


def _words(data: bytes, word: str) -> Words:
    return np.frombuffer(data, word).astype(np.uint32)


def _word(magic: int) -> str:
    return ">u4" if magic & 1 else "<u4"


def _offset(frame: int, layout: _Layout) -> int:
    return HEADER_BYTES + frame * (_FRAME_HEADER_BYTES + layout.page_size)


def _run(good: NDArray[np.bool_]) -> int:
    """Return the number of leading true values."""
    return len(good) if good.all() else int(np.argmin(good))
