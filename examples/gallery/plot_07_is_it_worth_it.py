"""
What is a source worth?
=======================

Labels of the target are hidden several times: accuracy with the source and without, over the labels per class. The
band is the interval of the difference.
"""

import matplotlib.pyplot as plt

from isthmus import does_source_help
from isthmus.data import load_digits
from isthmus.view import plot_labels_curve

d = load_digits(10, n_source=150, n_target=200, random_state=100)
verdict = does_source_help(d.X_source, d.y_source, d.X_test[::12], d.y_test[::12], n_splits=3, random_state=100)
print(verdict)

# %%
# Three splits decide little, and the picture says so.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_labels_curve(verdict, ax=ax)
figure
