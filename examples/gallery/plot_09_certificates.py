"""
A certificate for every metric
==============================

The duality gap bounds the error of a fit. A Newton method reaches it in a few iterations; cyclic projections, the
algorithm of the paper, take many more. Stopped early, it says how far it is at most.
"""

import matplotlib.pyplot as plt
import numpy as np

from isthmus import MLHD
from isthmus.data import load_digits
from isthmus.view import plot_convergence

d = load_digits(1, n_source=50, n_target=100, random_state=100)
rows = d.X_source, d.y_source, d.X_target, d.y_target
newton, projections = MLHD().fit(*rows), MLHD(solver="bregman", max_iter=60).fit(*rows)
print(newton.result_)
print(projections.result_)
distances = [model.pairwise_distances(d.X_source, d.X_test[:50]) for model in (newton, projections)]
print(f"largest relative difference of distances: {np.max(abs(distances[0] / distances[1] - 1)):.1e}")

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for model in (newton, projections):
    plot_convergence(model, ax=ax)
figure
