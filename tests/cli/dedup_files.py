"""Texts with near-duplicates, and the lines of files, for the tests of kernelight dedup."""

from __future__ import annotations

import numpy as np

WORDS = [f"w{at}" for at in range(500)]


def some_texts(seed: int = 0, n: int = 120) -> list[str]:
    """Texts of which a half are copies with a few other words, or none."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, 25)) for _ in range(n // 2)]
    for _ in range(n // 2):
        words = texts[int(random.integers(0, n // 2))].split()
        for _ in range(int(random.integers(0, 6))):
            words[int(random.integers(0, 25))] = str(random.choice(WORDS))
        texts.append(" ".join(words))
    return [texts[at] for at in random.permutation(n)]


def lines_of(path) -> list[str]:
    with open(path, newline="") as file:
        return file.read().splitlines()
