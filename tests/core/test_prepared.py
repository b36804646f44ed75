"""Files that are derived once from a package's data and mapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from totonoe_core.base import prepared

BYTES = bytes(range(256)) * 40


class Building:
    """Counts how often the bytes are made."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bytes:
        self.count += 1
        return BYTES


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    return tmp_path


def test_mapped_second_time_is_not_made_again(home: Path) -> None:
    build = Building()
    for _ in range(2):
        found = prepared.mapped("words-1", build)
        assert found == BYTES and found.readonly
    assert build.count == 1
    (file,) = (home / "cache" / "totonoe" / "prepared").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["cut", "one bit", "longer", "empty"])
def test_mapped_damaged_file_is_made_again(home: Path, damage: str) -> None:
    build = Building()
    prepared.mapped("words-1", build)
    path = home / "cache" / "totonoe" / "prepared" / "words-1"
    whole = bytearray(path.read_bytes())
    if damage == "one bit":
        whole[1000] ^= 4
    damaged = {"cut": whole[:-1], "longer": whole + b"\0", "empty": b""}.get(damage, whole)
    path.write_bytes(damaged)
    assert prepared.mapped("words-1", build) == BYTES
    assert build.count == 2 and len(path.read_bytes()) == len(whole)


def test_blocks_damage_is_met_where_it_is_read(home: Path) -> None:
    long = BYTES * 8
    prepared.mapped("words-1", lambda: long)
    path = home / "cache" / "totonoe" / "prepared" / "words-1"
    damaged = bytearray(path.read_bytes())
    damaged[40_000] ^= 4
    path.write_bytes(damaged)
    found = prepared.blocks("words-1", lambda: long, whole=False)
    found.check(0, 32_768)
    found.check(49_152, len(long) + 100)
    for start, end in ((32_768, 32_769), (49_151, 49_153), (0, len(long))):
        with pytest.raises(prepared.DamagedError):
            found.check(start, end)
    prepared.blocks("words-1", lambda: long, whole=True).check(0, len(long))
    assert prepared.blocks("words-1", Building(), whole=False).view == long


@pytest.mark.parametrize("cut", [1, 3, 12, 13, 20, 5000])
def test_blocks_file_that_was_cut_is_made_again(home: Path, cut: int) -> None:
    prepared.mapped("words-1", Building())
    path = home / "cache" / "totonoe" / "prepared" / "words-1"
    path.write_bytes(path.read_bytes()[:-cut])
    again = Building()
    assert prepared.blocks("words-1", again, whole=False).view == BYTES and again.count == 1


def test_mapped_directory_that_others_can_write_is_passed_by(home: Path) -> None:
    first = home / "cache" / "totonoe" / "prepared"
    first.mkdir(parents=True)
    first.chmod(0o777)
    assert prepared.mapped("words-1", Building()) == BYTES
    assert list(first.iterdir()) == []
    assert (home / "home" / ".cache" / "totonoe" / "prepared" / "words-1").exists()


def test_mapped_nowhere_to_write_keeps_the_bytes_in_memory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = home / "file"
    blocker.write_text("")
    for variable in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(variable, str(blocker))
    monkeypatch.setattr("tempfile.tempdir", str(blocker))
    assert prepared.mapped("words-1", Building()) == BYTES


def test_mapped_full_disk_keeps_the_bytes_in_memory_and_leaves_no_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert prepared.mapped("words-1", Building()) == BYTES
    assert list((home / "cache" / "totonoe" / "prepared").iterdir()) == []


def test_mapped_earlier_view_outlives_a_new_file(home: Path) -> None:
    view = prepared.mapped("words-1", Building())
    path = home / "cache" / "totonoe" / "prepared" / "words-1"
    path.unlink()
    assert prepared.mapped("words-1", Building()) == view == BYTES


@pytest.mark.usefixtures("home")
def test_unmap_leaves_the_bytes_as_they_are() -> None:
    for view in (prepared.mapped("words-1", Building()), memoryview(BYTES)):
        prepared.unmap(view)
        assert view == BYTES
