"""`make audit`: licences and known vulnerabilities of all that the lock files pin.

Licences are those of the installed packages. Vulnerabilities come from OSV, which also covers what
is locked for other Pythons and systems. It ends with 1 if something was found: a vulnerability, or
a licence that is copyleft or unknown. If OSV does not answer it prints *not audited*; that is no
finding, and no pass either.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

import httpx

from deploy.release.licences import Kind, expression, kind
from deploy.release.locks import BUILD, LOCKS, Locked, environments, read_lock

SERVICE = "https://api.osv.dev"
SERVICE_TIMEOUT_S = 30.0
NOT_USED = "only to build with, or on other systems"
BATCH_MAX = 500
"""Packages of one request; OSV takes a thousand."""
REQUESTS_MAX = 20
"""Batches, and further pages of them."""
FOUND_MAX = 200
"""Vulnerabilities whose descriptions are fetched; the others are named by their ids."""


class NotAuditedError(Exception):
    """Nobody knows whether there are vulnerabilities: the service gave no usable answer."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A version that a lock names."""

    name: str
    version: str
    locks: tuple[str, ...]
    used: bool
    """Whether it is installed on a system that we support, and not only to build with."""


def pins() -> list[Pin]:
    """List what all locks name, each version once."""
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for lock in (*LOCKS, BUILD):
        for item in read_lock(lock):
            found.setdefault((item.name, item.version), {})[lock] = lock != BUILD and supported(
                item
            )
    return [Pin(*key, tuple(locks), any(locks.values())) for key, locks in sorted(found.items())]


def supported(one: Locked) -> bool:
    """Whether a pin is for one of our Pythons and systems."""
    return one.marker is None or any(map(one.marker.evaluate, environments()))


def licence(pin: Pin) -> tuple[str, Kind]:
    """Return what the installed package of a name states; its version may differ from the pin."""
    try:
        metadata = distribution(pin.name).metadata
    except PackageNotFoundError:
        return "not installed here", Kind.UNKNOWN
    stated = expression(pin.name, metadata)
    return stated or "none stated", kind(stated)


def vulnerabilities(wanted: Sequence[Pin], client: httpx.Client) -> list[str]:
    """Return a line for each known vulnerability of some pins.

    Raises
    ------
    NotAuditedError
        The service cannot be reached or its answer cannot be read.
    """
    try:
        affected = identified(wanted, client)
        lines = []
        for place, name in enumerate(sorted(affected)):
            text = described(name, client) if place < FOUND_MAX else name
            lines += [f"{pin.name} {pin.version}: {text}" for pin in affected[name] if text]
        return lines
    except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotAuditedError(f"{client.base_url}: {type(error).__name__}") from error


def identified(wanted: Sequence[Pin], client: httpx.Client) -> dict[str, list[Pin]]:
    """Return the ids of the vulnerabilities, each with the pins that have it."""
    found: dict[str, list[Pin]] = {}
    waiting = [(pin, query(pin)) for pin in wanted]
    for _ in range(REQUESTS_MAX):
        batch, waiting = waiting[:BATCH_MAX], waiting[BATCH_MAX:]
        answer = client.post("/v1/querybatch", json={"queries": [asked for _, asked in batch]})
        results = answer.raise_for_status().json()["results"]
        for (pin, asked), result in zip(batch, results, strict=True):
            for item in result.get("vulns", []):
                found.setdefault(item["id"], []).append(pin)
            if token := result.get("next_page_token"):
                waiting.append((pin, {**asked, "page_token": token}))
        if not waiting:
            return found
    raise ValueError(f"more than {REQUESTS_MAX} requests")


def query(pin: Pin) -> dict[str, object]:
    """Return OSV's question about one version."""
    return {"package": {"name": pin.name, "ecosystem": "PyPI"}, "version": pin.version}


def described(name: str, client: httpx.Client) -> str:
    """Return the ids and the summary of a vulnerability; "" if it was withdrawn."""
    record = client.get(f"/v1/vulns/{name}").raise_for_status().json()
    if "withdrawn" in record:
        return ""
    summary = " ".join(str(record.get("summary", "no summary")).split())
    return f"{' '.join([name, *record.get('aliases', [])])}: {summary}"


def report(wanted: Sequence[Pin], client: httpx.Client) -> int:
    """Print licences and vulnerabilities; return how many findings there are."""
    found = []
    names, versions = (max(len(getattr(pin, key)) for pin in wanted) for key in ("name", "version"))
    for pin in wanted:
        stated, judged = licence(pin) if pin.used else (NOT_USED, Kind.PERMISSIVE)
        place = f"{pin.name.ljust(names)}  {pin.version.ljust(versions)}"
        weak = " (weak copyleft, used unchanged)" if judged is Kind.WEAK_COPYLEFT else ""
        print(f"{place}  {stated}{weak}  [{', '.join(pin.locks)}]")
        if judged >= Kind.COPYLEFT:
            reason = judged.name.lower().replace("_", " ")
            found.append(f"{pin.name} {pin.version}: {reason} licence: {stated}")
    try:
        lines = vulnerabilities(wanted, client)
        print(
            f"\nknown vulnerabilities of {len(wanted)} versions: {len(lines)} ({client.base_url})"
        )
        found += lines
    except NotAuditedError as error:
        print(f"\nknown vulnerabilities: *not audited*: no answer from {error}")
    for line in found:
        print(f"FOUND {line}")
    print(f"{len(found)} findings")
    return len(found)


def main(arguments: Sequence[str]) -> int:
    """Audit; return the exit status."""
    parser = argparse.ArgumentParser(prog="make audit", description="Audits deploy/locks.")
    parser.add_argument("--service", default=SERVICE, help=f"address of OSV's API ({SERVICE})")
    options = parser.parse_args(arguments)
    with httpx.Client(base_url=options.service, timeout=SERVICE_TIMEOUT_S) as client:
        return int(report(pins(), client) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
