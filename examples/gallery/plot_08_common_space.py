"""
Two domains in the space of MLHD
================================

Each domain has its own columns; after the fit, both are in one space where the classes agree.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from isthmus import MLHD
from isthmus.data import load_digits
from isthmus.view import plot_common_space

d = load_digits(3, n_source=150, n_target=200, random_state=100)
rows = d.X_source, d.y_source, d.X_target, d.y_target
model = MLHD(source_transformer=StandardScaler(), target_transformer=StandardScaler()).fit(*rows)
print(model.result_)

# %%
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
plot_common_space(model, *rows, ax=ax)
figure
