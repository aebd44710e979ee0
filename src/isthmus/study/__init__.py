"""A question about systems on the same rows, asked in a few lines: run side by side, resumed, and answered with care.

:meth:`Study.of` takes data and systems, :meth:`Study.run` gives a board: its table, paired differences with
intervals, and claims with verdicts. What is compared with what, preparations, readings and figures are arguments.
"""

from isthmus.study.entrants import RETRIEVAL, Entrant, Fit, by_target_rows
from isthmus.study.records import Record
from isthmus.study.rows import CorruptedSource, Rows, Trial
from isthmus.study.scoreboard import Claim, Scoreboard
from isthmus.study.study import Study
from isthmus.study.tables import Board, Table
from isthmus.study.tasks import Task

__all__ = [
    "RETRIEVAL",
    "Board",
    "Claim",
    "CorruptedSource",
    "Entrant",
    "Fit",
    "Record",
    "Rows",
    "Scoreboard",
    "Study",
    "Table",
    "Task",
    "Trial",
    "by_target_rows",
]
