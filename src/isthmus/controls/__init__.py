"""What keeps a transfer method honest: systems that never look at the source, corrupted sources and wrong pairs."""

from isthmus.controls.balanced_means import BalancedKMeans
from isthmus.controls.corrupted import Corrupted, noise_source, permuted_source, renamed_source
from isthmus.controls.pairs import shuffled_pairs
from isthmus.controls.self_trained import SelfTrainedLDA
from isthmus.controls.target_only import TargetOnly

__all__ = [
    "BalancedKMeans",
    "Corrupted",
    "SelfTrainedLDA",
    "TargetOnly",
    "noise_source",
    "permuted_source",
    "renamed_source",
    "shuffled_pairs",
]
