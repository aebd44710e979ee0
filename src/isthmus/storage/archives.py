"""Arrays from ``.npz`` archives of others: nothing is unpickled, and nothing is read that was not asked for.

``zipfile`` and NumPy do the reading. What they would believe is checked first: a member's compression (only deflate
can be inflated piece by piece), the header of an array, and that its shape and the size of the member agree.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from numpy.lib import format as npy
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.storage.expected import Expected
from isthmus.storage.opened import opened, shown

__all__ = ["Expected", "read_npz"]

LONGEST_HEADER = 512
"""Bytes. NumPy's header of a plain array has about 120; a long one could be made to exhaust its parser."""


def read_npz(path: Path, expected: Mapping[str, Expected]) -> dict[str, NDArray[Any]]:
    """The named arrays of an ``.npz`` archive, each as it was expected to be.

    Parameters
    ----------
    path : Path
        The archive, as ``numpy.savez`` or ``numpy.savez_compressed`` makes it. Other arrays in it are not touched.
    expected : mapping of str to Expected
        The arrays to read. Numbers keep their precision, whole numbers become ``intp``.

    Raises
    ------
    InputError
        One sentence that names the file: it is missing, damaged, not an archive, or not as expected.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.npz"
    ...     np.savez(path, X=np.eye(3), y=[1, 2, 3])
    ...     arrays = read_npz(path, {"X": Expected((None, 3), "number"), "y": Expected((3,), "whole", low=1)})
    >>> arrays["y"]
    array([1, 2, 3])
    """
    name = shown(path)
    with opened(path) as file:
        try:
            with ZipFile(file) as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is odd about a header is refused, or does not matter
                _require_names(expected, archive.namelist(), name)
                return {key: _array(archive, key, wanted, f"{name}, {key!r}") for key, wanted in expected.items()}
        except (InputError, MemoryError, OSError):
            raise
        except Exception as error:  # of any kind: for a bad file the two libraries raise about a dozen
            reason = shown(str(error)[:120]) or type(error).__name__
            raise InputError(f"{name}: expected an .npz archive in good order, got: {reason.rstrip('.')}.") from None


def _require_names(expected: Collection[str], members: Sequence[str], name: str) -> None:
    missing = [key for key in expected if f"{key}.npy" not in members]
    if missing:
        got = ", ".join(repr(member.removesuffix(".npy")[:40]) for member in members[:8]) or "none"
        more = ", …" if len(members) > 8 else ""
        raise InputError(f"{name}: expected an array {missing[0]!r}, got only {got}{more}.")


def _array(archive: ZipFile, key: str, expected: Expected, name: str) -> NDArray[Any]:
    member = archive.getinfo(f"{key}.npy")
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InputError(f"{name}: expected a stored or deflated member, got method {member.compress_type}.")
    with archive.open(member) as content:
        start = io.BytesIO(content.read(LONGEST_HEADER))
    version = npy.read_magic(start)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"{name}: expected an .npy array of format 1 or 2, got {version[0]}.{version[1]}.")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(start)
    expected.require(dtype, shape, name)
    wanted, size = math.prod(shape) * dtype.itemsize, member.file_size - start.tell()
    if size != wanted:
        raise InputError(f"{name}: expected {wanted} bytes for its shape, got {size}.")
    with archive.open(member) as content:  # zipfile compares the checksum at the end
        return expected.checked(npy.read_array(content, allow_pickle=False), name)
