"""The paper's experiments, as a specification on :mod:`isthmus.study`: ``python -m studies.paper --help``.

``reproduce("table1", Request(folder, out, jobs=2))`` does the same from Python.
"""

from studies.paper.artefacts import Artefacts
from studies.paper.experiment import EXPERIMENTS, Experiment
from studies.paper.reproduction import Request, reproduce

__all__ = ["EXPERIMENTS", "Artefacts", "Experiment", "Request", "reproduce"]
