"""
How many known pairs does a map need?
=====================================

Recall of the same image among 300, by pixels and by shape features, for three systems over the number of known pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from isthmus import CCA, Procrustes, RidgeMap
from isthmus.data.datasets import shape_features

images = load_digits().images[np.random.default_rng(100).permutation(1797)[:700]] / 16
pixels, shapes = images.reshape(700, -1), shape_features(images)
counts, held_out = (10, 30, 100, 300), slice(400, 700)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
scaled = {"source_transformer": StandardScaler(), "target_transformer": StandardScaler()}
for system in (RidgeMap(**scaled), Procrustes(**scaled), CCA(**scaled)):
    recalls = []
    for n in counts:
        model = system.fit(pixels[:n], None, shapes[:n], None, pairs="rows")
        nearest = model.pairwise_distances(pixels[held_out], shapes[held_out]).argmin(axis=0)
        recalls.append(np.mean(nearest == np.arange(300)))
    ax.plot(counts, recalls, marker="o", label=type(system).__name__)
ax.axhline(1 / 300, color="#bbbbbb", label="chance level")
ax.set(xscale="log", xlabel="known pairs", ylabel="recall@1", ylim=(0, 1))
ax.legend()
