"""
Can I train on a table that does not fit into memory?
=====================================================

Give :meth:`~kernelight.TableModel.fit` a limit for the memory of the process.
It then reads the file in pieces, turns rows to codes, which are much smaller, and learns from the
codes of all rows.
Here a file of customers and what they buy is learned twice, each time by a process of its own, and
we watch how much memory each of them takes.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

N_ROWS, N_GOODS, LIMIT = 120_000, 250, 400

PROGRAM = """
import sys
from kernelight import KernelClassifier, TableModel

folder, memory = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
classifier = KernelClassifier("gmm", n_components=64, scale=None, C=1.0)
model = TableModel(classifier).fit(f"{folder}/train.npz", memory=memory)
print(model.n_rows_, model.score(f"{folder}/test.npz"))
"""


def write_customers(path, n_rows, seed):
    """Two groups of customers, who differ in what they tend to buy; amounts have a heavy tail."""
    tends = np.random.default_rng(0).uniform(0.02, 0.25, (2, N_GOODS)).astype(np.float32)
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_rows)
    bought = rng.random((n_rows, N_GOODS), dtype=np.float32) < tends[group]
    np.savez(
        path, X=bought * rng.standard_exponential(bought.shape, dtype=np.float32) ** 2, y=group
    )


def memory_of(pid):
    """The megabytes (2^20 bytes) that a process has in memory."""
    statm = Path(f"/proc/{pid}/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * 4096 / 2**20
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True)
    return int(shown.stdout or 0) / 2**10


def watch(*arguments):
    """Run the program; seconds and megabytes while it ran, and what it printed."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    start, seen = time.perf_counter(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            seen.append((time.perf_counter() - start, memory_of(process.pid)))
            time.sleep(0.02)
        said = process.stdout.read().split()
    return np.array([each for each in seen if each[1] > 0]), int(said[0]), float(said[1])


with tempfile.TemporaryDirectory() as folder:
    write_customers(f"{folder}/train.npz", N_ROWS, seed=1)
    write_customers(f"{folder}/test.npz", 5000, seed=2)
    size = Path(folder, "train.npz").stat().st_size / 2**20
    runs = {"all at once": watch(folder), "within a limit": watch(folder, f"{LIMIT}M")}

fig, ax = plt.subplots(layout="constrained")
for (name, (seen, _, _)), color, style in zip(runs.items(), ("C1", "C0"), ("--", "-"), strict=True):
    ax.plot(*seen.T, style, color=color, label=name)
ax.axhline(LIMIT, color="0.5", linewidth=1, linestyle=":")
ax.text(0, LIMIT + 8, f"memory='{LIMIT}M'", color="0.5")
ax.set(xlabel="seconds", ylabel="memory of the process, MB", ylim=(0, None))
ax.legend(loc="lower right")
ax.set_title(f"Learning from a file of {size:.0f} MB")
plt.show()

# %%
# Both begin with importing Python's libraries, whose memory counts as well.
# Within the limit the rows come and go, and their codes stay.
# The second curve has its top near the limit: memory that is allowed is used.

for name, (seen, n_rows, accuracy) in runs.items():
    print(f"{name:15} {n_rows:,} rows, at most {seen[:, 1].max():.0f} MB, {accuracy:.1%} right")

# %%
# A tenth of the rows is held out of a training within a limit, to score the final model, and what
# is tuned is tuned on a sample.
# A limit that cannot be kept is refused at once, with the one that would do.
# Where even the codes of all rows are too many, they wait in a temporary file.
