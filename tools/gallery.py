"""Run the examples of the gallery, each in a process of its own, and save their pictures.

    python tools/gallery.py [plot_darts ...] [--out build/gallery]

Prints what each example takes and ends with an error if one takes more than 20 seconds, warns,
fails or draws nothing. Pictures are saved for light and dark pages, in full size; what the examples
print goes to a text file beside them.
"""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "examples" / "gallery"
LIMIT = 20.0  # seconds


def run_here(example: Path, out: Path) -> None:
    """Run an example in this process and save the figures whenever it shows them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sys.path.insert(0, str(GALLERY))  # where it is when an example is run by itself
    import _style

    _style.use()
    saved: list[Path] = []

    def save_all() -> None:
        for number in plt.get_fignums():
            saved.append(out / f"{example.stem}_{len(saved) + 1}.png")
            figure = plt.figure(number)
            _style.save_both(
                figure, saved[-1], dark_options={"facecolor": _style.DARK[_style.PAPER]}
            )
        plt.close("all")

    plt.show = save_all
    runpy.run_path(str(example), run_name="__main__")
    if plt.get_fignums():
        sys.exit(f"{example.name} draws a figure that it does not show: call plt.show().")
    if not saved:
        sys.exit(f"{example.name} draws nothing.")


def run_apart(example: Path, out: Path) -> tuple[bool, float, float, str]:
    """Run an example in a process of its own.

    Whether it went well, its seconds, those of the processor, and what it printed.
    """
    for old in out.glob(f"{example.stem}_*.png"):
        old.unlink()
    start, before = perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__, "--here", str(example), "--out", str(out)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        # threads that wait do not spin: other programs may need the cores
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "OMP_WAIT_POLICY": "passive"},
    )
    seconds = perf_counter() - start
    (out / f"{example.stem}.txt").write_text(done.stdout, encoding="utf-8")
    after = os.times()
    busy = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return done.returncode == 0, seconds, busy, done.stdout + done.stderr


def main() -> None:
    """Run those that are named, or all."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument(
        "examples", nargs="*", help="names such as plot_darts; all if none is given"
    )
    options.add_argument("--out", type=Path, default=ROOT / "build" / "gallery")
    options.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    wanted = options.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    if wanted.here is not None:
        run_here(wanted.here, wanted.out)
        return
    names = [Path(name).stem for name in wanted.examples]
    examples = [GALLERY / f"{name}.py" for name in names] or sorted(GALLERY.glob("plot_*.py"))
    total, bad = 0.0, []
    for example in examples:
        well, seconds, busy, said = run_apart(example, wanted.out)
        total += seconds
        verdict = "" if well else ": FAILED"
        print(f"{seconds:6.1f} s  {busy:6.1f} s of cores  {example.stem}{verdict}", flush=True)
        if not well:
            print(said)
        if not well or seconds > LIMIT:
            bad.append(example.stem)
    print(f"{total:6.1f} s  in all; pictures are in {wanted.out}")
    if bad:
        sys.exit(f"Failed, or longer than {LIMIT:g} seconds: {', '.join(bad)}.")


if __name__ == "__main__":
    main()
