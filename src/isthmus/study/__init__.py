"""A question about systems on the same rows, asked in a few lines: run side by side, resumed, and answered with care.

:meth:`Study.of` takes data and systems, :meth:`Study.run` gives a board: its table, paired differences with
intervals, and claims with verdicts. What is compared with what, preparations, readings and figures are arguments.
"""

from isthmus.study.board import Board, Claim, Scoreboard, Table
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
    "Scoreboard",
    "Study",
    "Table",
    "Task",
    "Trial",
    "TrialRows",
    "predict_by_target_rows",
]
