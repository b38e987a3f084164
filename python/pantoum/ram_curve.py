"""RAM over the time of a step, and its picture in a notebook."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable

from pantoum import _core

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 258, 12, 52, 24


@dataclasses.dataclass(frozen=True)
class RamCurve:
    """RAM over the time of a step. A notebook draws it; ``svg()`` is the picture.

    Attributes:
        seconds, bytes: ``bytes[i]`` are in RAM from ``seconds[i]`` on, as planned.
        end_s: when the planned step ends.
        unplanned_seconds, unplanned_bytes, unplanned_end_s: the same of the unplanned step; empty where it is not
            known.
        budget_bytes: the RAM that was given.
    """

    seconds: list[float] = dataclasses.field(repr=False)
    bytes: list[int] = dataclasses.field(repr=False)
    end_s: float
    unplanned_seconds: list[float] = dataclasses.field(repr=False)
    unplanned_bytes: list[int] = dataclasses.field(repr=False)
    unplanned_end_s: float
    budget_bytes: int

    @property
    def peak_bytes(self) -> int:
        """The most bytes at once."""
        return max(self.bytes, default=0)

    @property
    def unplanned_peak_bytes(self) -> int:
        """The most bytes at once of the unplanned step; 0 where it is not known."""
        return max(self.unplanned_bytes, default=0)

    def svg(self) -> str:
        """The picture: this plan as an area, the unplanned step as a dashed line, the budget as a red one."""
        size, time = _core.show_bytes, _core.show_seconds
        end = max(self.end_s, self.unplanned_end_s) or 1.0
        # A budget far above what the step takes would leave nothing to see of the step.
        highest = max(self.peak_bytes, self.unplanned_peak_bytes, 1)
        shows_budget = self.budget_bytes <= 2 * highest
        top = max(highest, self.budget_bytes) if shows_budget else highest
        width, height = _WIDTH - 2 * _LEFT, _HEIGHT - _TOP - _BOTTOM
        floor = _TOP + height

        def x(seconds: float) -> float:
            return round(2 * (_LEFT + width * seconds / end)) / 2

        def y(count: int) -> float:
            return round(floor - height * count / top, 1)

        def steps(seconds: Iterable[float], counts: Iterable[int], last: float) -> str:
            """The path of a curve. Of what happens within half a pixel, its largest and its last value are drawn."""
            columns: dict[float, tuple[int, int]] = {}
            for second, count in zip(seconds, counts, strict=True):
                most = max(count, columns.get(x(second), (0, 0))[0])
                columns[x(second)] = most, count
            moves = [f"H{at}V{y(most)}" + (f"V{y(end)}" if end != most else "") for at, (most, end) in columns.items()]
            return f"M{next(iter(columns))} {floor}{''.join(moves)}H{x(last)}" if moves else ""

        planned = steps(self.seconds, self.bytes, self.end_s)
        legend = f"this plan {size(self.peak_bytes)} in {time(self.end_s)}"
        if self.unplanned_bytes:
            legend += f"; unplanned (dashed) {size(self.unplanned_peak_bytes)} in {time(self.unplanned_end_s)}"
        legend += f"; budget {'(red) ' if shows_budget else ''}{size(self.budget_bytes)}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" '
            f'style="max-width:100%" font-family="sans-serif" font-size="12" aria-label="{html.escape(legend)}">',
            f'<text x="{_LEFT}" y="14" fill="currentColor" font-weight="bold">RAM over the time of a step</text>',
            f'<text x="{_LEFT}" y="32" fill="currentColor">{html.escape(legend)}</text>',
        ]
        if planned:
            filled = f"{planned}V{floor}H{x(self.seconds[0])}Z"
            parts.append(f'<path d="{filled}" fill="#0d9488" fill-opacity="0.3"/>')
            parts.append(f'<path d="{planned}" fill="none" stroke="#0d9488" stroke-width="1.5"/>')
        if self.unplanned_bytes:
            kept = steps(self.unplanned_seconds, self.unplanned_bytes, self.unplanned_end_s)
            parts.append(f'<path d="{kept}" fill="none" stroke="currentColor" stroke-dasharray="4 3" opacity="0.7"/>')
        if shows_budget:
            parts.append(f'<path d="M{_LEFT} {y(self.budget_bytes)}h{width}" stroke="#dc2626"/>')
        parts += [
            f'<path d="M{_LEFT} {floor}h{width}" stroke="currentColor"/>',
            f'<text x="{_LEFT}" y="{_HEIGHT - 8}" fill="currentColor">0</text>',
            f'<text x="{_WIDTH - _LEFT}" y="{_HEIGHT - 8}" fill="currentColor" text-anchor="end">{time(end)}</text>',
            "</svg>",
        ]
        return "".join(parts)

    def _repr_html_(self) -> str:
        return self.svg()
