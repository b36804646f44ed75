"""How the limits stand to each other."""

from __future__ import annotations

import re
from pathlib import Path

from totonoe_core.base import limits

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
VALUES = {name: value for name, value in vars(limits).items() if name.isupper()}


def test_limits_are_positive_whole_numbers() -> None:
    assert len(VALUES) > 30
    for name, value in VALUES.items():
        assert type(value) is int, name
        assert value > 0, name


def test_docs_show_every_limit_with_its_value() -> None:
    shown = {}
    for names, values in re.findall(r"^\| (`[^|]*`) \| ([\d, ]+) \|", PAGE.read_text(), re.M):
        pairs = zip(re.findall(r"`(\w+)`", names), values.split(","), strict=True)
        shown.update({name: int(value) for name, value in pairs})
    assert {name: shown.get(name) for name in VALUES} == VALUES


def test_defaults_and_least_values_lie_within_their_limits() -> None:
    assert limits.PAGE_SIZE_DEFAULT <= limits.PAGE_SIZE_MAX
    assert limits.RECALL_K_DEFAULT <= limits.RECALL_K_MAX
    assert limits.IMPORTANCE_MIN < limits.IMPORTANCE_MAX


def test_automatic_links_leave_room_for_named_ones() -> None:
    assert limits.AUTO_LINKS_PER_MEMORY_MAX < limits.LINKS_PER_MEMORY_MAX
    assert limits.AUTO_LINKS_PER_REMEMBER_MAX <= limits.NEIGHBOURS_SCORED_MAX
    assert limits.SIMILAR_SHOWN_MAX <= limits.NEIGHBOURS_SCORED_MAX


def test_a_message_holds_what_the_limits_allow_in_it() -> None:
    memory_bytes = (
        limits.CONTENT_BYTES_MAX
        + limits.ATTRIBUTES_BYTES_MAX
        + limits.PAYLOAD_BYTES_MAX
        + 4 * limits.VECTOR_DIMENSION_MAX
    )
    assert memory_bytes < limits.MESSAGE_BYTES_MAX
    assert limits.IDS_PER_REQUEST_MAX * limits.EXTERNAL_ID_BYTES_MAX < limits.MESSAGE_BYTES_MAX


def test_a_batch_and_an_embedding_request_fit_their_queues() -> None:
    assert limits.GROUP_COMMIT_MAX <= limits.WRITER_QUEUE_MAX
    assert limits.ITEMS_PER_MESSAGE_MAX <= limits.EMBED_QUEUE_TEXTS_MAX
    assert limits.COMMANDS_PER_OPERATION_MAX <= limits.EMBED_QUEUE_TEXTS_MAX
    assert limits.EMBED_BATCH_TEXTS_MAX <= limits.EMBED_QUEUE_TEXTS_MAX


def test_a_judge_is_asked_about_no_more_than_is_read_and_fits_its_queue() -> None:
    assert limits.JUDGE_PAIRS_PER_REMEMBER_MAX <= limits.VERDICT_CANDIDATES_MAX
    assert limits.JUDGE_PAIRS_PER_REMEMBER_MAX <= limits.JUDGE_QUEUE_PAIRS_MAX
    assert limits.JUDGE_QUEUE_PAIRS_MAX <= limits.JUDGE_CACHE_PAIRS_MAX


def test_collections_open_are_among_those_there_may_be() -> None:
    assert limits.COLLECTIONS_OPEN_MAX < limits.COLLECTIONS_MAX


def test_operation_ids_are_kept_for_seven_days_at_least() -> None:
    assert limits.REPLAY_KEPT_S >= 7 * 24 * 3600


def test_lines_of_a_file_hold_what_the_limits_allow_and_fit_their_messages() -> None:
    labels = limits.TAGS_PER_MEMORY_MAX + limits.ENTITIES_PER_MEMORY_MAX + 16
    texts = (
        limits.CONTENT_BYTES_MAX
        + labels * limits.NAME_BYTES_MAX
        + limits.EVIDENCE_IDS_PER_MEMORY_MAX * (4 + limits.EXTERNAL_ID_BYTES_MAX)
    )
    # A control character is six bytes in JSON; a vector is in base64.
    longest = 6 * texts + limits.ATTRIBUTES_BYTES_MAX + limits.PAYLOAD_BYTES_MAX
    longest += 16 * limits.VECTOR_DIMENSION_MAX // 3
    assert longest < limits.IMPORT_LINE_BYTES_MAX
    line = limits.IMPORT_LINE_BYTES_MAX
    assert limits.EXPORT_CHUNK_BYTES + line < limits.MESSAGE_BYTES_MAX
    assert limits.IMPORT_CHUNK_BYTES_MAX < limits.MESSAGE_BYTES_MAX
    # An Undo tells the memories of a batch.
    assert limits.IMPORT_BATCH_BYTES + line < limits.MESSAGE_BYTES_MAX
    assert limits.IMPORT_BATCH_LINES <= limits.EMBED_QUEUE_TEXTS_MAX


def test_schedule_leaves_room_for_snapshots_that_somebody_asks_for() -> None:
    assert limits.SNAPSHOTS_KEPT_MAX < limits.SNAPSHOTS_PER_COLLECTION_MAX
