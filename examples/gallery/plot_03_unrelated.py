"""
Two collections without a common object
=======================================

A linker that always answers is of little use. Here the second collection is noise, or has nothing to do with the
first: nothing is returned.
"""

import matplotlib.pyplot as plt
import numpy as np

from isthmus import match

rng = np.random.default_rng(0)
meaning = rng.gamma(0.3, size=(150, 8))
A = meaning @ rng.normal(size=(8, 30))
related = (meaning @ rng.normal(size=(8, 25)))[rng.permutation(150)]
others = {
    "the same objects": related,
    "half of them": np.vstack([related[:75], rng.gamma(0.3, size=(75, 8)) @ rng.normal(size=(8, 25))]),
    "columns permuted": np.column_stack([rng.permutation(column) for column in related.T]),
    "noise": rng.normal(size=(150, 25)),
}
found = {name: match(A, B, random_state=0) for name, B in others.items()}
for name, each in found.items():
    print(f"{name}: {each}\n")

# %%
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
colours = {True: "#117733", None: "#ddaa33", False: "#bb5566"}
ax.barh(list(found), [len(each) for each in found.values()], color=[colours[each.ok] for each in found.values()])
for y, each in enumerate(found.values()):
    ax.text(len(each) + 2, y, {True: "matched", None: "doubtful", False: "failed"}[each.ok], va="center")
ax.set(xlabel="pairs returned, of 150", xlim=(0, 175))
ax.invert_yaxis()
