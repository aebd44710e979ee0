"""
Map first, adapt with skada
===========================

skada adapts domains that share their features. Two domains with different features are mapped to a common space; its
points go to skada with the sign of their domain, and a control says whether adapting them helped.
"""

import matplotlib.pyplot as plt
import numpy as np
from skada import CORALAdapter, make_da_pipeline
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from isthmus import CCA
from isthmus.data import load_digits

d = load_digits(3, n_source=200, n_target=300, random_state=100)
scaled = {"source_transformer": StandardScaler(), "target_transformer": StandardScaler()}
model = CCA(**scaled).fit(d.X_source, d.y_source, d.X_target, d.y_target)
X = np.vstack([model.transform(d.X_source, "source"), model.transform(d.X_target)])
y = np.r_[d.y_source, np.full(len(d.X_target), -1)]
sample_domain = np.repeat([1, -2], [len(d.X_source), len(d.X_target)])
test = model.transform(d.X_test)

adapted = make_da_pipeline(CORALAdapter(reg=0.1), LinearDiscriminantAnalysis())
adapted.fit(X, y, sample_domain=sample_domain)
plain = LinearDiscriminantAnalysis().fit(X[: len(d.X_source)], d.y_source)
scores = {
    "CCA, nearest class mean": model.score(d.X_test, d.y_test),
    "CCA, then LDA": plain.score(test, d.y_test),
    "CCA, then skada's CORAL and LDA": np.mean(
        adapted.predict(test, sample_domain=np.full(len(test), -2)) == d.y_test
    ),
}
figure, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
bars = ax.barh(list(scores), list(scores.values()), color="#4477aa")
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.set(xlabel="accuracy", xlim=(0, 1))
ax.invert_yaxis()
