"""No bytes make a call end otherwise than by an answer or a typed error, as coverage finds them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
RUNS = 200_000


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="needs atheris: pip install atheris"
)
def test_bytes_grown_by_coverage_end_in_an_answer_or_a_typed_error(tmp_path: Path) -> None:
    script = TESTS / "support" / "fuzzing.py"
    found = subprocess.run(
        [sys.executable, str(script), str(RUNS), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-4000:]
    assert f"Done {RUNS} runs" in found.stderr
