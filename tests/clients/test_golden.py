"""The cases that every client shares: `tests/golden/calls.json`, which says how it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from totonoe import errors
from totonoe_server.tools.testing import RunningServer

CASES = json.loads(
    (Path(__file__).parents[1] / "golden" / "calls.json").read_text(encoding="utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_case_is_answered_as_it_says(
    server: RunningServer, collection: str, call: Any, case: Any
) -> None:
    kept: dict[str, Any] = {}
    for number, step in enumerate(case["steps"], 1):
        place = f"{case['name']}: step {number}"
        given = _given({**step.get("options", {}), **step.get("fields", {})}, kept)
        given |= _given(step.get("filter", {}), kept)
        # The one option that languages name by their units.
        if "timeout" in given:
            given["timeout_s"] = given.pop("timeout")
        options = {"agent_id": "ann", "collection": collection}
        args = _given(step.get("args", []), kept)

        def run(
            name: str = step["call"], args: Any = args, given: Any = given, options: Any = options
        ) -> Any:
            return call(server.address, name, *args, options=options, **given)

        if "refused" in step:
            with pytest.raises((TypeError, ValueError), match=step["refused"]):
                run()
        elif "error" in step:
            with pytest.raises(errors.TotonoeError) as caught:
                run()
            _is_error(caught.value, step["error"], place)
        else:
            answer = run()
            _holds(answer, _given(step.get("answer", {}), kept), place)
            for name, path in step.get("keep", {}).items():
                kept[name] = _part(answer, path)


def test_errors_of_typescript_are_the_same_tree() -> None:
    source = Path(__file__).parents[2] / "clients" / "typescript" / "src" / "errors.ts"
    there = re.findall(r"^export class (\w+) extends (\w+)", source.read_text("utf-8"), re.M)
    here = {
        name: kind.__mro__[1].__name__
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.TotonoeError)
    }
    known = dict(there)
    # Mistakes of a program, which each language has its own base for.
    assert known.pop("ClientClosed") == "Error"
    assert known.pop("InsecureConnection") == "RangeError"
    assert known == here | {"TotonoeError": "Error"}


def _given(value: Any, kept: Mapping[str, Any]) -> Any:
    """A value of the file as the client takes it, or as its answer has it."""
    if isinstance(value, str):
        return kept[value[1:]] if value.startswith("$") else value
    if isinstance(value, list):
        return [_given(item, kept) for item in value]
    if not isinstance(value, dict):
        return value
    if "$time" in value:
        return datetime.fromisoformat(value["$time"])
    if "$times" in value:
        return value["$times"] * value["text"]
    return {name: _given(item, kept) for name, item in value.items()}


def _is_error(error: errors.TotonoeError, expected: Mapping[str, str], place: str) -> None:
    found = {
        "class": type(error).__name__,
        "code": error.code,
        "reason": error.reason,
        "field": error.details.get("field", ""),
    }
    assert {name: found[name] for name in expected} == expected, place
    if "field" in expected:
        assert error.details["allowed"], place


def _holds(found: Any, expected: Any, place: str) -> None:
    """Asserts that all that is expected is so; fields that are not named may be anything."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            part = found[name] if isinstance(found, Mapping) else getattr(found, name)
            _holds(part, value, f"{place}: {name}")
    elif isinstance(expected, list):
        assert isinstance(found, Sequence), place
        assert len(found) == len(expected), place
        for index, (item, other) in enumerate(zip(found, expected, strict=True)):
            _holds(item, other, f"{place}[{index}]")
    else:
        assert found == expected, place


def _part(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name)
    return value
