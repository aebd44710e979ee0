"""Systems in closed form that learn from known pairs."""

from isthmus.estimators.maps.procrustes import Procrustes
from isthmus.estimators.maps.pulled_back import PulledBackMetric
from isthmus.estimators.maps.relative import RelativeRepresentations
from isthmus.estimators.maps.ridge import RidgeMap

__all__ = ["Procrustes", "PulledBackMetric", "RelativeRepresentations", "RidgeMap"]
