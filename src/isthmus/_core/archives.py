"""Arrays from ``.npz`` archives that may come from strangers: nothing is unpickled, and only named arrays are read.

``zipfile`` and NumPy do the reading. What they would believe is checked first: a member's compression (only deflate
can be inflated piece by piece), the header of an array, and that its shape and the size of the member agree.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from isthmus._core.files import open_regular, show_path
from isthmus.exceptions import InputError

# Bytes. NumPy's header of a plain array has about 120; a long one could be made to exhaust its parser.
LONGEST_HEADER = 512
# Bytes: an array that claims more is refused before any of it is read, unless its reader allows more.
LARGEST_ARRAY = 2**30
# In NumPy's arrays of text.
BYTES_OF_CHARACTER = 4
KINDS = {"number": "numbers", "whole": "whole numbers", "text": "text"}
DTYPES = {"number": "fiu", "whole": "iu", "text": "U"}


@dataclass(frozen=True)
class Expected:
    """One array of a file, as it has to be.

    Parameters
    ----------
    shape : tuple of int or None
        The length along every axis; None allows any.
    kind : {"number", "whole", "text"}
        Finite real numbers, whole numbers (read as ``intp``), printable unicode text, or any of these as they are.
    low, high : float
        The smallest and the largest value allowed; of text, ``high`` is the length of the longest.
    most_bytes : int
        The size of an array that is read; one that claims more is refused.

    Examples
    --------
    >>> str(Expected((None, 800), "number"))
    'numbers of shape (any, 800)'
    >>> str(Expected((600,), "whole", low=1, high=6))
    'whole numbers of shape (600,), from 1 to 6'
    """

    shape: tuple[int | None, ...]
    kind: str
    low: float = -math.inf
    high: float = math.inf
    most_bytes: int = LARGEST_ARRAY

    def __str__(self) -> str:
        if self.kind == "text":
            longest = f", at most {self.high:.15g} characters" if math.isfinite(self.high) else ""
            return f"text of shape {show_shape(self.shape)}{longest}"
        limits = {"from": self.low, "to": self.high}
        said = "".join(f" {word} {limit:.15g}" for word, limit in limits.items() if math.isfinite(limit))
        return f"{KINDS[self.kind]} of shape {show_shape(self.shape)}{',' * bool(said)}{said}"

    def check_header(self, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> None:
        """Raise, before an array is read, unless it is of this type and shape, and small enough."""
        if dtype.kind not in DTYPES[self.kind] or not dtype.itemsize or (dtype.kind == "f" and dtype.itemsize > 8):
            objects = " (objects are never unpickled)" if dtype.hasobject else ""
            raise InputError(f"{name}: expected {self}, got type {dtype.str[1:41]!r}{objects}.")
        length = dtype.itemsize // BYTES_OF_CHARACTER
        if self.kind == "text" and length > self.high:
            raise InputError(f"{name}: expected {self}, got room for {length} characters.")
        self.check_shape(shape, dtype.itemsize, name)

    def check_shape(self, shape: tuple[int, ...], itemsize: int, name: str) -> None:
        """Raise unless an array, whose type is known to be right, is of this shape and small enough."""
        axes = zip(self.shape, shape, strict=False)
        if len(shape) != len(self.shape) or any(want not in (None, got) or got < 0 for want, got in axes):
            raise InputError(f"{name}: expected {self}, got shape {show_shape(shape)}.")
        # A length of zero would hide any other length from the product.
        if itemsize * math.prod(max(n, 1) for n in shape) > self.most_bytes:
            claim = f"{show_shape(shape)} at {itemsize} bytes each"
            raise InputError(f"{name}: expected at most {self.most_bytes} bytes, got a claim of {claim}.")

    def check_values(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """Return the array in native byte order; raise where a value is not as expected."""
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if self.kind == "text":
            if not _is_printable(array):
                raise InputError(f"{name}: expected printable text, got other characters, or none at all.")
            return array
        if not np.isfinite(array).all():
            raise InputError(f"{name}: expected finite {KINDS[self.kind]}, got NaN or inf.")
        # Compared before the cast, which would wrap larger numbers around.
        most = min(self.high, np.iinfo(np.intp).max) if self.kind == "whole" else self.high
        for extreme in (array.min().item(), array.max().item()) if array.size else ():
            if not self.low <= extreme <= most:
                raise InputError(f"{name}: expected {self}, got {extreme!r}.")
        if self.kind == "whole":
            if array.dtype.kind == "f" and (array != np.rint(array)).any():
                raise InputError(f"{name}: expected whole numbers, got fractions.")
            return array.astype(np.intp, copy=False)
        return array.astype(np.float32) if array.dtype == np.float16 else array


def show_shape(shape: tuple[int | None, ...]) -> str:
    """Return a shape as messages write it.

    Examples
    --------
    >>> show_shape((None,)), show_shape((3, None))
    ('(any,)', '(3, any)')
    """
    text = str(shape).replace("None", "any")
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_printable(array: NDArray[Any]) -> bool:
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32).astype("<u4")
    try:
        text = codes[codes > 0].tobytes().decode("utf-32-le")
    except UnicodeDecodeError:  # code points that are none: NumPy would fail over them later
        return False
    inner = len(text) != np.char.str_len(array).sum()  # lengths are without the NULs at the end
    return text.isprintable() and not inner


def read_npz(path: Path, expected: Mapping[str, Expected]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an ``.npz`` archive, each as it was expected to be.

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
    name = show_path(path)
    with _open_archive(path) as archive:
        _check_names(expected, archive.namelist(), name)
        return {key: _read_array(archive, key, wanted, f"{name}, {key!r}") for key, wanted in expected.items()}


def check_part(right: bool, path: Any, expected: str) -> None:
    """Raise unless a part of a file was found to be right."""
    if not right:
        raise InputError(f"{show_path(path)}: expected {expected}, got another.")


@contextmanager
def _open_archive(path: Path) -> Iterator[ZipFile]:
    """Open an archive; whatever is wrong with it is one sentence."""
    name = show_path(path)
    with open_regular(path) as file:
        try:
            with ZipFile(file) as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is odd about a header is refused, or does not matter
                yield archive
        except (InputError, MemoryError, OSError):
            raise
        except Exception as error:  # of any kind: for a bad file the two libraries raise about a dozen
            reason = show_path(str(error)[:120]) or type(error).__name__
            raise InputError(f"{name}: expected an .npz archive in good order, got: {reason.rstrip('.')}.") from None


def _check_names(expected: Collection[str], members: Sequence[str], name: str) -> None:
    missing = [key for key in expected if f"{key}.npy" not in members]
    if missing:
        got = ", ".join(repr(member.removesuffix(".npy")[:40]) for member in members[:8]) or "none"
        more = ", …" if len(members) > 8 else ""
        raise InputError(f"{name}: expected an array {missing[0]!r}, got only {got}{more}.")


def read_npy_header(content: bytes, name: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return type and shape of an array in the format of NumPy, and where its values start."""
    start = io.BytesIO(content[:LONGEST_HEADER])
    version = npy.read_magic(start)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"{name}: expected an .npy array of format 1 or 2, got {version[0]}.{version[1]}.")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(start)
    return dtype, shape, start.tell()


def _read_header(archive: ZipFile, key: str, name: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return type, shape, and where the values start."""
    member = archive.getinfo(f"{key}.npy")
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InputError(f"{name}: expected a stored or deflated member, got method {member.compress_type}.")
    with archive.open(member) as content:
        return read_npy_header(content.read(LONGEST_HEADER), name)


def _read_array(archive: ZipFile, key: str, expected: Expected, name: str) -> NDArray[Any]:
    dtype, shape, start = _read_header(archive, key, name)
    expected.check_header(dtype, shape, name)
    member = archive.getinfo(f"{key}.npy")
    wanted, size = math.prod(shape) * dtype.itemsize, member.file_size - start
    if size != wanted:
        raise InputError(f"{name}: expected {wanted} bytes for its shape, got {size}.")
    with archive.open(member) as content:  # zipfile compares the checksum at the end
        return expected.check_values(npy.read_array(content, allow_pickle=False), name)
