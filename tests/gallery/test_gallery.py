"""The examples of the gallery: each runs without a warning and draws, and its pictures have twins.

`tools/gallery.py` runs them as they are run here, and says which take too long.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("plot_*.py"))
SAMPLE = {"plot_correlation", "plot_darts", "plot_molecules"}  # a second or two each
STYLE = runpy.run_path(str(GALLERY / "_style.py"))


@pytest.fixture
def look() -> Any:
    """The look of the gallery, on a backend without a screen, and what was before afterwards."""
    with matplotlib.rc_context():
        plt.switch_backend("agg")
        STYLE["use"]()
        yield STYLE
        plt.close("all")


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in SAMPLE else [pytest.mark.nightly])
        for path in EXAMPLES
    ],
)
def test_example_runs_and_draws(example: Path, tmp_path: Path) -> None:
    """In a process of its own, where every warning is an error."""
    command = [sys.executable, str(ROOT / "tools" / "gallery.py"), example.stem]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True)
    print(done.stdout)  # the seconds it took; how long an example may take is for the tool to say
    assert "FAILED" not in done.stdout, done.stdout
    pictures = sorted(path.stem for path in tmp_path.glob("*.png"))
    assert f"{example.stem}_1" in pictures
    for name in pictures:
        assert name.endswith("_dark") or f"{name}_dark" in pictures


def test_every_example_has_a_place_and_a_question() -> None:
    assert sorted(STYLE["ORDER"]) == [path.name for path in EXAMPLES]
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        title, line = text.removeprefix('"""\n').split("\n")[:2]
        assert set(line) == {"="}, path.name
        assert len(line) == len(title), path.name
        assert "?" in text.split('"""')[1], path.name
        assert "_style" not in text, f"{path.name} must run where it is copied to"


def test_examples_need_only_the_core_and_matplotlib() -> None:
    """What an installation without the extras has, and nothing that is downloaded."""
    known = {"kernelight", "matplotlib", "numpy", "scipy", "sklearn"} | set(sys.stdlib_module_names)
    for path in EXAMPLES:
        text = path.read_text(encoding="utf-8")
        used = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
        assert used <= known, path.name
        assert "fetch_" not in text, path.name


def test_dark_twin_changes_every_colour_of_the_look(look: dict[str, Any], tmp_path: Path) -> None:
    figure, ax = plt.subplots()
    (line,) = ax.plot([0, 1], [0, 1], "o-", color="C0")
    bars = ax.bar([0], [1], color="C1", alpha=0.5)
    dots = ax.scatter([0, 1], [1, 0], color="C2")
    image = ax.imshow([[0, 1]], cmap="Oranges")
    own = ax.axhline(0.5, color="#123456")
    title = ax.set_title("a title")
    dark = look["save_both"](figure, tmp_path / "picture.png")
    assert dark.name == "picture_dark.png"
    assert dark.stat().st_size > 1000
    wanted = {name: look["DARK"][color] for name, color in zip("012", look["CYCLE"], strict=False)}
    assert to_hex(line.get_color()) == to_hex(line.get_markerfacecolor()) == wanted["0"]
    assert to_hex(bars[0].get_facecolor()) == wanted["1"]
    assert bars[0].get_facecolor()[3] == 0.5
    assert to_hex(dots.get_facecolor()[0]) == wanted["2"]
    assert image.get_cmap().name == "Oranges on dark"
    assert to_hex(own.get_color()) == "#123456"
    assert to_hex(title.get_color()) == to_hex(look["DARK"][look["INK"]])
    assert to_hex(ax.get_xticklabels()[0].get_color()) == to_hex(look["DARK"][look["SOFT"]])
    assert not set(wanted.values()) & set(look["CYCLE"])


def test_scraper_shows_each_figure_for_both_themes(look: dict[str, Any], tmp_path: Path) -> None:
    plt.subplots()[1].set_title("what is seen")
    plt.subplots(figsize=(5, 3))
    paths = iter([str(tmp_path / "images" / f"{at}.png") for at in (1, 2)])
    (tmp_path / "images").mkdir()
    text = look["scraper"]((), {"image_path_iterator": paths}, {"src_dir": str(tmp_path)})
    assert re.findall(r"^\.\. image:: (.*)$", text, re.MULTILINE) == [
        "/images/1.png",
        "/images/1_dark.png",
        "/images/2.png",
        "/images/2_dark.png",
    ]
    assert text.count("only-light") == text.count("only-dark") == 2
    assert ":alt: what is seen" in text
    assert ":width: 600px" in text
    assert len(list((tmp_path / "images").iterdir())) == 4
    assert not plt.get_fignums()
