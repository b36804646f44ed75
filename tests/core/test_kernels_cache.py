"""Where compiled kernels are kept: tried in fresh processes, because numba decides at import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.waits import wait_s
from totonoe_core.kernels import cache

ROOT = Path(__file__).parents[2]
CORE = Path(cache.__file__).parents[2]

# A module of one kernel: compiling all of them would take seconds in each test.
SMALL_KERNEL = """
import os, logging
logging.basicConfig(format="LOG %(message)s")
import smallest
print(smallest.twice(21), os.environ.get("NUMBA_CACHE_DIR"))
"""
SMALLEST = """
from numba import types
from totonoe_core.kernels.flags import kernel

@kernel(types.int64(types.int64))
def twice(n):
    return 2 * n
"""


def run(code: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "smallest.py").write_text(SMALLEST)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join((str(CORE), str(tmp_path))),
        "TMPDIR": str(tmp_path),
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=wait_s(120),
    )


@pytest.fixture
def clean(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        # Set first, so that the teardown restores it even if the test sets it again.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return monkeypatch


def chosen() -> Path:
    return Path(os.environ["NUMBA_CACHE_DIR"])


@pytest.mark.usefixtures("clean")
def test_prepare_cache_state_dir_is_used_and_private(tmp_path):
    cache.prepare_cache(tmp_path / "state")
    assert chosen().parent == tmp_path / "state" / "numba-cache"
    assert chosen().stat().st_mode & 0o777 == 0o700
    assert chosen().name.startswith(cache.version("numba"))


def test_prepare_cache_no_state_dir_falls_back_in_order(clean, tmp_path):
    cache.prepare_cache(None)
    assert chosen().is_relative_to(tmp_path / "temporary")
    for variable in ("HOME", "XDG_CACHE_HOME"):
        clean.delenv("NUMBA_CACHE_DIR")
        clean.setenv(variable, str(tmp_path / variable))
        cache.prepare_cache(None)
        assert chosen().is_relative_to(tmp_path / variable)


@pytest.mark.usefixtures("clean")
def test_prepare_cache_later_state_dir_replaces_the_default(tmp_path):
    cache.prepare_cache(None)
    cache.prepare_cache(tmp_path / "state")
    assert chosen().is_relative_to(tmp_path / "state")
    cache.prepare_cache(None)
    assert chosen().is_relative_to(tmp_path / "state"), "a child keeps its parent's choice"


def test_prepare_cache_users_own_directory_wins_and_is_never_wiped(clean, tmp_path):
    kept = tmp_path / "own" / "kept"
    kept.mkdir(parents=True)
    clean.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    cache.prepare_cache(tmp_path / "state")
    assert chosen() == tmp_path / "own"
    assert not cache.wipe_cache()
    assert kept.exists()


@pytest.mark.usefixtures("clean")
def test_prepare_cache_directory_others_can_write_is_refused(tmp_path):
    cache.prepare_cache(tmp_path / "state")
    first = chosen()
    first.chmod(0o777)
    cache.prepare_cache(tmp_path / "state")
    assert chosen() != first


def test_prepare_cache_nothing_writable_leaves_it_unset(clean, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    clean.setattr("tempfile.tempdir", str(blocker))
    cache.prepare_cache(blocker)
    assert "NUMBA_CACHE_DIR" not in os.environ


@pytest.mark.usefixtures("clean")
def test_wipe_cache_own_directory_is_emptied(tmp_path):
    cache.prepare_cache(tmp_path)
    (chosen() / "broken.nbi").write_bytes(b"\x80")
    assert cache.wipe_cache()
    assert list(chosen().iterdir()) == []


@pytest.mark.usefixtures("clean")
def test_lacks_kernels_until_marked_and_after_a_wipe(tmp_path):
    cache.prepare_cache(tmp_path)
    assert cache.lacks_kernels()
    cache.mark_complete()
    assert not cache.lacks_kernels()
    assert cache.wipe_cache()
    assert cache.lacks_kernels()


@pytest.mark.usefixtures("clean")
def test_lacks_kernels_of_another_installation_with_the_same_sources(tmp_path, monkeypatch):
    other = tmp_path / "other"
    shutil.copytree(Path(cache.__file__).parent, other)
    cache.prepare_cache(tmp_path)
    cache.mark_complete()
    # The same directory of the cache, where numba keeps kernels by the path of their source.
    monkeypatch.setattr(cache, "__file__", str(other / "cache.py"))
    assert cache._ours() == chosen() and cache.lacks_kernels()
    cache.mark_complete()
    assert not cache.lacks_kernels()


def test_lacks_kernels_users_own_directory_is_not_asked(clean, tmp_path):
    clean.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.mark_complete()
    assert not cache.lacks_kernels() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_import_truncated_cache_file_is_wiped_and_compiled_again(tmp_path, suffix):
    first = run(SMALL_KERNEL, tmp_path)
    directory = Path(first.stdout.split()[1])
    broken = list(directory.rglob(f"*.{suffix}"))
    assert broken and "LOG" not in first.stderr
    for path in broken:
        path.write_bytes(path.read_bytes()[:30])
    second = run(SMALL_KERNEL, tmp_path)
    assert second.stdout.split()[0] == "42"
    assert "kernel cache unusable" in second.stderr
    third = run(SMALL_KERNEL, tmp_path)
    assert third.stdout == second.stdout
    assert "LOG" not in third.stderr, "the cache is whole again"


def test_compiling_is_logged_once_and_only_when_something_is_compiled(tmp_path):
    (tmp_path / "second.py").write_text(SMALLEST.replace("twice", "thrice").replace("2 *", "3 *"))
    logged = SMALL_KERNEL.replace("basicConfig(", "basicConfig(level=20, ")
    both = logged.replace("import smallest", "import smallest, second")
    assert run(both, tmp_path).stderr.count("LOG compiling kernels, once") == 1
    assert "LOG" not in run(both, tmp_path).stderr
    (tmp_path / "second.py").write_text(SMALLEST.replace("twice", "thrice").replace("2 *", "4 *"))
    assert run(both, tmp_path).stderr.count("LOG compiling kernels, once") == 1
    run(both, tmp_path, NUMBA_DISABLE_JIT="1")


def test_import_broken_cache_of_the_user_compiles_and_touches_nothing(tmp_path):
    own = tmp_path / "own"
    run(SMALL_KERNEL, tmp_path, NUMBA_CACHE_DIR=str(own))
    (broken,) = own.rglob("*.nbi")
    broken.write_bytes(b"\x80")
    found = run(SMALL_KERNEL, tmp_path, NUMBA_CACHE_DIR=str(own))
    assert found.stdout.split()[0] == "42"
    assert broken.read_bytes() == b"\x80"


def test_import_no_place_for_a_cache_compiles_without(tmp_path):
    # What numba does with a read-only installation and no home directory: no locator is left.
    no_locator = "from numba.core.caching import CacheImpl\nCacheImpl._locator_classes = []\n"
    found = run(no_locator + SMALL_KERNEL, tmp_path)
    assert found.stdout.split()[0] == "42"
    assert "no locator" in found.stderr


def test_kernel_wrong_code_raises_and_keeps_the_cache(tmp_path):
    (tmp_path / "wrong.py").write_text(SMALLEST.replace("2 * n", "n + 'x'"))
    code = (
        "import smallest, os, pathlib\n"
        "from numba.core.errors import NumbaError\n"
        "try:\n"
        "    import wrong\n"
        "except NumbaError:\n"
        "    kept = list(pathlib.Path(os.environ['NUMBA_CACHE_DIR']).rglob('smallest*.nbi'))\n"
        "    print('raised', len(kept))\n"
    )
    assert run(code, tmp_path).stdout.split() == ["raised", "1"]


def test_kernels_without_jit_match_their_twins():
    modules = [
        str(Path(__file__).with_name(f"test_kernels_{n}.py"))
        for n in ("cosine", "jaccard", "lists", "prefix")
    ]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *modules],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(CORE), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=wait_s(200),
    )
    assert found.returncode == 0, found.stdout
    assert "2 skipped" in found.stdout, "the run without JIT skips what only compiled code does"


def test_warm_up_whole_package_leaves_nothing_to_compile():
    from totonoe_core.kernels import cosine, jaccard
    from totonoe_core.kernels.warmup import warm_up

    assert 0 < warm_up() < 60
    for function in (cosine.scan_at_least, cosine.dot_rows, jaccard.rows_above):
        assert len(function.signatures) == 1
