"""
Does the gain come from the source?
===================================

Label transfer with the true source, and with three that are useless: random features, permuted labels, exchanged
class names. What it gains with these does not come from the source.
"""

import matplotlib.pyplot as plt
import numpy as np

from isthmus import LabelTransfer
from isthmus.data import load_digits
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA

d = load_digits(labelled_per_class=3, n_source=200, n_target=300, random_state=101)
few = np.where(d.y_target < 5, d.y_target, -1)
transfer = LabelTransfer(calibrate=False, random_state=0)
systems = {
    "true source": transfer,
    "noise": Corrupted(transfer, "noise", random_state=0),
    "permuted": Corrupted(transfer, "permuted", random_state=0),
    "renamed": Corrupted(transfer, "renamed", random_state=0),
    "no source (self-trained LDA)": SelfTrainedLDA(),
}
scores = {}
for name, system in systems.items():
    scores[name] = system.fit(d.X_source, d.y_source, d.X_target, few).score(d.X_test, d.y_test)

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.barh(list(scores), list(scores.values()), color=["#117733", *["#bbbbbb"] * 4])
ax.axvline(0.5, color="#bb5566", label="the most that a model of five classes can reach")
ax.set(xlabel="accuracy on ten classes, five of them without a label", xlim=(0, 1))
ax.legend(loc="lower right")
ax.invert_yaxis()
