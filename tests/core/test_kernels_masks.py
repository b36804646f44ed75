"""The kernel that selects slots against its plain twin."""

from __future__ import annotations

import numpy as np
import pytest

from support import oracles
from totonoe_core.kernels.masks import select_visible


@pytest.mark.parametrize("seed", range(8))
def test_visible_slots_are_those_of_the_twin(seed: int) -> None:
    random, size, count = np.random.default_rng(seed), 64, 40
    status = random.choice([0, 1, 2, 3, 255], size).astype(np.uint8)
    replaced_by = random.choice([3, count - 1, count, 2**62], size).astype(np.int64)
    private = random.integers(0, 2, size).astype(np.uint8)
    agent = random.integers(-1, 3, size).astype(np.int32)
    wanted = np.zeros(256, np.uint8)
    wanted[random.choice([0, 1, 2, 3, 255], 2)] = 1
    out = np.full(size, 9, np.uint8)
    columns = (status, replaced_by, private, agent, wanted)
    select_visible(*columns, count, 1, out)
    assert out.astype(bool).tolist() == oracles.visible(*columns, count, 1)
