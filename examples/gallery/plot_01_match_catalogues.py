"""
Match two tables of products
============================

Names in another order, words missing, prices that differ: the columns of both tables are compared, and their
weights are learned without a known pair.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from isthmus import match

rng = np.random.default_rng(0)
consonants = list("bcdfghklmnprstvw")
letters = np.stack([rng.choice(consonants, (150, 3)), rng.choice(list("aeiou"), (150, 3))], axis=2)
words = np.array(["".join(each.ravel()) for each in letters])
goods = [rng.choice(words, 4, replace=False) for _ in range(300)]
prices = rng.uniform(5, 120, 300)
order = rng.permutation(300)[:200]
shop = pd.DataFrame({"title": [" ".join(each) for each in goods[:250]], "price": prices[:250].round(2)})
catalogue = pd.DataFrame(
    {
        "name": [", ".join(rng.permutation(goods[i])[:2]).upper() for i in order],
        "price": [f"{prices[i] * rng.uniform(0.9, 1.1):.2f} USD" for i in order],
    }
)
found = match(shop, catalogue)
print(found)

# %%
# The truth is known here, as the example made the tables. 50 products of the catalogue at most are not in the shop.
right = order[found.pairs[:, 1]] == found.pairs[:, 0]
print(f"{right.sum()} of {len(found)} matches are right; {np.sum(order < 250)} were possible")
figure, ax = plt.subplots()
ax.hist(found.confidence, bins=20, range=(0, 1))
ax.set(xlabel="confidence", ylabel="matches")
figure
