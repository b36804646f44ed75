"""Whatever the order of calls, the engine holds what it was given, and can take it back."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from support.ordering import OrderingMachine
from totonoe_core.engine.state import checkpointing


@pytest.fixture(autouse=True)
def checkpoints_of_a_few_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    # Some restarts find one that is up to date, some an older one or none.
    monkeypatch.setattr(checkpointing, "FROM_COUNT", 3)
    monkeypatch.setattr(checkpointing, "CHANGED_AT_CLOSE", 4)


def run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        OrderingMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            # Without shrinking: what a step does depends on those before it.
            phases=(Phase.explicit, Phase.generate),
        ),
    )


def test_engine_in_any_order_of_calls_agrees_with_the_model() -> None:
    run(examples=20, steps=60)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_engine_in_many_long_orders_of_calls_agrees_with_the_model() -> None:
    run(examples=400, steps=120)
