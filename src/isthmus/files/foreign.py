"""Objects of types that isthmus does not know, through skops: only where whoever opens the file names the types."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.files.arrays import Array
from isthmus.files.shapes import MismatchError, Reader, Writer, require
from isthmus.storage.files import shown

FOREIGN = "skops"
"""The kind of such an object, in files."""


def type_name(value: Any) -> str:
    """The full name of an object's type, as it is to be trusted."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def packed_foreign(value: Any, place: str, writer: Writer) -> Any:
    """An object in the format of skops, if its type is trusted."""
    name = type_name(value)
    if name not in writer.trust:
        raise InputError(
            f"{place}: expected a transformer that isthmus can store as arrays, got {type(value).__name__}; "
            f"with skops, it can be stored by trust=[{name!r}]."
        )
    try:
        content = _library().dumps(value)
    except (InputError, MissingDependencyError):
        raise
    except Exception as error:  # of any kind: skops has many, and knows not all types
        raise InputError(f"{place}: expected an object that skops can store, got '{str(error)[:100]}'.") from None
    array = np.array(bytearray(content), dtype=np.uint8)
    return {"is": FOREIGN, "type": name, "content": writer.put(array, place)}


def foreign(node: dict[str, Any], reader: Reader) -> Any:
    """The object; not one byte of it is looked at before its type is trusted."""
    require(node.keys() == {"is", "type", "content"} and isinstance(node["type"], str), "a foreign object", node)
    if node["type"] not in reader.trust:
        raise MismatchError(
            f"known transformers, got a {node['type'][:200]!r}; if you trust whoever wrote the file, "
            "name the type in trust="
        )
    content = Array("bytes", kinds="u").read(node["content"], reader).tobytes()
    io = _library()
    try:
        types = io.get_untrusted_types(data=content)
        unknown = sorted({*map(str, types)} - reader.trust)
        if unknown:
            raise MismatchError(f"types that are trusted, got {', '.join(unknown)[:200]} too; name them in trust=")
        value = io.loads(content, trusted=types)
    except (MismatchError, MemoryError):
        raise
    except Exception as error:  # of any kind: it is a file of its own
        raise MismatchError(f"an object of skops in order, got '{shown(str(error)[:100])}'") from None
    require(type_name(value) == node["type"], f"a {node['type'][:100]}", type_name(value))
    return value


def _library() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingDependencyError(
            "Transformers of types that isthmus does not know need skops, which is not installed: "
            'pip install "isthmus[skops]".'
        ) from None
    return skops.io
