"""
Name classes that nobody labelled
=================================

Digits by their pixels are all labelled. Other digits, by shape features, have three labels each for 0 to 4, and none
for 5 to 9. The geometry of the classes tells which cluster is which digit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from isthmus import LabelTransfer
from isthmus.data import load_digits

d = load_digits(labelled_per_class=3, random_state=100)
few = np.where(d.y_target < 5, d.y_target, -1)
model = LabelTransfer(calibrate=False).fit(d.X_source, d.y_source, d.X_target, few)
print(model.verdict_)

# %%
# A model that knows only five of ten classes can't exceed an accuracy of one half.
figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
ConfusionMatrixDisplay.from_predictions(d.y_test, model.predict(d.X_test), ax=ax, colorbar=False, cmap="Blues")
ax.axhline(4.5, color="#bb5566")
ax.set_title(f"accuracy {model.score(d.X_test, d.y_test):.2f}; below the line: no label")
