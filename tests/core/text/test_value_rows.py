"""Rows that find values: each has examples, and each is needed by one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from totonoe_core.text.reading.values.find import GROUPS, Value, find_by, find_values
from totonoe_core.text.reading.values.rows import Row, Rules, all_rows

EXAMPLES = Path(__file__).parents[2] / "data" / "values.txt"
ROWS = list(all_rows(GROUPS))


def read_examples() -> dict[str, list[tuple[str, str, str]]]:
    """Return language, text and values of each example, by the name of its row."""
    examples: dict[str, list[tuple[str, str, str]]] = {}
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = examples.setdefault(line[1:-1], [])
        elif not line.startswith("# "):
            language, text, values = line.split(" | ")
            rows.append((language, text, values))
    return examples


def shown(values: tuple[Value, ...]) -> str:
    return "; ".join(f"{value.type.name.lower()} {value.key}" for value in values)


def test_each_row_has_its_own_name_and_examples() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(read_examples()) == set(names)


def test_values_of_the_examples_are_those_that_stand_beside_them() -> None:
    wrong = [
        (text, shown(find_values(text, language)))
        for rows in read_examples().values()
        for language, text, values in rows
        if shown(find_values(text, language)) != values
    ]
    assert wrong == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_without_a_row_one_of_its_examples_is_read_in_another_way(row: Row) -> None:
    without = {
        group: tuple(kept for kept in rows if kept is not row) for group, rows in GROUPS.items()
    }
    assert any(
        find_by(Rules(language, without), text) != find_values(text, language)
        for language, text, _ in read_examples()[row.name]
    )
