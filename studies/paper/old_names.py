"""Records that were written under names that have changed since."""

from __future__ import annotations

from dataclasses import replace

from isthmus.study import Record
from isthmus.study.records import InFolder, Key

COLUMNS = {"mlhd": "mlhd-rbf", "arc": "arc-rbf"}
"""In the tables, where all systems have RBF kernels; the toy problem's are linear, and are called so."""
PARAMETERS = {
    "prior_weight": "alignment_weight",
    "posterior_weight": "pair_weight",
    "weight": "pair_weight",
    "metric__weight": "metric__pair_weight",
}


def renamed(record: Record) -> Record:
    """The same record under its present names.

    Examples
    --------
    >>> old = Record("table1", "EN → FR", "whole", 0, "mlhd by target rows, noise", "oracle", {"prior_weight": 0.1},
    ...              0.5, 1.0, "optimal", None, "isthmus 0.1.0")
    >>> renamed(old).system, renamed(old).parameters
    ('mlhd-rbf by target rows, noise', {'alignment_weight': 0.1})
    """
    stem = record.system.split(", ")[0].split(" ")[0]
    system = record.system if record.experiment == "toy" else COLUMNS.get(stem, stem) + record.system[len(stem) :]
    parameters = {PARAMETERS.get(name, name): value for name, value in record.parameters.items()}
    return replace(record, system=system, parameters=parameters)


class PaperResults(InFolder):
    """The records of an experiment in a folder, old ones under their present names."""

    def read(self) -> dict[Key, Record]:
        """All finished records by key, in the order of their keys."""
        records = {record.key: record for record in map(renamed, super().read().values())}
        return dict(sorted(records.items()))
