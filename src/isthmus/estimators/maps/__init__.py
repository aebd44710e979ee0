"""Systems in closed form that learn from known pairs alone."""

from isthmus.estimators.maps.procrustes import Procrustes
from isthmus.estimators.maps.relative import RelativeRepresentations
from isthmus.estimators.maps.ridge import RidgeMap

__all__ = ["Procrustes", "RelativeRepresentations", "RidgeMap"]
