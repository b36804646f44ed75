"""The slow twin of `kernels/hnsw_file.py`: links of a graph's file as lists."""

from __future__ import annotations

import struct

Links = list[list[list[int]]]


def links_of(data: bytes, first: int, stride: int, at: int, m: int) -> Links | None:
    """By element and level: the elements that it leads to; `None`: something does not fit."""
    count = (at - first) // stride
    found: Links = []
    unit = 4 + 4 * m
    for element in range(count):
        place = first + element * stride
        levels = [data[place : place + 4 + 8 * m]]
        if at + 4 > len(data):
            return None
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if size % unit or at + size > len(data):
            return None
        levels += [data[start : start + unit] for start in range(at, at + size, unit)]
        at += size
        links = []
        for level, part in enumerate(levels):
            number, rest = struct.unpack_from("<HH", part)
            if rest or number > (m if level else 2 * m):
                return None
            links.append(list(struct.unpack_from(f"<{number}I", part, 4)))
        found.append(links)
    if at != len(data):
        return None
    for levels_of in found:
        for level, targets in enumerate(levels_of):
            if any(target >= count or len(found[target]) <= level for target in targets):
                return None
    return found
