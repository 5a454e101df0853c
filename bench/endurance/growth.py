"""Memory over events: samples of a program's resident memory, and the slope through the later half of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.process import resident_kib


@dataclass
class Growth:
    """What a process held after so many events."""

    pid: int
    samples: list[tuple[float, float]] = field(default_factory=list)  # events, KiB

    def note(self, events: float) -> None:
        """Take a sample."""
        self.samples.append((events, resident_kib(self.pid)))

    @property
    def slope(self) -> float:
        """KiB for each thousand events, by least squares over the second half of the events."""
        return slope(self.samples) * 1_000

    @property
    def mib(self) -> float:
        """MiB that came between the first sample and the last."""
        return (self.samples[-1][1] - self.samples[0][1]) / 1024


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through the samples in the second half of their range."""
    middle = (samples[0][0] + samples[-1][0]) / 2
    later = [sample for sample in samples if sample[0] >= middle]
    return statistics.linear_regression([at for at, _ in later], [kib for _, kib in later]).slope
