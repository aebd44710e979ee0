"""Loaders of the data sets that the studies read: files that you bring, and what is known of them."""

from studies.datasets.catalogue import Dataset, catalogue, listing
from studies.datasets.cdls import load_cdls
from studies.datasets.collection import Collection
from studies.datasets.debian import load_debian
from studies.datasets.debian_texts import read_debian_texts
from studies.datasets.folder import data_folder
from studies.datasets.mfeat import load_mfeat
from studies.datasets.office31_bow import load_office31_bow
from studies.datasets.office31_released import load_office31_released
from studies.datasets.office31_resnet import load_office31_resnet
from studies.datasets.office_caltech import load_office_caltech
from studies.datasets.office_mat import load_office_caltech_mat, read_office_mat
from studies.datasets.reuters import load_reuters
from studies.datasets.reuters600 import load_reuters600
from studies.datasets.snareseq import load_snareseq
from studies.datasets.split_files import read_hoffman_splits, read_shfa_split

__all__ = [
    "Collection",
    "Dataset",
    "catalogue",
    "data_folder",
    "listing",
    "load_cdls",
    "load_debian",
    "load_mfeat",
    "load_office31_bow",
    "load_office31_released",
    "load_office31_resnet",
    "load_office_caltech",
    "load_office_caltech_mat",
    "load_reuters",
    "load_reuters600",
    "load_snareseq",
    "read_debian_texts",
    "read_hoffman_splits",
    "read_office_mat",
    "read_shfa_split",
]
