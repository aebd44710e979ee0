"""
Hubs in search across domains
=============================

Some rows are near to everything. The correction (CSLS) subtracts what a row has in common with all: fewer rows are
found again and again, and more partners are first.
"""

import matplotlib.pyplot as plt
import numpy as np

from isthmus import CCA, Index

rng = np.random.default_rng(0)
shared = rng.normal(size=(600, 20))
A, B = (shared @ rng.normal(size=(20, k)) + 2.5 * rng.normal(size=(600, k)) for k in (40, 60))
model = CCA().fit(A[:100], None, B[:100], None, pairs="rows")
index = Index(model).add(A[100:], "source")
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for label, csls in (("cosine", False), ("with CSLS", True)):
    found = index.search(B[100:], k=1, csls=csls).ids[:, 0]
    first = np.mean(found == np.arange(500))
    counts = np.sort(np.bincount(found, minlength=500))[::-1]
    ax.plot(counts[:60], label=f"{label}: {first:.2f} of partners are first")
ax.set(xlabel="rows of the index, most frequent first", ylabel="queries that find it first")
ax.legend()
