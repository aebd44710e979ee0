"""Long texts in pieces that end where a row ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NEWLINES = b"\r\n"
QUOTE = b'"'


def whole_rows(pieces: Iterable[bytes], *, quoted: bool, most: int) -> Iterator[bytes]:
    r"""The same bytes in pieces of whole rows, each of at least ``most`` bytes but the last.

    A row ends with a newline. In CSV (``quoted``) a newline between quotes ends nothing: an odd number of quotes is
    before it, since a quote inside of quotes is doubled. Blank lines go to the piece after them, so that no piece
    ends with one, but for the last.

    Examples
    --------
    >>> list(whole_rows([b'a\n"b\n', b'c"\n\n', b'd\n'], quoted=True, most=1))
    [b'a\n', b'"b\nc"\n', b'\nd\n']
    """
    held, enough = bytearray(), most
    for piece in pieces:
        held += piece
        if len(held) < enough:
            continue
        end = _last_end(held, quoted)
        if end:
            yield bytes(held[:end])
            del held[:end]
        enough = most if end else 2 * len(held)  # a row that does not end is not looked through again and again
    if held:
        yield bytes(held)


def first_row(text: bytes, *, quoted: bool) -> bytes:
    r"""The first row that is not blank, with blank lines before it.

    Examples
    --------
    >>> first_row(b'\n"a\nb",c\n1,2\n', quoted=True)
    b'\n"a\nb",c\n'
    """
    start = len(text) - len(text.lstrip(NEWLINES))
    place = text.find(b"\n", start)
    odd = quoted and text.count(QUOTE, start, place) % 2 if place >= 0 else False
    while place >= 0 and odd:
        after = text.find(b"\n", place + 1)
        odd ^= text.count(QUOTE, place, after if after >= 0 else len(text)) % 2
        place = after
    return text if place < 0 else text[: place + 1]


def _last_end(text: bytearray, quoted: bool) -> int:
    """Where the last whole row ends; 0 where none does."""
    place = text.rfind(b"\n")
    odd = quoted and text.count(QUOTE, 0, max(place, 0)) % 2
    while place >= 0 and odd:
        before = text.rfind(b"\n", 0, place)
        odd ^= text.count(QUOTE, max(before, 0), place) % 2
        place = before
    if place < 0:
        return 0
    row = text[: place + 1].rstrip(NEWLINES)
    return text.find(b"\n", len(row)) + 1 if row else 0
