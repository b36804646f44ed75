"""The stage's figures for people."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from totonoe_server.tools.quality.stage.guards import ASKED, REFUSED, SHOWN
from totonoe_server.tools.quality.tables import console, percent, table

_KINDS = ("changing", "restated", "compatible", "claim", "conditional", "distractor")
_SAVED = (ASKED, SHOWN)


def show(report: dict[str, Any]) -> None:
    """Print one table of the guards, and one of the current values."""
    out = console()
    out.print(f"embedder {report['embedder']}, judge {report['judge']}")
    out.print(guards(report["groups"]))
    out.print(chains(report["chains"]))


def guards(groups: dict[str, Any]) -> Table:
    """Return the table of the groups."""
    first = groups["guards"][0]
    made = table(
        f"{groups['n']} groups: {first['n_same']:,} restatements, {first['n_different']:,} look-"
        "alikes",
        (
            *("guard", "false merges", "restatements refused", "asked", "shown"),
            *("look-alikes asked", "shown"),
        ),
    )
    for group in groups["guards"]:
        made.add_row(
            group["name"],
            *(percent(group[REFUSED][label]) for label in ("different", "same")),
            *(percent(group[what][label]) for label in ("same", "different") for what in _SAVED),
        )
    return made


def chains(found: dict[str, Any]) -> Table:
    """Return the table of the chains."""
    kinds = [kind for kind in _KINDS if kind in found["systems"][0]["by_kind"]]
    made = table(
        f"{found['n']} chains: the first hit is current / the first that is not marked",
        ("memory", "all", *kinds, "old: hidden, marked", "true: hidden, marked"),
    )
    for system in found["systems"]:
        made.add_row(
            system["name"],
            _both(system, "first", "first_unmarked"),
            *(_both(system["by_kind"][kind], "first", "first_unmarked") for kind in kinds),
            _both(system, "old_hidden", "old_marked", ", "),
            _both(system, "true_hidden", "true_marked", ", "),
        )
    return made


def _both(part: dict[str, Any], one: str, other: str, between: str = " / ") -> str:
    return between.join(f"{100 * (part[name] or 0.0):.0f}" for name in (one, other)) + " %"
