"""The experiments of the paper, as resumable artefacts: what the command ``isthmus reproduce`` runs.

``reproduce("table1", Request(folder, out, jobs=2))`` does the same from Python.
"""

from isthmus.experiments.artefacts import Artefacts
from isthmus.experiments.experiment import EXPERIMENTS, Experiment
from isthmus.experiments.records import Record, Results
from isthmus.experiments.reproduction import Request, reproduce

__all__ = ["EXPERIMENTS", "Artefacts", "Experiment", "Record", "Request", "Results", "reproduce"]
