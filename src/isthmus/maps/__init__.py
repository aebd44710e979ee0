"""Maps between the features of two domains, from rows that are the same object: arrays in, values out."""

from isthmus.maps.regression import AffineMap, KernelMap, fit_kernel_ridge, fit_low_rank, fit_procrustes, fit_ridge

__all__ = ["AffineMap", "KernelMap", "fit_kernel_ridge", "fit_low_rank", "fit_procrustes", "fit_ridge"]
