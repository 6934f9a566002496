"""What the benchmark of devices measures, a `Study` of each data set, and its bars: `rows_of`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from _device_models import OURS, label_of
from _device_peers import PEERS
from _integer_mlp import Array
from _measure import Row

TARGETS = {"digits": 98.5, "Letter": 92.0, "Satimage": 90.0, "USPS": 95.0}
FLASH = {"digits": 4000, "Letter": 10_300}  # bars for a model that reaches the target
RAM, INSTRUCTIONS = 512, 100_000  # digits, M3
BY_HAND = {"digits": 2560, "Satimage": 2560}  # the budget of a grid by hand
HAND_SPLITS, HAND_POINTS = 2, 0.5  # splits of the grid; what it may be better by


@dataclass
class Point:
    """A model of some size."""

    data: str
    method: str
    label: str
    accuracy: float  # percent, mean over the splits
    flash: int = 0  # of a Cortex-M3
    ram: int = 0
    instructions: dict[str, float] = field(default_factory=dict)
    on_front: bool = False

    def __str__(self) -> str:
        return f"{self.label}, {self.accuracy:.1f} %, {self.flash:,} B"


@dataclass
class Differences:
    """Rows that are predicted otherwise, and rows compared."""

    different: int = 0
    rows: int = 0

    def add(self, one: Array, other: Array) -> None:
        """Compare some rows."""
        self.different += int((one != other).sum())
        self.rows += len(one)


@dataclass
class Study:
    """All points of a data set, and whether C, twins and Python agree."""

    data: str
    points: list[Point] = field(default_factory=list)
    host: Differences = field(default_factory=Differences)
    device: Differences = field(default_factory=Differences)
    integer: Differences = field(default_factory=Differences)
    floating: Differences = field(default_factory=Differences)
    peers: Differences = field(default_factory=Differences)
    #: of every CompactClassifier: the budget, and bytes measured on a device
    sizes: list[tuple[int, str, int]] = field(default_factory=list)
    #: accuracies of the best found by hand and of CompactClassifier, its settings
    hand: tuple[float, float, str] | None = None


def front(points: Iterable[Point]) -> list[Point]:
    """Those that no other beats in both bytes and accuracy, by bytes."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.flash, -point.accuracy)):
        if not kept or point.accuracy > kept[-1].accuracy:
            kept.append(point)
    return kept


def reference(name: str, points: list[Point]) -> Point:
    """Our smallest model that reaches the target of a data set, or else our most accurate one."""
    ours = [point for point in points if point.data == name and point.method in OURS]
    enough = [point for point in ours if point.accuracy >= TARGETS[name]]
    if enough:
        return min(enough, key=lambda point: point.flash)
    return max(ours, key=lambda point: point.accuracy)


def peer_of(ours: Point, method: str, points: list[Point]) -> Point | None:
    """The smallest model of a method that is as accurate as ours, or its most accurate one."""
    theirs = [point for point in points if (point.data, point.method) == (ours.data, method)]
    enough = [point for point in theirs if point.accuracy >= ours.accuracy]
    if enough:
        return min(enough, key=lambda point: point.flash)
    return max(theirs, key=lambda point: point.accuracy, default=None)


def rows_of(studies: list[Study]) -> list[Row]:
    """The bars."""
    compared = (
        _equality(claim, peer, [getattr(study, name) for study in studies], most)
        for claim, peer, name, most in (
            ("integer C, rows on the host", "its twin in NumPy", "host", 0),
            ("integer C, rows on M0+, M3, M4", "its twin in NumPy", "device", 0),
            ("integer C, test rows of all splits", "Python", "integer", 1 / 5000),
            ("C of floats, test rows", "Python", "floating", 0),
            ("C of peers, test rows", "their twins", "peers", None),
        )
    )
    rows = [row for row in compared if row is not None]
    for study in studies:
        ours = reference(study.data, study.points)
        rows += [*_own_bars(ours), *_within(study), *_against(ours, study.points)]
        rows += _of_budgets(study)
    return rows


def _within(study: Study) -> list[Row]:
    """Of digits, how accurate our best model within all three limits is."""
    small = [
        point
        for point in study.points
        if point.method in OURS and point.flash <= FLASH["digits"] and point.ram <= RAM
    ]
    small = [point for point in small if point.instructions["M3"] <= INSTRUCTIONS]
    if study.data != "digits" or not small:
        return []
    best = max(small, key=lambda point: point.accuracy)
    return [
        {
            "claim": f"digits: {best.method.split(', ')[-1]}, {best}, {best.ram:,} B of RAM, "
            f"{best.instructions['M3']:,.0f} instructions: accuracy",
            "peer": f"{FLASH['digits']:,} B, {RAM} B of RAM, {INSTRUCTIONS:,} instructions",
            "bar": f"at least {TARGETS['digits']:g} %",
            "measured": best.accuracy,
            "unit": "%",
            "holds": best.accuracy >= TARGETS["digits"],
        }
    ]


def _of_budgets(study: Study) -> list[Row]:
    """Whether budgets hold, and what a grid by hand finds beyond `CompactClassifier`."""
    rows: list[Row] = []
    if study.sizes:
        budget, device, size = max(study.sizes, key=lambda each: each[2] / each[0])
        rows.append(
            {
                "claim": f"{study.data}: CompactClassifier, {len(study.sizes)} measured sizes, "
                f"the fullest: {size:,} B on {device}",
                "peer": f"max_bytes={budget:,}",
                "bar": "never exceeded",
                "measured": size / budget,
                "holds": size <= budget,
            }
        )
    if study.hand is not None:
        best, found, words = study.hand
        rows.append(
            {
                "claim": f"{study.data}: CompactClassifier, {label_of(BY_HAND[study.data])}, "
                f"{found:.2f} %, {HAND_SPLITS} splits",
                "peer": f"the best by hand on test rows: {best:.2f} % ({words})",
                "bar": f"at most {HAND_POINTS:g} points less",
                "measured": best - found,
                "unit": "points",
                "holds": best - found <= HAND_POINTS,
            }
        )
    return rows


def _equality(claim: str, peer: str, each: list[Differences], most: float | None) -> Row | None:
    """All data sets together; None if nothing was compared."""
    seen = Differences(sum(one.different for one in each), sum(one.rows for one in each))
    if seen.rows == 0:
        return None
    bar = "none, for comparison" if most is None else f"at most {most * 5000:g} of 5,000 differ"
    if most == 0:
        bar = "0 rows differ"
    return {
        "claim": f"{claim}: {seen.rows:,}",
        "peer": peer,
        "bar": bar,
        "measured": seen.different,
        "unit": "differ",
        "holds": most is None or seen.different <= most * seen.rows,
    }


def _own_bars(ours: Point) -> list[Row]:
    target = TARGETS[ours.data]
    reached = ours.accuracy >= target
    claim = f"{ours.data}: {ours.method.split(', ')[-1]}, {ours.label}, "
    rows = [
        {
            "claim": f"{claim}accuracy",
            "peer": "the target",
            "bar": f"at least {target:g} %",
            "measured": ours.accuracy,
            "unit": "%",
            "holds": reached,
        }
    ]
    bars = [("flash", FLASH.get(ours.data), ours.flash, "B")]
    if ours.data == "digits":
        bars += [("RAM", RAM, ours.ram, "B")]
        bars += [("M3", INSTRUCTIONS, round(ours.instructions["M3"]), "instructions")]
    for what, most, measured_, unit in bars:
        rows.append(
            {
                "claim": f"{claim}{what}",
                "peer": "the target",
                "bar": "none" if most is None else f"at most {most:,}",
                "measured": measured_,
                "unit": unit,
                "holds": most is None or (reached and measured_ <= most),
            }
        )
    return rows


def _against(ours: Point, points: list[Point]) -> list[Row]:
    rows = []
    claim = f"{ours.data}: {ours.method.split(', ')[-1]}, {ours}"
    for method, most in (("emlearn, forest", 1 / 6), ("emlearn, MLP", 1 / 2)):
        peer = peer_of(ours, method, points)
        if peer is not None:
            bar = f"at most 1/{1 / most:g} of the flash"
            rows.append(_ratio(claim, f"{method}: {peer}", bar, ours.flash / peer.flash, most))
    peer = peer_of(ours, "emlearn, MLP", points)
    if peer is not None:
        for device in ("M0+", "M3"):
            ratio = ours.instructions[device] / peer.instructions[device]
            bar = f"fewer instructions, {device}"
            rows.append(_ratio(claim, f"emlearn, MLP: {peer.label}", bar, ratio, 1.0))
    for method in PEERS:
        peer = peer_of(ours, method, points)
        if method.startswith("integer") and peer is not None:
            bar = "none (flash): the front is published"
            rows.append(_ratio(claim, f"{method}: {peer}", bar, ours.flash / peer.flash, None))
    return rows


def _ratio(claim: str, peer: str, bar: str, measured_: float, most: float | None) -> Row:
    holds = most is None or measured_ <= most
    return {"claim": claim, "peer": peer, "bar": bar, "measured": measured_, "holds": holds}
