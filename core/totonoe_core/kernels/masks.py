"""Selection of the slots that a caller may see, in one pass over a block of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from totonoe_core.kernels.flags import int32_in, int64_in, kernel, uint8_in
from totonoe_core.kernels.postings import uint8_out

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@kernel(
    types.void(
        uint8_in, int64_in, uint8_in, int32_in, uint8_in, types.int64, types.int64, uint8_out
    )
)
def select_visible(
    status: UInt8,
    replaced_by: Int64,
    private: UInt8,
    agent: Int32,
    wanted: UInt8,
    count: int,
    agent_code: int,
    out: UInt8,
) -> None:
    """Select the newest slots of some statuses that an agent may see.

    Oracle: `visible` in `tests/support/oracles.py`. 0.5 ns a slot.

    Parameters
    ----------
    status, replaced_by, private, agent : uint8[n], int64[n], uint8[n], int32[n]
        Columns of one block.
    wanted : uint8[256]
        1 for each code of a status that is selected.
    count : int64
        Slots of the view: a slot that is replaced by one of them is not its memory's newest.
    agent_code : int64
        Code of the agent, which sees its own private slots.
    out : uint8[n]
        Receives 1 for a selected slot, else 0.
    """
    for slot in range(status.shape[0]):
        newest = replaced_by[slot] >= count
        seen = (private[slot] == 0) | (agent[slot] == agent_code)
        out[slot] = np.uint8(newest & seen) & wanted[status[slot]]
