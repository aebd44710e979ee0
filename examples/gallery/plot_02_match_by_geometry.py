"""
Match two collections that share no column
==========================================

The same images as pixels and as shape features, in another order. Thirty pairs are known; a third of them is held
out to measure the recall.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from isthmus import match
from isthmus.data.datasets import shape_features
from isthmus.view import plot_matches

rng = np.random.default_rng(100)
images = load_digits().images[rng.permutation(1797)[:400]] / 16
order = rng.permutation(400)
pixels, shapes = images.reshape(400, -1), shape_features(images)[order]
where = np.argsort(order)
found = match(pixels, shapes, pairs=[(i, where[i]) for i in range(30)])
print(found)

# %%
# If the matches are right, the lines between both collections are roughly parallel.
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
plot_matches(found, pixels, shapes, ax=ax)
figure
