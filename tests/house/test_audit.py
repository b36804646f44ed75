"""`make audit` against a service that is not there: what it asks, prints and ends with."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.message import Message
from typing import Any

import httpx
import pytest

from deploy.release import audit
from deploy.release.audit import Pin, pins, report
from deploy.release.licences import Kind, expression, kind
from deploy.release.locks import BUILD, LOCKS, read, read_lock

PIN = Pin("httpx", "0.28.1", ("server",), True)
TOOL = Pin("setuptools", "84.0", ("build",), False)


def service(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.Client:
    return httpx.Client(base_url="https://osv.example", transport=httpx.MockTransport(answer))


def batch(*results: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json={"results": list(results)})


def test_no_known_vulnerability_is_no_finding_and_each_version_is_asked_for_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path, json.loads(request.content)))
        return batch({}, {})

    assert report([PIN, TOOL], service(answer)) == 0
    package = {"name": "httpx", "ecosystem": "PyPI"}
    ((method, path, body),) = asked
    assert (method, path) == ("POST", "/v1/querybatch")
    assert body["queries"][0] == {"package": package, "version": "0.28.1"}
    assert len(body["queries"]) == 2
    out = capsys.readouterr().out
    assert "httpx       0.28.1  BSD-3-Clause  [server]\n" in out
    assert "known vulnerabilities of 2 versions: 0" in out
    assert out.endswith("0 findings\n")


def test_vulnerability_is_named_with_its_version_and_a_withdrawn_one_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = {
        "PYSEC-1": {"aliases": ["CVE-2026-1"], "summary": "Reads\n too much"},
        "PYSEC-2": {"withdrawn": "2026-01-01T00:00:00Z"},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=records[request.url.path.rpartition("/")[2]])
        (asked,) = json.loads(request.content)["queries"]
        if "page_token" in asked:
            return batch({"vulns": [{"id": "PYSEC-2"}]})
        return batch({"vulns": [{"id": "PYSEC-1"}], "next_page_token": "more"})

    assert report([PIN], service(answer)) == 1
    out = capsys.readouterr().out
    assert "FOUND httpx 0.28.1: PYSEC-1 CVE-2026-1: Reads too much\n" in out
    assert "PYSEC-2" not in out


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(503),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"results": []}),
        httpx.Response(200, json={"results": [None]}),
        httpx.Response(200, json={"results": [{"next_page_token": "for ever"}]}),
        None,
    ],
    ids=["503", "html", "list", "too few", "null", "for ever", "unreachable"],
)
def test_no_usable_answer_is_not_audited_and_no_finding(
    response: httpx.Response | None, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if response is None:
            raise httpx.ConnectError("no route", request=request)
        return response

    assert report([PIN], service(answer)) == 0
    out = capsys.readouterr().out
    assert "known vulnerabilities: *not audited*: no answer from https://osv.example" in out


def test_licence_of_copyleft_or_unknown_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = [Pin("not-installed-anywhere", "1", ("client",), True), PIN]
    monkeypatch.setattr(audit, "expression", lambda *_: "GPL-3.0-only")
    assert report(strange, service(lambda _: batch({}, {}))) == 2
    out = capsys.readouterr().out
    assert "FOUND not-installed-anywhere 1: unknown licence: not installed here\n" in out
    assert "FOUND httpx 0.28.1: copyleft licence: GPL-3.0-only\n" in out


@pytest.mark.parametrize(
    ("stated", "judged"),
    [
        ("MIT", Kind.PERMISSIVE),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", Kind.PERMISSIVE),
        ("GPL-2.0-only OR MIT", Kind.PERMISSIVE),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", Kind.WEAK_COPYLEFT),
        ("MIT AND (LGPL-3.0-or-later OR GPL-2.0-only)", Kind.COPYLEFT),
        ("GPL-2.0-only WITH Classpath-exception-2.0 AND MIT", Kind.COPYLEFT),
        ("MIT AND LicenseRef-Other/Proprietary License", Kind.UNKNOWN),
        ("(MIT", Kind.UNKNOWN),
        ("MIT)", Kind.UNKNOWN),
        ("none stated", Kind.UNKNOWN),
        ("", Kind.UNKNOWN),
    ],
)
def test_expression_is_judged_by_its_strictest_part_that_must_be_taken(
    stated: str, judged: Kind
) -> None:
    assert kind(stated) is judged


@pytest.mark.parametrize(
    ("fields", "stated"),
    [
        ({"License-Expression": "MIT"}, "MIT"),
        ({"License": "Apache License, Version 2.0"}, "Apache-2.0"),
        ({"License": "mit or apache-2.0"}, "MIT OR Apache-2.0"),
        ({"License": "Copyright, all of it", "Classifier": "MIT License"}, "MIT"),
        ({"Classifier": "Other License"}, "LicenseRef-Other License"),
        ({}, ""),
    ],
)
def test_licence_is_read_from_the_fields_of_old_and_new_metadata(
    fields: dict[str, str], stated: str
) -> None:
    message = Message()
    for name, value in fields.items():
        prefix = "License :: OSI Approved :: " if name == "Classifier" else ""
        message[name] = prefix + value
    assert expression("some-package", message) == stated  # type: ignore[arg-type]


def test_each_version_of_each_lock_is_audited_once() -> None:
    found = [(pin.name, pin.version) for pin in pins()]
    assert len(found) == len(set(found))
    assert set(found) == {(o.name, o.version) for lock in (*LOCKS, BUILD) for o in read_lock(lock)}
    assert all(not pin.used for pin in pins() if pin.locks == (BUILD,))


@pytest.mark.parametrize(
    ("marker", "expected"),
    [("", True), ("; sys_platform == 'win32'", False), ("; python_version >= '3.13'", True)],
)
def test_pin_for_other_systems_is_known_as_such(marker: str, expected: bool) -> None:
    (one,) = read(f"colorama==0.4.6 {marker} --hash=sha256:{'0' * 64}\n")
    assert audit.supported(one) is expected


def test_unreachable_service_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "pins", lambda: [PIN])
    assert audit.main(["--service", "http://127.0.0.1:1"]) == 0
    out = capsys.readouterr().out
    assert "*not audited*: no answer from http://127.0.0.1:1: ConnectError" in out
