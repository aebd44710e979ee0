"""
An old index under a new embedding model
========================================

An adapter from the new space to the old one, its recall on held-out pairs, and whether more pairs would help.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from isthmus import migrate
from isthmus.view import plot_recall

pixels = load_digits().data / 16
rng = np.random.default_rng(0)
old = PCA(24, random_state=0).fit_transform(pixels)
new = np.tanh(pixels @ rng.normal(size=(64, 48)) / 3)
both = np.arange(400)
adapter = migrate(old, new[both], pairs=np.c_[both, both])
print(adapter)

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_recall(adapter.recall, ax=ax)
figure
