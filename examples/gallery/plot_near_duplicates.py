"""
Which of these texts are near-copies of others?
===============================================

Documentation repeats itself: a paragraph is copied, and a few words are changed.
Here are the paragraphs of scikit-learn's docstrings, as your version of it has them.
A text becomes the counts of its words and of its pairs of words, and two texts are as alike as what
they share of all that they have, :math:`\\sum \\min / \\sum \\max`.
"""

import inspect
import re
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils import all_estimators

from kernelight import GCWS
from kernelight.data.texts import TextShingles
from kernelight.kernels import GMM
from kernelight.neighbors import deduplicate
from kernelight.theory import band_probability, choose_bands

METHODS = ("__doc__", "fit", "transform", "predict", "predict_proba", "partial_fit", "score")
paragraphs = set()
for _, estimator in all_estimators():
    documented = [estimator, *(getattr(estimator, name, None) for name in METHODS[1:])]
    docstrings = "\n\n".join(inspect.getdoc(each) or "" for each in documented if each)
    found = (" ".join(each.split()) for each in re.split(r"\n\s*\n", docstrings))
    paragraphs.update(each for each in found if len(each.split()) >= 25 and ">>>" not in each)
texts = sorted(paragraphs)  # different ones; equal ones are no puzzle

X = TextShingles().transform(texts)
duplicates = deduplicate(X, threshold=0.7)
print(f"{len(texts)} different paragraphs: {duplicates.n_removed} are near-copies of another")

copies = [at for at in np.flatnonzero(~duplicates.kept) if len(texts[at].split()) < 45]
copies = [at for at in copies if texts[at][0].isalpha() and not texts[at].startswith("See Also")]
example = copies[np.argmin(np.abs(duplicates.similarity[copies] - 0.8))]
print(f"Two of similarity {duplicates.similarity[example]:.2f}:")
for at in (duplicates.survivor[example], example):
    print(textwrap.fill(texts[at], 46, initial_indent="  * ", subsequent_indent="    "))

# %%
# Comparing every pair of millions of texts would take too long.
# So texts are hashed to codes, codes are cut into bands, and only texts that agree in a whole band
# are compared.
# Similar pairs hardly ever miss each other in all bands, and others hardly ever meet.
# Here are few enough texts to see both: the similarities of all pairs, and which of them met.

THRESHOLD = 0.7
plan = choose_bands(256, THRESHOLD, recall=0.95)
codes = GCWS(256, bits=16).fit(X).encode(X).array[:, : plan.bands * plan.rows]
bands = codes.reshape(len(texts), plan.bands, plan.rows)
similarity = GMM()(X)
met = np.zeros(similarity.shape, dtype=bool)
for band in bands.transpose(1, 0, 2):
    _, bucket = np.unique(band, axis=0, return_inverse=True)
    met |= bucket[:, None] == bucket[None, :]
pairs = np.triu_indices(len(texts), 1)
similarity, met = similarity[pairs], met[pairs]

edges = np.arange(21) / 20
fig, (above, below) = plt.subplots(2, 1, figsize=(5.4, 5.6), sharex=True, layout="constrained")
alike = similarity >= THRESHOLD
above.hist(similarity[~alike], edges, color="0.75")
above.hist(similarity[alike], edges, color="C1")
above.set(
    yscale="log", ylabel="pairs", title=f"{len(similarity):,} pairs, {alike.sum()} of them alike"
)
above.text(0.72, 3000, "alike", color="C1", weight="bold")

grid = np.linspace(0, 1, 300)
below.plot(grid, band_probability(grid, plan.bands, plan.rows), color="C0")
which = np.digitize(similarity, edges)
for at in np.unique(which):
    mean, fraction = similarity[which == at].mean(), met[which == at].mean()
    below.plot(mean, fraction, "o", color="C1" if mean >= THRESHOLD else "0.5")
below.axvline(THRESHOLD, color="0.5", linewidth=1, linestyle=":")
below.text(0.5, 0.62, "theory", color="C0", weight="bold", ha="right")
below.set(xlabel="similarity", ylabel="fraction that met", ylim=(-0.03, 1.05))
below.set_title(f"{plan.bands} bands of {plan.rows} slots: who meets")
plt.show()

# %%
# Dots are what was counted in each range of similarities.
# Texts share phrases, so that pairs are not independent, and dots stray where pairs are few.

print(f"of the pairs that are alike {met[alike].mean():.1%} met; at least 95 % were planned")
print(f"of the others {met[~alike].mean():.3%} met: {met.sum():,} comparisons in all,", end=" ")
print(f"instead of {len(met):,}")

# %%
# :func:`~kernelight.neighbors.deduplicate` plans its bands itself, or compares all pairs where that
# is cheaper, as here.
# ``kernelight dedup`` does the same with files, also with files larger than memory.
