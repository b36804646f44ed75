"""The table of what each method needs: complete, from the contract, and what the daemon does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import Default
from hypothesis import given, settings
from hypothesis import strategies as st

from support.access import (
    VERBS,
    add_identity,
    allowed_slowly,
    first_answer,
    request_of,
    with_token,
)
from support.items import Stream
from totonoe.v1 import access_pb2
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe_server.access import grants
from totonoe_server.access.errors import SettingError
from totonoe_server.access.gate import Caller
from totonoe_server.access.identities import Identity, Key
from totonoe_server.access.table import RULES, VERB_OF_CALL, Place, rule_of
from totonoe_server.tools.testing import running_server
from totonoe_server.wire.methods import MULTIPLEX, PATHS

ROOT = Path(__file__).parents[2]
CASES = [
    pytest.param(rule, id=path.rpartition("/")[2]) for path, rule in RULES.items() if rule.verb
]
ITEMS = frozenset(RULES[MULTIPLEX].calls.values())
PATTERNS = st.text(alphabet="ab-*", min_size=1, max_size=5)
GRANTS = st.lists(
    st.tuples(PATTERNS, st.lists(st.sampled_from(VERBS), min_size=1, max_size=3)),
    min_size=1,
    max_size=4,
)


def verbs_of(page: str) -> dict[str, str]:
    """Return the verb of each call by the table of a page, which says what each verb is for."""
    rows = re.findall(r"^\| `(\w+)` \| ([A-Z]\w+(?:, \w+)*) \|", page, re.M)
    return {call: verb for verb, calls in rows for call in calls.split(", ")}


def test_table_of_the_docs_is_that_of_the_contract() -> None:
    assert verbs_of((ROOT / "docs" / "api.md").read_text()) == VERB_OF_CALL


def test_calls_that_a_table_lacks_or_has_wrong_are_found() -> None:
    page = "| verb | calls |\n|---|---|\n| `read` | Get, List | |\n| `admin` | Purge | none |\n"
    assert verbs_of(page) == {"Get": "read", "List": "read", "Purge": "admin"}


def caller_with(given_grants: Any, agent_id: str = "me") -> Caller:
    made = tuple(grants.Grant(pattern, frozenset(verbs)) for pattern, verbs in given_grants)
    return Caller(Identity("me", agent_id, made, keys=(Key(bytes(32)),)))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A daemon with one identity for each verb, and one with all of them on some collections."""
    data_dir = tmp_path_factory.mktemp("closed") / "data"
    tokens = {verb: add_identity(data_dir, verb, f"*:{verb}") for verb in VERBS}
    tokens["team"] = add_identity(data_dir, "team", f"team-*:{','.join(VERBS)}", agent="ann")
    with running_server(data_dir) as server, grpc.insecure_channel(server.address) as channel:
        yield SimpleNamespace(server=server, channel=channel, tokens=tokens)


def outcome(
    closed: Any, read_failure: Any, rule: Any, who: str, collection: str = "", agent_id: str = ""
) -> str:
    """The reason of a refusal; empty for an answer, and for any other failure its reason."""
    request = request_of(rule, collection, agent_id)
    reason = of_call(closed, read_failure, rule, who, request)
    if rule.path in ITEMS:
        # As an item of a stream it ends as by itself.
        metadata = with_token(closed.tokens[who])
        with Stream(closed.channel, metadata) as stream:
            try:
                stream.ask(request_of(rule, collection, agent_id))
                assert reason == ""
            except grpc.RpcError as error:
                assert read_failure(error).reason == reason
    return reason


def of_call(closed: Any, read_failure: Any, rule: Any, who: str, request: Any) -> str:
    try:
        answer = first_answer(closed.channel, rule, request, closed.tokens[who])
    except grpc.RpcError as error:
        return str(read_failure(error).reason)
    if rule.per_item:
        return str(answer.results[0].error.reason)
    return ""


def test_table_has_a_verb_for_each_method_of_the_contract() -> None:
    assert set(RULES) == set(PATHS)
    assert {case.values[0].verb for case in CASES} == set(VERBS) == set(grants.VERBS)
    assert [path for path, rule in RULES.items() if not rule.verb] == [MULTIPLEX]
    # What is private is read under the agent's own name, so each request that names it has a place.
    for path, rule in RULES.items():
        request = PATHS[path].input_type
        if "agent_id" in request.fields_by_name:
            assert rule.has_agent, path
        if "collection" in request.fields_by_name and rule.scope != access_pb2.SCOPE_EVERY:
            assert rule.name_field == "collection" or path.endswith("UpdateCollection"), path


def test_table_refuses_a_method_without_verb_or_with_a_wrong_field() -> None:
    source = descriptor_pb2.FileDescriptorProto(
        name="x.proto", package="x", syntax="proto3", dependency=["totonoe/v1/access.proto"]
    )
    source.message_type.add(name="M").field.add(name="collection", number=1, type=9, label=1)
    service = source.service.add(name="S")
    wrong = {
        "NoVerb": {},
        "NoField": {"verb": 1, "collection": "name"},
        "NoMessage": {"verb": 1, "collection": "a.b"},
        "NoAnswers": {"verb": 1, "answers": "collections.name"},
        "NoCalls": {"calls": "call"},
    }
    for name, values in wrong.items():
        method = service.method.add(name=name, input_type=".x.M", output_type=".x.M")
        method.options.Extensions[access_pb2.access].CopyFrom(access_pb2.Access(**values))
    found = Default().AddSerializedFile(source.SerializeToString())
    for method in found.services_by_name["S"].methods:
        with pytest.raises(ValueError, match=f"/x/{method.name}"):
            rule_of(f"/x/{method.name}", method)


def test_generation_names_each_method_without_a_verb() -> None:
    place = ROOT / "proto" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    files = descriptor_pb2.FileDescriptorSet()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for dependency in file.dependencies:
            add(dependency)
        file.CopyToProto(files.file.add())

    add(admin_pb.DESCRIPTOR)
    assert module.methods_without_verb(files.SerializeToString()) == []
    files.file[-1].service[0].method[0].ClearField("options")
    assert module.methods_without_verb(files.SerializeToString()) == [
        "AdminService.CreateCollection"
    ]


@pytest.mark.parametrize("rule", CASES)
def test_call_needs_exactly_its_verb(closed: Any, read_failure: Any, rule: Any) -> None:
    reasons = {verb: outcome(closed, read_failure, rule, verb) for verb in VERBS}
    refused = {verb for verb, reason in reasons.items() if reason == "NOT_GRANTED"}
    assert refused == set(VERBS) - {rule.verb}, reasons
    assert not {"INTERNAL", "TOKEN_MISSING", "AGENT_MISMATCH"} & set(reasons.values())


@pytest.mark.parametrize("rule", CASES)
def test_call_needs_a_pattern_that_fits_its_collection(
    closed: Any, read_failure: Any, rule: Any
) -> None:
    def refused(collection: str) -> bool:
        return outcome(closed, read_failure, rule, "team", collection) == "NOT_GRANTED"

    if rule.name_field:
        assert not refused("team-x")
        assert refused("other")
        # Without a name it is the default collection; a list has its answer filtered.
        assert refused("") is not bool(rule.answers)
    else:
        assert refused("") is (rule.scope == access_pb2.SCOPE_EVERY)


@pytest.mark.parametrize("rule", [case for case in CASES if case.values[0].has_agent])
def test_call_under_the_name_of_another_agent_is_refused(
    closed: Any, read_failure: Any, rule: Any
) -> None:
    if rule.scope == access_pb2.SCOPE_EVERY:
        assert outcome(closed, read_failure, rule, "admin", "", "bob") == "AGENT_MISMATCH"
        assert outcome(closed, read_failure, rule, "admin", "", "admin") != "AGENT_MISMATCH"
        return
    assert outcome(closed, read_failure, rule, "team", "team-x", "bob") == "AGENT_MISMATCH"
    for own in ("ann", ""):
        assert outcome(closed, read_failure, rule, "team", "team-x", own) != "AGENT_MISMATCH"


@settings(max_examples=400, deadline=None)
@given(
    given_grants=GRANTS,
    rule=st.sampled_from([case.values[0] for case in CASES]),
    collection=st.text(alphabet="ab-", max_size=4),
)
def test_grants_decide_as_the_contract_says(given_grants: Any, rule: Any, collection: str) -> None:
    caller = caller_with(given_grants)
    request = request_of(rule, collection)
    expected = allowed_slowly(given_grants, rule.verb, rule.scope, collection or "default")
    if rule.answers and not collection:
        expected = allowed_slowly(given_grants, rule.verb, access_pb2.SCOPE_ANY, "")
    try:
        caller.check_verb(rule)
        places = list(rule.places(request))
        for place in places:
            caller.check(rule, place)
    except Exception as error:
        assert getattr(error, "reason", "") == "NOT_GRANTED"
        assert not expected
    else:
        assert expected
        # An empty agent is the identity's own from here on.
        assert all(place.holder is None or not rule.has_agent or place.holder.agent_id == "me"
                   for place in places)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(pattern=PATTERNS, verbs=st.lists(st.sampled_from(VERBS), min_size=1, unique=True))
def test_grant_that_is_written_and_parsed_is_the_same(pattern: str, verbs: list[str]) -> None:
    made = grants.parse_grant(f"{pattern}:{','.join(verbs)}")
    assert made == grants.Grant(pattern, frozenset(verbs))
    assert grants.parse_grant(str(made)) == made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team-*", "allowed: PATTERN:VERB,VERB"),
        ("team-*:", "got the verb ''"),
        ("team-*:reed", "got the verb 'reed', allowed: read, remember"),
        ("team-*:read,,forget", "got the verb ''"),
        (":read", "pattern: got ''"),
        ("Team:read", "pattern: got 'Team'"),
        ("x" * 65 + ":read", "pattern: got"),
        ("[a-z]:read", "pattern: got '[a-z]'"),
    ],
)
def test_grant_of_a_wrong_form_is_refused_and_says_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(SettingError) as caught:
        grants.parse_grant(text)
    assert words in str(caught.value)


def test_kinds_of_operations_that_undo_takes_back_have_verbs() -> None:
    assert VERB_OF_CALL["Forget"] == "forget"
    assert VERB_OF_CALL["UpdateCollection"] == "admin"


def test_name_that_is_too_long_fits_no_pattern() -> None:
    assert not grants.fits("*", "x" * 65)
    assert grants.fits("*", "x" * 64)
    assert not caller_with([("*", ["read"])]).allows("read", "x\n" * 40)
    assert Place(None, "x").collection == "x"
