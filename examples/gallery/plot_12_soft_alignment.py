"""
Align two curves without a pair or label
========================================

An optimal transport plan between the distances of either collection. Colour is where on its curve a row is.
"""

import matplotlib.pyplot as plt
import numpy as np

from isthmus import align
from isthmus.evidence import foscttm

rng = np.random.default_rng(0)
t = rng.beta(1.0, 2.5, size=(150, 1))
A, B = (np.cos(3.0 * t * np.linspace(0.2, 1.0, d) + rng.uniform(0.0, 6.0, size=d)) for d in (8, 12))
found = align(A, B, metric="euclidean")
print(found)
print(f"fraction of samples closer than the true match: {foscttm(found.embed(), found.B):.3f}")

# %%
order = np.argsort(t[:, 0])
figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
ax.imshow(found.coupling.table()[np.ix_(order, order)], cmap="Blues", aspect="auto")
ax.set(xlabel="rows of B along the curve", ylabel="rows of A along the curve", title="the coupling")
