"""A slow twin of `Index`: a dict of rows, and loops over pairs."""

from __future__ import annotations

import numpy as np

from kernelight.kernels import GMM
from kernelight.neighbors import band_keys


class Twin:
    """What an index should hold and find."""

    def __init__(self, index):
        self.map, self.plan = index.map, index._store.manifest.plan
        self.exact = index._power is not None
        self.rows = {}

    def codes(self, X):
        return self.map.encode(X)

    def _score(self, u, v, cu, cv):
        if self.exact:
            return float(GMM(p=self.map.p)(u[None], v[None])[0, 0])
        P = float((cu == cv).mean())
        if self.plan.bits is None:
            return P
        chance = 2.0**-self.plan.bits
        return (P - chance) / (1 - chance)

    def _candidate(self, cu, cv, ku, kv, threshold):
        if threshold < self.plan.threshold:
            return None
        last = slice(self.plan.n_components - self.plan.sketch, None)
        equal = int((cu[last] == cv[last]).sum())
        return bool((ku == kv).any()) and equal >= self.plan.least(threshold)

    def _all(self):
        names = sorted(self.rows)
        X = np.array([self.rows[name] for name in names])
        codes = self.codes(X)
        keys = band_keys(codes, self.plan.bands, self.plan.rows) >> np.uint64(32)
        return names, X, codes, keys

    def above(self, Q, threshold):
        """For each query a list of (id, score), best first."""
        if not self.rows:
            return [[] for _ in Q]
        names, X, codes, keys = self._all()
        asked = self.codes(Q)
        of_queries = band_keys(asked, self.plan.bands, self.plan.rows) >> np.uint64(32)
        results = []
        for q in range(len(Q)):
            found = []
            for r, name in enumerate(names):
                if asked.empty[q] or codes.empty[r]:
                    continue
                pair = asked.array[q], codes.array[r]
                if self._candidate(*pair, of_queries[q], keys[r], threshold):
                    score = self._score(Q[q], X[r], *pair)
                    if score >= threshold:
                        found.append((name, score))
            results.append(sorted(found, key=lambda each: -each[1]))  # stable: ids ascend
        return results

    def pairs(self, threshold, cap=4096):
        """All (id, id, score), the smaller id first; of a bucket the first ``cap`` ids count."""
        if not self.rows:
            return []
        names, X, codes, keys = self._all()
        late = set()  # rows that no later one meets in a band
        for band in range(self.plan.bands):
            met = {}
            for r in range(len(names)):
                if codes.empty[r]:
                    continue
                met[keys[r, band]] = met.get(keys[r, band], 0) + 1
                if met[keys[r, band]] > cap:
                    late.add((r, band))
        found = []
        for a in range(len(names)):
            for b in range(a + 1, len(names)):
                if codes.empty[a] or codes.empty[b]:
                    continue
                pair = codes.array[a], codes.array[b]
                here = [band for band in range(self.plan.bands) if (a, band) not in late]
                if self._candidate(*pair, keys[a][here], keys[b][here], threshold):
                    score = self._score(X[a], X[b], *pair)
                    if score >= threshold:
                        found.append((names[a], names[b], score))
        return found
