"""
Label cells of one assay by another
===================================

Two AnnData objects with different features and no common cell. Both get points of a common space; the second gets
types with probabilities.
"""

import anndata
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

from isthmus.io.anndata import transfer_labels

rng = np.random.default_rng(0)
types = np.array(["B", "NK", "T", "monocyte"])
states = rng.normal(size=(4, 8))


def measure(n, features):
    which = rng.integers(0, 4, n)
    X = (states[which] + 0.6 * rng.normal(size=(n, 8))) @ rng.normal(size=(8, features))
    return anndata.AnnData(
        X + rng.normal(size=X.shape), obs=pd.DataFrame({"truth": types[which]}, index=[f"c{i}" for i in range(n)])
    )


rna, atac = measure(200, 40), measure(150, 60)
rna.obs["cell_type"] = rna.obs["truth"]
known = np.concatenate([np.flatnonzero(atac.obs["truth"] == each)[:3] for each in types[:3]])
atac.obs["cell_type"] = atac.obs["truth"].iloc[known].reindex(atac.obs_names)
transfer_labels(rna, atac, "cell_type")
print(atac.uns["isthmus"]["verdict"])
new = ~atac.obs["cell_type_given"]
print(f"right: {(atac.obs['cell_type'][new] == atac.obs['truth'][new]).mean():.2f}; no monocyte had a label")

# %%
points = {"reference": rna, "query": atac}
plane = PCA(2).fit(np.vstack([each.obsm["X_isthmus"] for each in points.values()]))
figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, each) in zip(panels, points.items(), strict=True):
    drawn = plane.transform(each.obsm["X_isthmus"])
    for kind in types:
        ax.scatter(*drawn[each.obs["truth"] == kind].T, s=12, label=kind)
    ax.set_title(f"{name}, coloured by the true type")
panels[1].legend()
