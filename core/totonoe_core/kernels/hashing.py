"""SipHash-1-3: a keyed 64-bit hash of terms that is the same in every process.

Without the key nobody can choose terms that share a hash. Rounds, padding and finalization are
those of Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with one round for each
word of the message and three at the end, as CPython hashes strings.

Oracle: `tests/support/oracles_joins.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import int64_out, kernel, uint8_in, uint64_in

UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]
Int64 = npt.NDArray[np.int64]

uint64_out = types.Array(types.uint64, 1, "C")

SEPARATOR = 0xFF
"""Separates two terms: no byte of UTF-8, with or without surrogates."""

_C0 = np.uint64(0x736F6D6570736575)
_C1 = np.uint64(0x646F72616E646F6D)
_C2 = np.uint64(0x6C7967656E657261)
_C3 = np.uint64(0x7465646279746573)
_END = np.uint64(0xFF)
_R13, _R16, _R17, _R21, _R32 = (np.uint64(by) for by in (13, 16, 17, 21, 32))
_R51, _R48, _R47, _R43 = (np.uint64(64 - by) for by in (13, 16, 17, 21))
_BYTE, _LAST = np.uint64(8), np.uint64(56)


@kernel(types.void(uint64_out), exact=True)
def _round(v: UInt64) -> None:
    """Run one round over the state uint64[4]."""
    v[0] += v[1]
    v[1] = (v[1] << _R13 | v[1] >> _R51) ^ v[0]
    v[0] = v[0] << _R32 | v[0] >> _R32
    v[2] += v[3]
    v[3] = (v[3] << _R16 | v[3] >> _R48) ^ v[2]
    v[0] += v[3]
    v[3] = (v[3] << _R21 | v[3] >> _R43) ^ v[0]
    v[2] += v[1]
    v[1] = (v[1] << _R17 | v[1] >> _R47) ^ v[2]
    v[2] = v[2] << _R32 | v[2] >> _R32


@kernel(types.void(uint8_in, uint64_in, int64_out), exact=True)
def hash_terms(data: UInt8, key: UInt64, out: Int64) -> None:
    """Hash terms that are stored one after the other.

    Parameters
    ----------
    data : uint8[n]
        UTF-8 of the terms with one `SEPARATOR` behind each but the last.
    key : uint64[2]
        Any; secret.
    out : int64[m]
        Receives the hash of each; m is the number of terms, at least 1.
    """
    v = np.empty(4, np.uint64)
    at, size = 0, data.shape[0]
    for term in range(out.shape[0]):
        v[0], v[1], v[2], v[3] = key[0] ^ _C0, key[1] ^ _C1, key[0] ^ _C2, key[1] ^ _C3
        word, shift, length = np.uint64(0), np.uint64(0), np.uint64(0)
        while at < size and data[at] != SEPARATOR:
            word |= np.uint64(data[at]) << shift
            shift += _BYTE
            length += np.uint64(1)
            at += 1
            if shift > _LAST:
                v[3] ^= word
                _round(v)
                v[0] ^= word
                word, shift = np.uint64(0), np.uint64(0)
        at += 1
        word |= length << _LAST
        v[3] ^= word
        _round(v)
        v[0] ^= word
        v[2] ^= _END
        for _ in range(3):
            _round(v)
        out[term] = np.int64(v[0] ^ v[1] ^ v[2] ^ v[3])
