"""Studies on :mod:`isthmus.study`: a specification, records and a page each. They are not part of the wheel."""
