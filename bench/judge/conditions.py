"""Conditions of a reader that decide nothing: each is given its usual value in turn.

    make judge-conditions PAIRS=... ARGS="--language ja"

Each condition in the modules of a reader (of an `if`, of a choice, of a comprehension, and the
operands of `and` and `or`) is counted by the texts in which it is true and false, and then fixed at
the value that it has in most of them. Read anew are the texts in which it had the other one;
compared anew the labelled pairs with such a text. A row of bench/results/judge_conditions.jsonl is
a condition that at most `--most` verdicts hang on, rarest first. Those are candidates to delete: a
condition may also stand for a wording that no labelled pair has.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib.abc
import importlib.machinery
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from bench import common
from bench import probability_fit as fit
from bench.judge.data import HERE, groups
from bench.judge.fit import grouped
from bench.probability_data import Example, Vectors
from totonoe_core.domain.calibration import weights_for
from totonoe_core.embedding import EmbedderSettings
from totonoe_core.guard import traits, verdict
from totonoe_core.kernels.cosine import similarity64
from totonoe_core.text.reading import read as reading
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import Reading
from totonoe_server.tools.quality.rig import opened

_LIMIT_S = 15
"""A condition that never lets a loop end is left out after it."""
Text = tuple[str, str]
Outcome = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in the source of a reader."""

    module: str
    line: int
    function: str
    source: str


class Conditions:
    """All conditions of the modules imported so far, what they were, and which one is fixed."""

    def __init__(self) -> None:
        self.known: list[Condition] = []
        self.seen: set[tuple[int, bool]] = set()
        self.fixed, self.value = -1, False

    def __call__(self, number: int, value: Any) -> Any:
        """Return the value of a condition, or that at which it is fixed."""
        if number == self.fixed:
            return self.value
        self.seen.add((number, bool(value)))
        return value


class _Marked(ast.NodeTransformer):
    """Calls `_condition(number, ...)` around each condition; without caches of words."""

    def __init__(self, module: str, text: str, conditions: Conditions) -> None:
        self._module, self._text, self._all = module, text, conditions
        self._inside: list[str] = []

    def _mark(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._mark(value) for value in node.values]
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._mark(node.operand)
            return node
        source = " ".join((ast.get_source_segment(self._text, node) or "").split())
        number = ast.Constant(len(self._all.known))
        place = ".".join(self._inside)
        self._all.known.append(Condition(self._module, node.lineno, place, source))
        return ast.copy_location(
            ast.Call(ast.Name("_condition", ast.Load()), [number, node], []), node
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [
            item for item in node.decorator_list if not isinstance(item, ast.Call)
        ]
        return self._within(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node)

    def _within(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self._inside.append(node.name)
        self.generic_visit(node)
        self._inside.pop()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._test(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._test(node)

    def _test(self, node: ast.If | ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.test = self._mark(node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if self._inside:
            node.ifs = [self._mark(item) for item in node.ifs]
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    conditions: Conditions

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text(encoding="utf-8")
        tree = _Marked(fullname.rpartition("reading.")[2], text, self.conditions).visit(
            ast.parse(text)
        )
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Imports the modules of one reader with their conditions marked."""

    def __init__(self, package: str, conditions: Conditions) -> None:
        self._package, self._conditions = package, conditions

    def find_spec(self, fullname: str, path: Any, _target: Any = None) -> Any:
        if not f"{fullname}.".startswith(f"{self._package}."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
            spec.loader.conditions = self._conditions
        return spec


class Bench:
    """Labelled pairs of one language, with their verdicts as the reader is."""

    def __init__(
        self, pairs: Sequence[tuple[Example, float]], weights: Any, conditions: Conditions
    ):
        self._pairs, self._weights, self._conditions = pairs, weights, conditions
        self._plain = reading.read.__wrapped__
        self._readings: dict[Text, Reading] = {}
        self._changed: dict[Text, Reading] = {}
        self._texts_of: defaultdict[tuple[int, bool], set[Text]] = defaultdict(set)
        self._pairs_of: defaultdict[Text, set[int]] = defaultdict(set)
        self._pair = -1
        self._outcomes: list[Outcome] = []
        for self._pair in range(len(pairs)):
            self._outcomes.append(self._outcome(self._pair))

    def read(self, text: str, language: str) -> Reading:
        """Stands for the guard's `read`."""
        key = text, language
        if self._conditions.fixed >= 0:
            return self._changed.get(key) or self._readings.get(key) or self._plain(text, language)
        if key not in self._readings:
            self._conditions.seen.clear()
            self._readings[key] = self._plain(text, language)
            for item in self._conditions.seen:
                self._texts_of[item].add(key)
        self._pairs_of[key].add(self._pair)
        return self._readings[key]

    def _outcome(self, at: int) -> Outcome:
        verdict.forget_cached()
        example, cosine = self._pairs[at]
        with _read_by(self):
            found = verdict.judged(example.b, example.a, cosine, self._weights, bundled=True)
        return found.verdict.value, found.hard

    def row(self, number: int, texts_max: int) -> common.Row | None:
        """Return what changes if a condition always has its usual value; `None` if too many texts
        had the other one to be looked at."""
        true, false = (self._texts_of[number, value] for value in (True, False))
        rare, usual = (false, True) if len(true) > len(false) else (true, False)
        if len(rare) > texts_max:
            return None
        self._conditions.fixed, self._conditions.value = number, usual
        try:
            changes = self._changes(rare)
        finally:
            self._conditions.fixed = -1
        one = self._conditions.known[number]
        place = {"module": one.module, "line": one.line, "function": one.function}
        return place | {"condition": one.source, "true": len(true), "false": len(false)} | changes

    def _changes(self, texts: set[Text]) -> common.Row:
        signal.alarm(_LIMIT_S)
        try:
            again = {text: self._plain(*text) for text in texts}
        except Exception as error:  # also TimeoutError
            return {"error": type(error).__name__, "verdicts_changed": -1}  # it guards against that
        finally:
            signal.alarm(0)
        self._changed = {
            text: reading for text, reading in again.items() if reading != self._readings[text]
        }
        kinds: Counter[str] = Counter()
        places = set().union(*(self._pairs_of[text] for text in self._changed))
        changed = 0
        for at in sorted(places):
            before, after = self._outcomes[at], self._outcome(at)
            changed += before != after
            label = "same" if self._pairs[at][0].same else "different"
            kinds[f"{label}_hard"] += after[1] - before[1]
            kinds[f"{label}_refused"] += (after[0] == "duplicate") - (before[0] == "duplicate")
        return {"verdicts_changed": changed, **kinds}


@contextmanager
def _read_by(bench: Bench) -> Iterator[None]:
    before, traits.read = traits.read, bench.read  # type: ignore[assignment]
    try:
        yield
    finally:
        traits.read = before


def labelled(directory: Path, language: str, vectors: Vectors) -> list[tuple[Example, float]]:
    """Return all labelled pairs of a language, each with its cosine."""
    every = [group for group in groups(HERE / "groups") if group.for_tuning or group.published]
    found = [
        example
        for example in (*fit.examples(directory, vectors), *grouped(every))
        if common_language(example.a, example.b) == language
    ]
    vectors.add(text for example in found for text in (example.a, example.b))
    return [(example, similarity64(vectors[example.a], vectors[example.b])) for example in found]


def _stopped(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Read the options."""
    parser = common.parser(__doc__)
    _add_arguments(parser)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _stopped)
    conditions = Conditions()
    builtins._condition = conditions  # type: ignore[attr-defined]
    reader = reading._OWN_READERS.get(options.language, "european.read").partition(".")[0]
    sys.meta_path.insert(0, _Finder(f"totonoe_core.text.reading.{reader}", conditions))
    with (
        common.Report("judge_conditions", options.seed, options.out) as report,
        opened(EmbedderSettings(kind="use")) as rig,
    ):
        vectors = Vectors(rig, options.cache / "vectors.npz")
        pairs = labelled(options.pairs, options.language, vectors)[: options.limit]
        bench = Bench(pairs, weights_for(None, rig.model), conditions)
        found = (bench.row(number, options.texts) for number in range(len(conditions.known)))
        rows = [
            entry for entry in found if entry and 0 <= entry["verdicts_changed"] <= options.most
        ]
        for entry in sorted(rows, key=lambda row: min(row["true"], row["false"])):
            report.add(language=options.language, pairs=len(pairs), **entry)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pairs", type=Path, help="directory of labelled pairs")
    parser.add_argument("--language", default="en", help="of the reader")
    parser.add_argument("--most", type=int, default=2, help="verdicts that may hang on a condition")
    parser.add_argument("--texts", type=int, default=500, help="texts read anew for a condition")
    parser.add_argument("--limit", type=int, help="only the first pairs")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "totonoe-fit")


if __name__ == "__main__":
    main()
