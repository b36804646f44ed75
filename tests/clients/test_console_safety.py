"""Who gets into the console, and what every answer of it carries."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from support.consoles import HOST, ORIGIN, Answer, ConsoleRun, console
from support.scripted import scripted
from totonoe.cli.main import app as command_line
from totonoe.console import gate, limits, serving
from totonoe.console.app import HTMX_SHA256
from totonoe.console.pages import health, memory, review, search, timeline
from totonoe.console.sessions import Logins, Sessions
from totonoe.console.settings import state_dir

MODULES = (review, memory, search, timeline, health)
ROUTES = [(method, path) for module in MODULES for method, path, _ in module.ROUTES]
FORMS = sorted({path for method, path in ROUTES if method == "POST"} | {"/logout", "/keys"})
FORM_TYPE = ("content-type", "application/x-www-form-urlencoded")


def real(path: str) -> str:
    return path.replace("{memory_id}", "mem_1").replace("{revision}", "1")


class Time:
    """A clock that a test sets."""

    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def page(tmp_path: Path, time: Time) -> Iterator[ConsoleRun]:
    """A console whose daemon answers no call, and a browser that is not signed in."""
    with scripted() as address, console(address, tmp_path, Sessions(time)) as found:
        yield found


@pytest.fixture
def inside(page: ConsoleRun) -> ConsoleRun:
    """A browser that is signed in."""
    return page.sign_in()


def is_hardened(answer: Answer) -> bool:
    """Whether an answer carries every header once."""
    said = {(name.decode(), value.decode()) for name, value in gate.HEADERS}
    names = [name for name, _ in answer.headers]
    return said <= set(answer.headers) and len(set(names)) == len(names)


# -- the login


def test_token_lets_one_browser_in_once(page: ConsoleRun) -> None:
    token = page.logins.make()
    assert len(token) == 43 and page.logins.make() != token
    assert page.post("/login", {"t": token}).status == 303
    again = page.other().post("/login", {"t": token})
    assert again.status == 403 and not again.header("set-cookie")
    assert "has been used, or is older than 60 seconds" in again.text
    assert "totonoe console --url" in again.text


@pytest.mark.parametrize(("age_s", "lets_in"), [(59, True), (61, False), (-10, False)])
def test_token_lets_in_for_60_seconds(tmp_path: Path, age_s: float, lets_in: bool) -> None:
    clock = Time()
    logins = Logins(tmp_path / "logins", clock)
    token = logins.make()
    clock.now_s += age_s
    assert logins.use(token) is lets_in
    assert not logins.use(token)


@pytest.mark.parametrize("token", ["", "x" * 43, "../../etc/passwd", "a" * 64, "\u00e4" * 43])
def test_other_tokens_let_nobody_in(page: ConsoleRun, token: str) -> None:
    page.logins.make()
    assert page.post("/login", {"t": token}).status == 403


def test_only_hashes_of_tokens_are_stored_and_only_for_their_owner(tmp_path: Path) -> None:
    folder = tmp_path / "logins"
    logins = Logins(folder)
    tokens = [logins.make() for _ in range(limits.LOGINS_MAX + 3)]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    held = {path.name for path in folder.iterdir()}
    assert len(held) == limits.LOGINS_MAX
    assert held <= {hashlib.sha256(token.encode()).hexdigest() for token in tokens}
    assert all(not path.read_bytes() for path in folder.iterdir())


def test_login_is_a_form_that_needs_no_script(page: ConsoleRun) -> None:
    answer = page.get("/login")
    assert re.search(r'<form method="post" action="/login">.*name="t"', answer.body, re.S)
    script = page.get("/static/login.js").body
    assert len([line for line in script.splitlines() if not line.startswith("//")]) <= 5


def test_cookie_is_of_this_port_and_for_the_server_alone(page: ConsoleRun) -> None:
    cookie = page.post("/login", {"t": page.logins.make()}).header("set-cookie")
    name, *said = cookie.split("; ")
    assert re.fullmatch(r"totonoe_console_7768=[\w-]{43}", name)
    assert {text.lower() for text in said} == {
        "httponly",
        "samesite=strict",
        "path=/",
        "max-age=43200",
    }


def test_session_ends_after_12_hours(inside: ConsoleRun, time: Time) -> None:
    time.now_s += 12 * 3600 - 1
    assert inside.get("/login").status == 200
    assert inside.get("/nowhere").status == 404
    time.now_s += 1
    assert inside.get("/nowhere").status == 401


def test_signing_out_ends_the_session(inside: ConsoleRun) -> None:
    answer = inside.post("/logout", {"csrf": inside.csrf_of_session()})
    assert "You are signed out" in answer.text
    assert "Max-Age=0" in answer.header("set-cookie")
    assert inside.get("/nowhere").status == 401


def test_session_of_another_process_is_unknown(inside: ConsoleRun, tmp_path: Path) -> None:
    with scripted() as address, console(address, tmp_path) as other:
        other.cookie = inside.cookie
        assert other.get("/nowhere").status == 401


def test_the_oldest_session_ends_when_there_are_too_many(time: Time) -> None:
    sessions = Sessions(time)
    opened = [sessions.open() for _ in range(limits.SESSIONS_MAX + 1)]
    assert opened[0].ended and sessions.find(opened[0].id) is None
    assert all(sessions.find(session.id) is session for session in opened[1:])


# -- before anything is routed


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("target", ["/", "/login", "/static/console.js", "/nowhere"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:7768.evil.example",
        f"{HOST}@evil.example",
        "[::1]:7768",
        "",
    ],
)
def test_foreign_host_is_refused(inside: ConsoleRun, method: str, target: str, host: str) -> None:
    headers = [("host", host), ("origin", ORIGIN), FORM_TYPE]
    answer = inside.send(method, target, b"", headers)
    assert answer.status == 421 and is_hardened(answer)
    assert not answer.header("set-cookie")


@pytest.mark.parametrize("hosts", [[], [HOST, HOST], [HOST, "evil.example"]])
def test_host_is_said_once(inside: ConsoleRun, hosts: list[str]) -> None:
    assert inside.send("GET", "/login", b"", [("host", host) for host in hosts]).status == 421


@pytest.mark.parametrize("host", [HOST, "localhost:7768", "LOCALHOST:7768"])
def test_own_hosts_answer(page: ConsoleRun, host: str) -> None:
    assert page.send("GET", "/login", b"", [("host", host)]).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/x/../login",
        "/static/../login",
        "/static/../../settings.py",
        "/static/%2e%2e/login",
        "/static//console.js",
        "//evil.example/",
        "/./login",
        "/login/",
        "/login%00",
        "/login\\",
        "/lo%67in",
        "http://evil.example/login",
        "*",
        "",
    ],
)
@pytest.mark.parametrize("signed_in", [False, True])
def test_path_that_is_not_in_its_plain_form_is_refused(
    page: ConsoleRun, path: str, signed_in: bool
) -> None:
    if signed_in:
        page.sign_in()
    answer = page.get(path)
    assert answer.status == 400 and is_hardened(answer)


def test_path_that_a_server_parsed_otherwise_is_refused(page: ConsoleRun) -> None:
    """A server unescapes the path; routing sees what the guard saw."""
    scope_path = page.send("GET", "/login", raw_path=b"/static/%2e%2e/login")
    assert scope_path.status == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"])
def test_other_methods_are_refused(inside: ConsoleRun, method: str) -> None:
    assert inside.send(method, "/").status == 405


def test_everything_but_the_login_and_files_asks_to_sign_in(page: ConsoleRun) -> None:
    for method, path in ROUTES:
        answer = page.post(real(path), {}) if method == "POST" else page.get(real(path))
        assert answer.status == 401 and "Sign in first" in answer.text, (method, path)
        assert is_hardened(answer)
    assert page.get("/static/console.css").status == 200


@pytest.mark.parametrize("name", ["app.py", "nothing", "console.css.map", "htmx.min.js.map"])
def test_no_other_file_is_served(page: ConsoleRun, name: str) -> None:
    assert page.get(f"/static/{name}").status == 404


def test_files_carry_the_type_of_their_kind(page: ConsoleRun) -> None:
    assert page.get("/static/console.css").header("content-type") == "text/css; charset=utf-8"
    script = page.get("/static/htmx.min.js")
    assert script.header("content-type") == "text/javascript; charset=utf-8"


# -- forms


@pytest.mark.parametrize("path", FORMS)
def test_no_form_is_taken_as_a_get(inside: ConsoleRun, path: str) -> None:
    """The addresses that have a page of their own show it, and change nothing."""
    answer = inside.get(real(path))
    own = ("GET", path) in ROUTES
    # The scripted daemon answers UNIMPLEMENTED to a page that reads.
    assert answer.status in ((400, 501) if own else (405,)), answer.text


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("origin", lambda form: form.update(origin="https://evil.example")),
        ("another port", lambda form: form.update(origin="http://127.0.0.1:8000")),
        ("null alone", lambda form: form.update(origin="null", sec_fetch_site="")),
        ("sandbox", lambda form: form.update(origin="null", sec_fetch_site="cross-site")),
        ("null of this site", lambda form: form.update(origin="null", sec_fetch_site="same-site")),
        ("no origin", lambda form: form.update(origin="")),
        ("cross site", lambda form: form.update(sec_fetch_site="cross-site")),
        ("same site", lambda form: form.update(sec_fetch_site="same-site")),
    ],
)
def test_form_of_another_page_is_refused(
    inside: ConsoleRun, path: str, name: str, change: Callable[[dict[str, str]], None]
) -> None:
    headers: dict[str, str] = {}
    change(headers)
    answer = inside.post(real(path), {"csrf": inside.csrf_of_session()}, **headers)
    assert (answer.status, answer.text) == (403, "A form is taken from this page only."), name
    assert is_hardened(answer)


@pytest.mark.parametrize("path", FORMS)
def test_form_without_the_word_of_the_session_is_refused(inside: ConsoleRun, path: str) -> None:
    word = inside.csrf_of_session()
    for fields in ({}, {"csrf": ""}, {"csrf": word[:-1]}, {"csrf": [word, word]}, {"csrf": "ä"}):
        answer = inside.post(real(path), fields)
        assert (answer.status, answer.text) == (
            403,
            "The form is not of this session: load the page again.",
        )


def test_word_of_another_session_is_refused(inside: ConsoleRun) -> None:
    other = inside.other().sign_in()
    answer = inside.post("/keys", {"csrf": other.csrf_of_session(), "keys": "off"})
    assert answer.status == 403
    assert inside.post("/keys", {"csrf": inside.csrf_of_session()}).status == 303


@pytest.mark.parametrize(("origin", "site"), [("null", "same-origin"), (ORIGIN, "")])
def test_form_of_this_page_is_taken_as_browsers_send_it(
    inside: ConsoleRun, origin: str, site: str
) -> None:
    """With the policy `no-referrer` they send no origin; old ones send no Sec-Fetch-Site."""
    fields = {"csrf": inside.csrf_of_session()}
    assert inside.post("/keys", fields, origin=origin, sec_fetch_site=site).status == 303


def test_login_of_another_page_is_refused(page: ConsoleRun) -> None:
    token = page.logins.make()
    answer = page.post("/login", {"t": token}, origin="https://evil.example")
    assert answer.status == 403
    # It was not used up.
    assert page.post("/login", {"t": token}).status == 303


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data; boundary=x", "application/json", ""]
)
def test_only_a_plain_form_is_read(inside: ConsoleRun, kind: str) -> None:
    assert inside.post("/keys", {}, content_type=kind).status == 415


def test_form_has_a_limit(inside: ConsoleRun) -> None:
    word = inside.csrf_of_session()
    large = {"csrf": word, "content": "x" * limits.FORM_BYTES_MAX}
    assert inside.post("/keys", large).status == 413
    many = {"csrf": word} | {f"f{at}": "" for at in range(limits.FORM_FIELDS_MAX)}
    assert inside.post("/keys", many).status == 400
    headers = [("host", HOST), ("origin", ORIGIN), FORM_TYPE]
    for body in (b"\xff", urlencode({"csrf": word}).encode() + b"&x=%ff"):
        assert inside.send("POST", "/keys", body, headers).status == 400


def test_address_has_a_limit(inside: ConsoleRun) -> None:
    assert inside.get(f"/search?q={'x' * limits.QUERY_BYTES_MAX}").status == 414


# -- answers


def test_every_answer_is_hardened(page: ConsoleRun) -> None:
    answers = [page.get("/"), page.get("/login"), page.get("/static/console.js")]
    answers.append(page.post("/login", {"t": "wrong"}))
    page.sign_in()
    paths = ["/", "/nowhere", "/search", "/answer", "/m/mem_1", "/op/1", "/op/x", "/timeline/live"]
    answers += [page.get(path) for path in paths]
    answers.append(page.post("/keys", {"csrf": page.csrf_of_session()}))
    answers.append(page.send("HEAD", "/login"))
    assert {answer.status for answer in answers} >= {200, 303, 401, 403, 404, 405, 400}
    assert all(is_hardened(answer) for answer in answers)


def test_policy_lets_nothing_in_from_elsewhere() -> None:
    assert gate.POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    said = {name.decode(): value.decode() for name, value in gate.HEADERS}
    assert said["x-content-type-options"] == "nosniff"
    assert said["referrer-policy"] == "no-referrer"
    assert said["cache-control"] == "no-store"


def test_templates_hold_no_script_style_or_address_of_another_place() -> None:
    folder = files("totonoe.console") / "templates"
    names = [path for path in folder.iterdir() if path.name.endswith(".html")]
    assert len(names) > 10
    for path in names:
        source = path.read_text("utf-8")
        assert not re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=|//\w", source)
        assert "| safe }}" not in source and "| safe%" not in source


def test_vendored_htmx_is_the_one_of_npm_with_its_licence() -> None:
    folder = files("totonoe.console") / "static"
    script = (folder / "htmx.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == HTMX_SHA256
    assert b"4.0.1" in script
    assert "Zero-Clause BSD" in (folder / "htmx.LICENSE").read_text("utf-8")


def test_sheet_is_short() -> None:
    sheet = (files("totonoe.console") / "static" / "console.css").read_text("utf-8")
    assert len(sheet.splitlines()) < 300
    assert "url(" not in sheet and "@import" not in sheet


def test_page_shows_every_limit_with_its_value() -> None:
    page = (Path(__file__).parents[2] / "docs" / "console.md").read_text("utf-8")
    shown = {}
    for names, values in re.findall(r"^\| (`[A-Z][^|]*`) \| ([\d, ]+) \|", page, re.M):
        pairs = zip(re.findall(r"`(\w+)`", names), values.split(","), strict=True)
        shown.update({name: int(value) for name, value in pairs})
    assert shown == {name: value for name, value in vars(limits).items() if name.isupper()}


# -- the command


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("state")
def test_url_prints_a_new_address_of_the_console_that_runs() -> None:
    settings = serving.Settings("127.0.0.1:7766")
    run = CliRunner()
    alone = run.invoke(command_line, ["console", "--url"], env={"COLUMNS": "200"})
    assert alone.exit_code == 2 and "the port of a console that you run" in alone.output
    with serving._locked(state_dir(settings.port), settings):
        answer = run.invoke(command_line, ["console", "--url"])
        match = re.fullmatch(r"http://127\.0\.0\.1:7768/login#t=([\w-]{43})\n", answer.output)
        assert match is not None, answer.output
        assert Logins(state_dir(settings.port) / "logins").use(match[1])
        with (
            pytest.raises(ValueError, match=r"where your console runs.*console --url"),
            serving._locked(state_dir(settings.port), settings),
        ):
            pass
    assert stat.S_IMODE(state_dir(settings.port).stat().st_mode) == 0o700


@pytest.mark.usefixtures("state")
def test_browser_gets_the_address_by_a_file_of_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    folder = state_dir(7768)
    folder.mkdir(parents=True)
    serving._show(folder, "http://127.0.0.1:7768/login#t=secret")
    assert opened == [(folder / "open.html").as_uri()]
    assert "secret" not in opened[0]
    page = folder / "open.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "url=http://127.0.0.1:7768/login#t=secret" in page.read_text()


def test_command_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("totonoe.cli.commands.console.find_spec", lambda _name: None)
    answer = CliRunner().invoke(command_line, ["console"])
    assert answer.exit_code == 2
    assert "pip install 'totonoe[console]'" in answer.output


def test_wrong_token_is_refused_before_the_start(state: Path) -> None:
    path = state / "token"
    path.write_text("wrong")
    arguments = ["--token-file", str(path), "console", "--no-open"]
    answer = CliRunner().invoke(command_line, arguments, env={"COLUMNS": "200"})
    assert answer.exit_code == 2 and "allowed: `ttn_`" in answer.output
    assert not (state / "totonoe-console").exists()
