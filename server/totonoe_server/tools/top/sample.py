"""One reading of a daemon's metrics, and what happened between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

_STARTED = "totonoe_start_time_seconds"
Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of all metrics at one time.

    Attributes
    ----------
    time_s : float
        UTC, seconds since 1970.
    values : dict
        By name and labels.
    """

    time_s: float
    values: dict[tuple[str, Labels], float] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, time_s: float) -> Sample:
        """Read the text that Prometheus would read. Raises `ValueError` if it is another text."""
        values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        if not any(name == "totonoe_info" for name, _ in values):
            raise ValueError("these are not the metrics of totonoe")
        return cls(time_s, values)

    def one(self, name: str, **labels: str) -> float:
        """Return a value, 0 if there is none."""
        return self.values.get((name, frozenset(labels.items())), 0.0)

    def all(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """Return the labels and values of a metric."""
        for (found, labels), value in self.values.items():
            if found == name:
                yield dict(labels), value

    def labels(self, name: str, label: str) -> list[str]:
        """Return the values of a label, sorted."""
        return sorted({labels[label] for labels, _ in self.all(name)})

    def uptime_s(self) -> float:
        """Seconds since the daemon started."""
        return max(0.0, self.time_s - self.one(_STARTED))


@dataclass(frozen=True, slots=True)
class Between:
    """Changes from one sample to a later one; from the start of the daemon, if there is no other.

    After a restart of the daemon the counters begin anew: then it is from the start, too.
    """

    now: Sample
    before: Sample | None = None

    def seconds(self) -> float:
        """Length of the time between, at least a millisecond."""
        earlier = self._earlier()
        passed_s = self.now.uptime_s() if earlier is None else self.now.time_s - earlier.time_s
        return max(0.001, passed_s)

    def more(self, name: str, **where: str) -> float:
        """Return by how much counters grew, added up over all that have these labels."""
        return sum(
            value - self._past(name, labels)
            for labels, value in self.now.all(name)
            if where.items() <= labels.items()
        )

    def quantile(self, name: str, share: float, **where: str) -> float:
        """Return the value below which this share of a histogram lies; 0 if nothing was counted.

        Between two bounds it is interpolated, as Prometheus does it. Above the last bound it is
        that bound.
        """
        counts: dict[float, float] = {}
        for labels, value in self.now.all(f"{name}_bucket"):
            if where.items() <= labels.items():
                bound = float(labels["le"])
                grown = value - self._past(f"{name}_bucket", labels)
                counts[bound] = counts.get(bound, 0.0) + grown
        bounds = sorted(counts)
        if not bounds or counts[bounds[-1]] <= 0:
            return 0.0
        rank, below, low = share * counts[bounds[-1]], 0.0, 0.0
        for bound in bounds:
            if counts[bound] >= rank:
                if bound == float("inf"):
                    return low
                return low + (bound - low) * (rank - below) / max(counts[bound] - below, 1e-9)
            below, low = counts[bound], bound
        return low

    def _past(self, name: str, labels: dict[str, str]) -> float:
        earlier = self._earlier()
        return 0.0 if earlier is None else earlier.one(name, **labels)

    def _earlier(self) -> Sample | None:
        """Return the other sample, if it is of the same run of the daemon."""
        if self.before is None or self.before.one(_STARTED) != self.now.one(_STARTED):
            return None
        return self.before
