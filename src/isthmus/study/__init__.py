"""Comparisons of systems on the same rows: design → run → records → board.

:meth:`Study.of` takes data and systems (a design), :meth:`Study.run` runs its trials, keeps their records and returns
a board: its table, paired differences with intervals, and claims with verdicts.
"""

from isthmus.study.board import Board, Claim, TextTable
from isthmus.study.design import RETRIEVAL, Entrant, Fit, Task, predict_by_target_rows
from isthmus.study.records import Record
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, Trial, TrialRows

__all__ = [
    "RETRIEVAL",
    "Board",
    "Claim",
    "CorruptedRows",
    "Entrant",
    "Fit",
    "Record",
    "Study",
    "Task",
    "TextTable",
    "Trial",
    "TrialRows",
    "predict_by_target_rows",
]
