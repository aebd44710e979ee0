"""Which rows of an index a search looks at: those that a filter allows, and those that tell what is a hub."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import BoolArray, FloatArray
from isthmus._validation import choice
from isthmus.common_space import DOMAINS
from isthmus.exceptions import InputError
from isthmus.retrieval.catalogue import Catalogue
from isthmus.retrieval.hubness import SAMPLE, Background


def searched_domain(among: str | None, domain: str, *, across: bool) -> str | None:
    """The domain whose rows are searched by rows of a domain; None for both.

    Where the similarity is defined ``across`` the domains only, it is always the other one.
    """
    if among is not None:
        choice(among, "among", DOMAINS)
    if not across:
        return among
    other = DOMAINS[1 - DOMAINS.index(domain)]
    if among not in (None, other):
        raise InputError(f"among: expected {other!r}, as there is no similarity within a domain, got {among!r}.")
    return other


def allowed_rows(rows: Catalogue, label: Any, among: str | None) -> BoolArray | None:
    """Which rows may be found; None for all."""
    if label is None and among is None and len(rows) == rows.n:
        return None
    allowed = rows.alive.copy()
    if label is not None:
        value = label.item() if isinstance(label, np.generic) else label
        if value not in rows.classes:
            shown = ", ".join(repr(each) for each in rows.classes[:5]) or "none"
            more = ", …" if len(rows.classes) > 5 else ""
            raise InputError(f"label: expected one of those in the index ({shown}{more}), got {label!r:.60}.")
        allowed &= rows.codes == rows.classes.index(value)
    if among is not None:
        allowed &= rows.domains == DOMAINS.index(among)
    return None if allowed.all() else allowed


def background(rows: Catalogue, model: Any, domain: str) -> FloatArray:
    """Points of a domain, evenly spaced among those of the index, or else those of the model's fit."""
    own = np.flatnonzero(rows.alive & (rows.domains == DOMAINS.index(domain)))
    if len(own):
        chosen = own[np.unique(np.linspace(0, len(own) - 1, min(SAMPLE, len(own))).astype(np.intp))]
        return rows.points[chosen]
    fitted = getattr(model, "_background", None)
    if isinstance(fitted, Background):
        return np.asarray(fitted.source if domain == "source" else fitted.target, dtype=rows.points.dtype)
    raise InputError(
        f"csls: expected rows of the {domain} in the index (or a model that was fitted with known pairs) to tell "
        "by which rows are near to everything, got none."
    )
