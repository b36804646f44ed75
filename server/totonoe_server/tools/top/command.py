"""The command `totonoe top`: rates, latencies, queues and refusals, from the daemon's metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from totonoe_core.base import limits
from totonoe_server.tools import options
from totonoe_server.tools.top.several import SUMMARY, Figures, joined, summary

if TYPE_CHECKING:
    from rich.console import RenderableType

    from totonoe_server.life.config import Settings
    from totonoe_server.tools.top.sample import Between, Sample

FETCH_S_MAX = 5.0
FETCH_BYTES_MAX = 16 << 20
ROWS_MAX = 20
"""Rows of each table: the busiest methods, the largest collections."""


class NoMetricsError(Exception):
    """No metrics can be read. The message is one line."""


def register(app: typer.Typer) -> None:
    """Adds the command to `app`."""
    app.command("top")(top)


def top(
    metrics_address: Annotated[
        str | None,
        typer.Option(help="Where the daemon serves metrics. Default: as `serve` would."),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.2, max=3600.0, help="Seconds from one reading to the next.")
    ] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Print figures since the daemon's start, and end.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each reading.")
    ] = False,
    daemons: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.DAEMONS_PER_MACHINE_MAX,
            help="Daemons that `serve --daemons` started. Default: as `serve` would.",
        ),
    ] = None,
    config_file: options.ConfigFile = None,
) -> None:
    """Show what a daemon does: rates, latencies, queues, refusals. Ctrl-C ends it.

    The daemon must serve metrics (`--metrics-address`). Exit code 1: it does not answer. Of several
    that were started together each has a line, and the tables are of all.
    """
    from totonoe_server.life import config
    from totonoe_server.life.config_file import chosen_file

    try:
        given = {"metrics_address": metrics_address}
        settings = config.load(chosen_file(config_file), given, listens=False).settings
        urls = _urls(settings, settings.daemons if daemons is None else daemons)
        before = _all(urls)
    except (config.SettingsError, NoMetricsError, ValueError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(1) from None
    try:
        if once:
            _print(before, as_json)
        else:
            _follow(urls, before, every, as_json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except NoMetricsError as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(1) from None


def _urls(settings: Settings, count: int) -> list[str]:
    """Return where each daemon serves metrics. Raises `NoMetricsError`, `ValueError`."""
    from totonoe_server.life.config import metrics_address_of

    if not settings.metrics_address:
        raise NoMetricsError(
            "no place of metrics is known: start the daemon with --metrics-address 7767, and "
            "give the same here, or set it in the configuration file"
        )
    numbers = range(1, count + 1)
    places = [metrics_address_of(settings.metrics_address, number) for number in numbers]
    return [f"http://{place}/metrics" for place in places]


def _all(urls: Sequence[str]) -> list[Sample | None]:
    """Read the metrics of all once; `None` for one that does not answer.

    Raises `NoMetricsError` if none answers.
    """
    samples: list[Sample | None] = []
    for url in urls:
        try:
            samples.append(fetched(url))
        except NoMetricsError as error:
            samples.append(None)
            failed = error
    if not any(samples):
        raise failed
    return samples


def fetched(url: str) -> Sample:
    """Read the metrics once. Raises `NoMetricsError`."""
    from urllib.error import URLError
    from urllib.request import ProxyHandler, build_opener

    from totonoe_server.tools.top.sample import Sample

    # The daemon is near: a proxy for the web must not be asked for it.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=FETCH_S_MAX) as answer:
            return Sample.of(answer.read(FETCH_BYTES_MAX).decode("utf-8", "replace"), time.time())
    except (OSError, ValueError) as error:
        why = error.reason if isinstance(error, URLError) else error
        raise NoMetricsError(f"no metrics at {url}: {why}") from None


def _print(now: Sequence[Sample | None], as_json: bool) -> None:
    betweens = _between(now, [None] * len(now))
    if as_json:
        typer.echo(json.dumps(figures_of(betweens)))
    else:
        _console().print(view(betweens, {}))


def _between(now: Sequence[Sample | None], before: Sequence[Sample | None]) -> list[Between | None]:
    from totonoe_server.tools.top.sample import Between

    pairs = zip(now, before, strict=True)
    return [None if sample is None else Between(sample, earlier) for sample, earlier in pairs]


def _follow(
    urls: Sequence[str], before: Sequence[Sample | None], every_s: float, as_json: bool
) -> None:
    """Reads and shows until Ctrl-C. A daemon that is restarted is waited for."""
    from rich.live import Live
    from rich.text import Text

    seen: dict[str, float] = {}
    with Live(
        Text("reading ..."), console=_console(), auto_refresh=False, screen=not as_json
    ) as live:
        while True:
            time.sleep(every_s)
            try:
                now = _all(urls)
            except NoMetricsError as error:
                if as_json:
                    raise
                live.update(Text(f"{error}; trying again"), refresh=True)
                continue
            betweens = _between(now, before)
            for between in filter(None, betweens):
                for reason in between.now.labels("totonoe_refused_total", "reason"):
                    if between.more("totonoe_refused_total", reason=reason) > 0:
                        seen[reason] = between.now.time_s
            if as_json:
                print(json.dumps(figures_of(betweens)), flush=True)
            else:
                live.update(view(betweens, seen), refresh=True)
            before = now


def _console() -> Any:
    from totonoe.cli.printing import console

    return console()


def figures_of(betweens: Sequence[Between | None]) -> Figures:
    """Return what is shown, as JSON; of several daemons with the figures of each in `daemons`.

    `None` is a daemon that does not answer; one answers at least.
    """
    parts = [None if between is None else figures(between) for between in betweens]
    if len(parts) == 1 and parts[0] is not None:
        return parts[0]
    each = [
        {"daemon": number, "answers": part is not None, **(part or {})}
        for number, part in enumerate(parts, 1)
    ]
    return {**joined([part for part in parts if part is not None]), "daemons": each}


def figures(between: Between) -> Figures:
    """Return the figures of one daemon."""
    now, seconds = between.now, between.seconds()
    return {
        "seconds": round(seconds, 3),
        "version": next((labels["version"] for labels, _ in now.all("totonoe_info")), ""),
        "uptime_s": round(now.uptime_s(), 1),
        "cpu_share": round(between.more("process_cpu_seconds_total") / seconds, 4),
        "rss_bytes": int(now.one("process_resident_memory_bytes")),
        "disk_free_bytes": int(now.one("totonoe_disk_free_bytes")),
        "expires_in_s": {
            labels["what"]: round(end_s - now.time_s)
            for labels, end_s in now.all("totonoe_expiry_time_seconds")
        },
        "embed_queue": int(now.one("totonoe_embed_queue")),
        "embed_p99_ms": _ms(between, "totonoe_embed_seconds", 0.99),
        "commit_p99_ms": _ms(between, "totonoe_commit_seconds", 0.99),
        "commit_operations_mean": round(
            between.more("totonoe_commit_operations_sum")
            / max(1.0, between.more("totonoe_commit_operations_count")),
            2,
        ),
        "methods": _methods(between, seconds),
        "refused": [
            {
                "reason": reason,
                "count": int(now.one("totonoe_refused_total", reason=reason)),
                "per_s": round(between.more("totonoe_refused_total", reason=reason) / seconds, 3),
            }
            for reason in now.labels("totonoe_refused_total", "reason")
        ],
        "collections": _collections(now),
    }


def _methods(between: Between, seconds: float) -> list[dict[str, Any]]:
    """The figures of each method, the busiest first."""
    now, name = between.now, "totonoe_rpc_seconds"
    found = []
    for method in now.labels("totonoe_rpc_in_flight", "method"):
        count = between.more(f"{name}_count", method=method)
        good_count = between.more(f"{name}_count", method=method, code="OK")
        found.append(
            {
                "method": method,
                "per_s": round(count / seconds, 3),
                "failed_per_s": round((count - good_count) / seconds, 3),
                "p50_ms": _ms(between, name, 0.5, method=method),
                "p99_ms": _ms(between, name, 0.99, method=method),
                "in_flight": int(now.one("totonoe_rpc_in_flight", method=method)),
            }
        )
    return sorted(found, key=lambda row: -row["per_s"])


def _collections(now: Sample) -> list[dict[str, Any]]:
    """The figures of each collection, the largest first."""
    found = [
        {
            "collection": name,
            "active_count": int(now.one("totonoe_memories", collection=name, status="active")),
            "file_bytes": int(now.one("totonoe_file_bytes", collection=name)),
            "queue_length": int(now.one("totonoe_writer_queue", collection=name)),
            "writable": bool(now.one("totonoe_writable", collection=name)),
        }
        for name in now.labels("totonoe_writer_queue", "collection")
    ]
    return sorted(found, key=lambda row: -row["file_bytes"])


def _ms(between: Between, name: str, share: float, **where: str) -> float:
    return round(between.quantile(name, share, **where) * 1000, 2)


def view(betweens: Sequence[Between | None], seen: dict[str, float]) -> RenderableType:
    """Draw the figures. `seen` is the time at which each reason of refusals last grew."""
    from rich.console import Group
    from rich.text import Text

    shown = figures_of(betweens)
    now_s = max(between.now.time_s for between in betweens if between is not None)
    each = [
        summary(daemon["daemon"], daemon if daemon["answers"] else None)
        for daemon in shown.get("daemons", ())
    ]
    head = (
        f"totonoe {shown['version']}, up {shown['uptime_s']:.0f} s; over {shown['seconds']:.1f} s: "
        f"CPU {shown['cpu_share']:.0%}, memory {_mb(shown['rss_bytes'])}, "
        f"disk {_mb(shown['disk_free_bytes'])} free\n"
        f"commit p99 {shown['commit_p99_ms']:g} ms, {shown['commit_operations_mean']:g} operations "
        f"each; embed p99 {shown['embed_p99_ms']:g} ms, {shown['embed_queue']} texts wait\n"
        + "".join(_expiry(what, left_s) for what, left_s in sorted(shown["expires_in_s"].items()))
    )
    methods = _table(
        ("method", "calls/s", "failed/s", "p50 ms", "p99 ms", "now"),
        [[f"{value:g}" if key != "method" else value for key, value in row.items()]
         for row in shown["methods"]],
    )  # fmt: skip
    refused = _table(
        ("refused", "count", "per s", "last"),
        [
            [row["reason"], str(row["count"]), f"{row['per_s']:g}", _ago(now_s, seen, row)]
            for row in shown["refused"]
        ],
    )
    collections = _table(
        ("collection", "active", "file", "queue", ""),
        [
            [
                row["collection"],
                str(row["active_count"]),
                _mb(row["file_bytes"]),
                str(row["queue_length"]),
                "" if row["writable"] else "read-only",
            ]
            for row in shown["collections"]
        ],
    )
    above = [_table(SUMMARY, each), Text()] if each else []
    return Group(Text(head), *above, methods, Text(), refused, Text(), collections)


def _expiry(what: str, left_s: float) -> str:
    name, days = what.replace("_", " "), abs(left_s) / 86_400
    return f"{name}: " + (f"expires in {days:.1f} days\n" if left_s > 0 else "has expired\n")


def _table(columns: tuple[str, ...], rows: list[list[str]]) -> RenderableType:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    for row in rows[:ROWS_MAX]:
        table.add_row(*row)
    return table


def _ago(now_s: float, seen: dict[str, float], row: Figures) -> str:
    last_s = seen.get(row["reason"])
    return "" if last_s is None else f"{now_s - last_s:.0f} s ago"


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"
