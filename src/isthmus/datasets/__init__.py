"""Two domains to try things on: loaders, what they return, and the catalogue of them."""

from isthmus.datasets.catalogue import Dataset, catalogue, listing
from isthmus.datasets.cdls import load_cdls
from isthmus.datasets.collection import Collection
from isthmus.datasets.debian import load_debian
from isthmus.datasets.digits import load_digits, shape_features
from isthmus.datasets.folder import data_folder
from isthmus.datasets.mfeat import load_mfeat
from isthmus.datasets.office31_bow import load_office31_bow
from isthmus.datasets.office31_released import load_office31_released
from isthmus.datasets.office31_resnet import load_office31_resnet
from isthmus.datasets.office_caltech import load_office_caltech
from isthmus.datasets.office_mat import load_office_caltech_mat, read_office_mat
from isthmus.datasets.pair import DomainPair
from isthmus.datasets.reuters import load_reuters
from isthmus.datasets.reuters600 import load_reuters600
from isthmus.datasets.snareseq import load_snareseq
from isthmus.datasets.split_files import read_hoffman_splits, read_shfa_split
from isthmus.datasets.toy import load_toy

__all__ = [
    "Collection",
    "Dataset",
    "DomainPair",
    "catalogue",
    "data_folder",
    "listing",
    "load_cdls",
    "load_debian",
    "load_digits",
    "load_mfeat",
    "load_office31_bow",
    "load_office31_released",
    "load_office31_resnet",
    "load_office_caltech",
    "load_office_caltech_mat",
    "load_reuters",
    "load_reuters600",
    "load_snareseq",
    "load_toy",
    "read_hoffman_splits",
    "read_office_mat",
    "read_shfa_split",
    "shape_features",
]
