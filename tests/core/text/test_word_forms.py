"""Lists of words as mapped tables say what simplemma's dictionaries say."""

from __future__ import annotations

import lzma
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from simplemma.strategies.dictionaries import DefaultDictionaryFactory

from totonoe_core.base import prepared
from totonoe_core.kernels.word_forms import unpack_forms
from totonoe_core.text import word_forms as module
from totonoe_core.text.word_forms import word_forms

SAME, WRITTEN_OUT = 254, 255


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory for packed lists, and nothing prepared before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "DATA_FOLDER", tmp_path)
    # Without what other tests keep.
    monkeypatch.setitem(globals(), "word_forms", module.word_forms.__wrapped__)
    return tmp_path


def record(shared: int, rest: bytes, cut: int, ending: bytes = b"") -> bytes:
    """A record of a front-coded list, as simplemma's module `frontcode` describes it."""
    head = bytes([shared, len(rest)]) + rest + bytes([cut])
    return head if cut == SAME else head + bytes([len(ending)]) + ending


SMALL = (
    record(0, b"cat", 0)
    + record(3, b"s", 1)
    + record(4, b"'", SAME)
    + record(0, "mäuse".encode(), WRITTEN_OUT, b"Maus")
    + record(0, b"", WRITTEN_OUT, b"nothing")
)
EXPECTED = {"cat": "cat", "cats": "cat", "cats'": "cat", "mäuse": "Maus", "": "nothing"}


def packed(directory: Path, records: bytes, count: int, magic: bytes = b"SMFC1\0") -> None:
    data = magic + bytes([count]) + records
    (directory / "xx.plzma").write_bytes(lzma.compress(data))


def test_small_list_is_read(made: Path) -> None:
    packed(made, SMALL, 5)
    forms = word_forms("xx")
    assert dict(forms) == EXPECTED and len(forms) == 5
    assert forms.get("dog") is None and forms.get("dog", "?") == "?"
    with pytest.raises(KeyError):
        forms["catz"]


def test_whole_list_says_what_simplemma_says() -> None:
    forms = word_forms("en")
    expected = DefaultDictionaryFactory().get_dictionary("en")
    assert len(forms) == len(expected)
    assert all(forms.get(form) == expected[form] for form in expected)
    assert set(forms) == set(expected)
    assert not any(form + "qx" in forms for form in list(expected)[::100])


@pytest.mark.parametrize("cut", range(1, len(SMALL)))
def test_cut_list_is_damage(made: Path, cut: int) -> None:
    packed(made, SMALL[:cut], 5)
    with pytest.raises(ValueError, match="damaged"):
        word_forms("xx")


@pytest.mark.parametrize(
    "records",
    [record(1, b"a", 0), record(0, b"ab", 3), record(0, b"a" * 100, 0) + record(100, b"b" * 100, 0)
     + record(200, b"c" * 56, 0), b"\x80\x80\x80\x80\x80"],
    ids=["shares too much", "cuts too much", "too long", "endless number"],
)  # fmt: skip
def test_impossible_record_is_damage(made: Path, records: bytes) -> None:
    packed(made, records, records.count(b"\x00") or 1)
    with pytest.raises(ValueError, match="damaged"):
        word_forms("xx")


def test_list_of_another_form_is_refused(made: Path) -> None:
    packed(made, SMALL, 5, magic=b"SMFC1\1")
    with pytest.raises(ValueError, match="unknown form"):
        word_forms("xx")


def test_any_bytes_end_without_leaving_the_arrays() -> None:
    generator = np.random.default_rng(17)
    for _ in range(300):
        data = np.frombuffer(SMALL, np.uint8).copy()
        data[generator.integers(len(data), size=3)] = generator.integers(256, size=3)
        places, records = np.zeros(8, np.uint32), np.zeros(200, np.uint8)
        assert unpack_forms(data, 0, np.zeros(256, np.uint32), places, records) <= 200


def prepared_file(made: Path) -> Path:
    (path,) = (made / "cache" / "totonoe" / "prepared").iterdir()
    return path


def test_table_in_a_mapped_file_is_the_same_as_in_memory(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(made, SMALL, 5)
    in_memory = dict(word_forms("xx"))
    monkeypatch.setattr(module, "_build", lambda language: pytest.fail(f"{language} made again"))
    assert dict(word_forms("xx")) == in_memory


@pytest.mark.parametrize("before", [True, False], ids=["before opening", "afterwards"])
def test_table_with_any_byte_damaged_is_made_again(
    made: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.setattr(prepared, "_BLOCK_BYTES", 16)
    packed(made, SMALL, 5)
    word_forms("xx")
    path = prepared_file(made)
    whole = path.read_bytes()
    # What was read at opening is read no more: the first block, and the checksums at the end.
    first, last = (0, len(whole)) if before else (16, (len(whole) - 12) * 16 // 20)
    for at in range(first, last):
        opened = None if before else word_forms("xx")
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([whole[at] ^ 4]))
        forms = opened or word_forms("xx")
        assert {form: forms.get(form) for form in EXPECTED} == EXPECTED
        assert forms.get("dog") is None and dict(forms) == EXPECTED
        assert path.read_bytes() == whole


def test_lookups_read_a_small_part_of_a_long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    module.word_forms("en")
    read = []

    def crc32(part: memoryview) -> int:
        read.append(len(part))
        return zlib.crc32(part)

    monkeypatch.setattr(prepared, "zlib", SimpleNamespace(crc32=crc32))
    forms = module.word_forms.__wrapped__("en")
    assert [forms.get(word) for word in ("mice", "ran", "houses")] == ["mouse", "run", "house"]
    # The checksums, the head, and at most three blocks for a word.
    assert 5 <= len(read) <= 11 and max(read) == prepared._BLOCK_BYTES
