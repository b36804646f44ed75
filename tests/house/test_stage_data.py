"""The public texts of `totonoe quality --stage` are well formed, and nothing is fitted on them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from bench.judge import data

ROOT = Path(__file__).parents[2]
STAGE = ROOT / "bench" / "stage"
CARD = (STAGE / "README.md").read_text("utf-8")
GROUPS = data.groups(STAGE / "groups")
CHAINS = [row for path in sorted((STAGE / "chains").glob("*.jsonl")) for row in data.rows(path)]
ROLES = {
    "changing": {"old", "now"},
    "restated": {"old", "now"},
    "compatible": {"now", "true"},
    "claim": {"now", "claim"},
    "conditional": {"now", "true"},
    "distractor": {"now", "other"},
}
SAVED = ("asked", "shown")
MEASURES = "server/totonoe_server/tools/quality/"
"""Where modules may name the folder: what measures, and never what fits."""


def texts(groups: list[data.Group]) -> set[str]:
    return {
        text for group in groups for text in (*group.same, *(text for text, *_ in group.different))
    }


def test_groups_are_well_formed_and_as_many_as_the_card_says() -> None:
    for path in sorted((STAGE / "groups").glob("*.jsonl")):
        for number, row in enumerate(data.rows(path), 1):
            where = f"{path.name}:{number}"
            assert list(row) == ["lang", "topic", "same", "different"], where
            assert row["lang"] == path.stem, where
            assert 3 <= len(row["same"]) <= 5, where
            assert 4 <= len(row["different"]) <= 6, where
            assert all(set(other) == {"text", "kind", "relation"} for other in row["different"]), (
                where
            )
            assert {other["relation"] for other in row["different"]} <= set("xcmlu"), where
            said = [*row["same"], *(other["text"] for other in row["different"])]
            assert len(set(said)) == len(said), f"{where}: a text twice"
            assert all(text == text.strip() and text for text in said), where
    counts = Counter(group.language for group in GROUPS)
    assert f"| {len(GROUPS)}: " + ", ".join(f"{n} {lang}" for lang, n in counts.most_common()) in (
        CARD
    )
    pairs = [
        sum(len(group.same) * (len(group.same) - 1) // 2 for group in GROUPS),
        sum(len(group.same) * len(group.different) for group in GROUPS),
    ]
    assert "{:,} and {:,} pairs".format(*pairs) in CARD


def test_chains_are_well_formed_and_as_many_as_the_card_says() -> None:
    for row in CHAINS:
        where = row["topic"]
        assert list(row) == ["lang", "topic", "kind", "question", "notes"], where
        roles = [note["role"] for note in row["notes"]]
        assert set(roles) <= ROLES[row["kind"]] and "now" in roles, where
        assert len(roles) >= 2 and row["question"], where
        if row["kind"] in ("changing", "restated"):
            assert roles == ["old"] * (len(roles) - 1) + ["now"], where
        if row["kind"] == "claim":
            assert roles == ["now", "claim"], where
    assert len({row["topic"] for row in CHAINS}) == len(CHAINS)
    kinds = Counter(row["kind"] for row in CHAINS)
    assert all(f"| {kind} | {n} |" in CARD for kind, n in kinds.items())
    counts = Counter(row["lang"] for row in CHAINS)
    assert f"| {len(CHAINS)}: " + ", ".join(f"{n} {lang}" for lang, n in counts.most_common()) in (
        CARD
    )


def test_no_topic_and_no_text_is_one_that_something_is_fitted_on() -> None:
    learned = data.groups()
    pairs = [row for path in (data.HERE / "pairs").glob("*.jsonl") for row in data.rows(path)]
    known = texts(learned) | {text for row in pairs for text in (row["a"], row["b"])}
    assert len(known) > 50_000
    assert not known & texts(GROUPS)
    assert not known & {note["text"] for row in CHAINS for note in row["notes"]}
    assert not {group.topic for group in learned} & {group.topic for group in GROUPS}


def test_judge_reads_nothing_of_the_stage() -> None:
    assert not {group.file for group in data.groups()} & {
        path.stem for path in STAGE.rglob("*.jsonl")
    }
    assert data.HERE.name == "judge"
    read = {path.resolve() for path in (data.HERE / "groups").glob("*.jsonl")}
    assert read and not any(STAGE in path.parents for path in read)


def test_page_has_the_figures_of_the_report_that_lies_beside() -> None:
    page = (ROOT / "docs" / "quality.md").read_text("utf-8").replace("**totonoe**", "totonoe")
    report = json.loads((ROOT / "bench" / "results" / "stage.json").read_text("utf-8"))
    assert report["groups"]["n"] == len(GROUPS)
    assert report["chains"]["n"] == len(CHAINS)
    for guard in report["groups"]["guards"]:
        [row] = [line for line in page.splitlines() if line.startswith(f"| {guard['name']} | ")][:1]
        same = f"| {100 * guard['refused']['same']:.1f} | "
        assert same in row, guard["name"]
        if guard["name"].startswith("totonoe"):
            merged = round(guard["refused"]["different"] * guard["n_different"])
            assert f"({merged} of {guard['n_different']:,})" in row
            said = [guard[what][label] for label in ("same", "different") for what in SAVED]
            assert row.endswith(" | ".join(f"{100 * share:.1f}" for share in said) + " |")
        else:
            assert row.startswith(
                f"| {guard['name']} | {100 * guard['refused']['different']:.1f} |"
            )
    for system in report["chains"]["systems"]:
        every = [system, *system["by_kind"].values()]
        assert list(system["by_kind"]) and all(kind in ROLES for kind in system["by_kind"])
        cells = [
            f"{100 * part['first']:.0f} / {100 * part['first_unmarked']:.0f}" for part in every
        ]
        [row] = [
            line
            for line in page.splitlines()
            if line.startswith(f"| {system['name']} | ") and " / " in line
        ]
        assert sorted(cells) == sorted(re.findall(r"\d+ / \d+", row)), system["name"]


def test_nothing_that_fits_names_the_folder() -> None:
    names = re.compile(r"bench[./]stage|stage[./](groups|chains)|quality\.stage")
    found = set()
    for folder in ("core", "server", "clients", "bench"):
        for path in (ROOT / folder).rglob("*.py"):
            if {STAGE, ROOT / "clients" / "typescript"} & {*path.parents}:
                continue
            if names.search(path.read_text("utf-8")):
                found.add(path.relative_to(ROOT).as_posix())
    assert {name for name in found if not name.startswith(MEASURES)} == set()
