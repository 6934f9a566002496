"""Rows with duplicates of all kinds, and what one machine says of them."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernelight.data.texts import TextShingles
from kernelight.tables.deduplication import DedupSettings, deduplicate_rows, open_rows


def table(n: int = 400, seed: int = 0) -> pa.Table:
    """Numbers, words, dates, missing cells, and 0/1 columns: a third of the rows are copies."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 3)
    bits = rng.random((n, 12)) < 0.2
    word = rng.choice(["red", "green", "blue", "grey"], n)
    day = rng.integers(18_000, 20_000, n)
    for row in range(n // 3, n):
        if rng.random() < 0.5:  # a copy of an earlier row, equal or nearly
            other = rng.integers(0, row)
            X[row], bits[row], word[row], day[row] = X[other], bits[other], word[other], day[other]
            if rng.random() < 0.7:
                X[row, rng.integers(0, 4)] += rng.normal() * 0.05
                bits[row, rng.integers(0, 12)] ^= True
    gone = rng.random(n) < 0.05
    X[rng.random(X.shape) < 0.03] = np.nan
    dates = [datetime.date(1970, 1, 1) + datetime.timedelta(int(each)) for each in day]
    return pa.table(
        {
            "id": np.arange(n) * 3 - 100,
            **{f"x{at}": pa.array(X[:, at], from_pandas=True) for at in range(4)},
            **{f"b{at}": bits[:, at].astype(np.int64) for at in range(12)},
            "word": pa.array([None if no else each for no, each in zip(gone, word, strict=True)]),
            "day": pa.array([None if at % 41 == 0 else each for at, each in enumerate(dates)]),
        }
    )


def said_here(rows: pa.Table, path: str, *, texts=(), scale=None, ignore=(), **settings):
    """What `kernelight dedup --method bands` finds in a file of the rows in the order of ids."""
    pq.write_table(rows.sort_by("id"), path)
    opened = open_rows(
        path,
        texts=texts,
        shingles=TextShingles() if texts else None,
        scale=scale,
        ids="id",
        ignore=list(ignore),
    )
    made = deduplicate_rows(opened, DedupSettings(**{"method": "bands", **settings}))
    ids = rows.sort_by("id")["id"].to_pylist()
    found = made.found
    return {
        "survivors": [ids[at] for at in np.flatnonzero(found.kept)],
        "pairs": [
            (ids[i], ids[j], similarity)
            for i, j, similarity in zip(*(part.tolist() for part in found.pairs), strict=True)
        ],
        "clusters": [
            (ids[at], ids[survivor], similarity)
            for at, (survivor, similarity) in enumerate(
                zip(found.survivor.tolist(), found.similarity.tolist(), strict=True)
            )
        ],
        "facts": made.facts(),
    }


def said_there(result, id="id"):
    """The same of a result on Spark."""
    pairs = result.pairs.toArrow().sort_by([("id_a", "ascending"), ("id_b", "ascending")])
    clusters = result.clusters.toArrow().sort_by("id")
    return {
        "survivors": sorted(result.survivors.select(id).toArrow()[id].to_pylist()),
        "pairs": list(zip(*(column.to_pylist() for column in pairs.columns), strict=True)),
        "clusters": list(zip(*(column.to_pylist() for column in clusters.columns), strict=True)),
        "facts": result.summary,
    }


def refuse_difference(here, there) -> None:
    """Assert that both are the same, to the bit."""
    for name in ("survivors", "clusters"):
        assert here[name] == there[name], name
    assert sorted(here["pairs"]) == sorted(there["pairs"])
    facts, other = here["facts"], there["facts"]
    for name in ("rows", "kept", "removed", "identical", "near", "empty", "pairs", "capped"):
        assert facts[name] == other[name], name
    assert facts["below_threshold"] == other["below_threshold"]
    if here["pairs"]:
        plan = {name: value for name, value in facts["plan"].items() if name != "curve"}
        assert plan == {n: v for n, v in other["plan"].items() if n != "curve"}
