"""The members of a zip archive, read without trusting it: what its directory says is checked, not believed.

Python's ``zipfile`` is made for archives of every kind, and fails on bad ones in as many ways. An ``.npz`` needs
little of the format: one disk, no encryption, members stored or deflated, less than 4 GiB (no zip64 directory).
Everything else is refused, each with one sentence.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import BinaryIO

from isthmus.exceptions import InputError
from isthmus.storage.inflated import CHUNK, Inflated

END = struct.Struct("<4s4H2LH")  # the end of the central directory
ENTRY = struct.Struct("<4s6H3L5H2L")  # one member in it
LOCAL = struct.Struct("<4s5H3L2H")  # the same, before the member's own bytes
MOST_MEMBERS, LARGEST_DIRECTORY, LONGEST_NAME = 4096, 2**20, 255
STORED, DEFLATED = 0, 8
ENCRYPTED, UTF8 = 0x1, 0x800
ZIP64 = 0xFFFFFFFF
BEST_RATIO = 1032  # deflate cannot do better: 258 bytes for two bits


@dataclass(frozen=True)
class Member:
    """A file in the archive, as the directory has it, and where the next thing after it starts."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    start: int
    end: int


def members(file: BinaryIO, name: str) -> dict[str, Member]:
    """The directory of an archive: names to members, none of which overlap."""
    directory, start = _directory(file, name)
    found: list[Member] = []
    at = 0
    while at < len(directory):
        member, at = _entry(directory, at, name)
        found.append(member)
    found.sort(key=lambda member: member.start)
    ends = [member.start for member in found[1:]] + [start]
    result: dict[str, Member] = {}
    for member, end in zip(found, ends, strict=False):
        if member.name in result:
            raise InputError(f"{name}: expected every member once, got {member.name!r} twice.")
        if member.start + LOCAL.size + member.packed > end:
            raise InputError(f"{name}: expected members one after the other, got {member.name!r} inside the next.")
        result[member.name] = replace(member, end=end)
    return result


def _directory(file: BinaryIO, name: str) -> tuple[bytes, int]:
    """The bytes of the central directory, and where they start."""
    size = file.seek(0, 2)
    tail_start = max(0, size - END.size - 0xFFFF)  # a comment may follow
    file.seek(tail_start)
    tail = file.read(size - tail_start)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < END.size:
        file.seek(0)
        raise InputError(f"{name}: expected a zip archive, as .npz files are, got {_looks_like(file.read(8))}.")
    _, disk, first_disk, here, count, length, start, _ = END.unpack_from(tail, at)
    if disk or first_disk or here != count or count > MOST_MEMBERS or ZIP64 in (length, start):
        raise InputError(f"{name}: expected one archive of at most {MOST_MEMBERS} members and 4 GiB, got another.")
    if length > LARGEST_DIRECTORY or start + length != tail_start + at:
        raise InputError(f"{name}: expected a zip directory of {length} bytes at its end, got something else there.")
    file.seek(start)
    directory = file.read(length)
    if len(directory) != length:
        raise InputError(f"{name}: expected a zip directory of {length} bytes, got {len(directory)}.")
    return directory, start


def _looks_like(head: bytes) -> str:
    if not head:
        return "an empty file"
    if head.startswith(b"\x93NUMPY"):
        return "a single .npy array"
    if head[:1] == b"\x80":
        return "what may be a pickle, which is never opened"
    return "a zip archive that is cut short" if head.startswith(b"PK\x03\x04") else "a file of another kind"


def _entry(directory: bytes, at: int, name: str) -> tuple[Member, int]:
    if len(directory) - at < ENTRY.size or directory[at : at + 4] != b"PK\x01\x02":
        raise InputError(f"{name}: expected a zip directory without gaps, got other bytes in it.")
    entry = ENTRY.unpack_from(directory, at)
    flags, method, crc, packed, size = entry[3], entry[4], entry[7], entry[8], entry[9]
    name_length, extra, comment, start = *entry[10:13], entry[16]
    title = directory[at + ENTRY.size : at + ENTRY.size + name_length]
    after = at + ENTRY.size + name_length + extra + comment
    if after > len(directory) or not 0 < name_length <= LONGEST_NAME:
        raise InputError(f"{name}: expected names of at most {LONGEST_NAME} bytes in the zip directory, got others.")
    try:
        text = title.decode("utf-8" if flags & UTF8 else "cp437")
    except UnicodeDecodeError:
        text = "\0"
    if not text.isprintable():
        raise InputError(f"{name}: expected printable names in the zip directory, got {title[:40]!r}.")
    return Member(text, method, flags, crc, packed, size, start, start), after


class MemberReader:
    """The bytes of one member, from its start to its end, and never more than the directory has promised."""

    def __init__(self, file: BinaryIO, member: Member, name: str) -> None:
        self.file, self.member, self.name = file, member, name
        self._require_readable()
        file.seek(member.start)
        local = file.read(LOCAL.size)
        if len(local) != LOCAL.size or local[:4] != b"PK\x03\x04":
            raise self._bad("a member where the directory says", "other bytes")
        _, _, flags, method, *_, name_length, extra = LOCAL.unpack(local)
        if method != member.method or flags & ENCRYPTED:
            raise self._bad("a member as the directory has it", "another")
        file.seek(name_length + extra, 1)
        if file.tell() + member.packed > member.end:
            raise self._bad(f"{member.packed} bytes before the next member", "fewer")
        deflated = method == DEFLATED
        self._inflated = Inflated(file, member.packed, -zlib.MAX_WBITS, self.name) if deflated else None
        self._stored_left, self._left, self._crc = member.packed, member.size, 0

    def _require_readable(self) -> None:
        member = self.member
        if member.flags & ENCRYPTED:
            raise self._bad("a member without a password", "an encrypted one")
        if member.method not in (STORED, DEFLATED):
            raise self._bad("a stored or deflated member", f"method {member.method}")
        if ZIP64 in (member.packed, member.size, member.start):
            raise self._bad("a member below 4 GiB", "a larger one")
        most = BEST_RATIO * member.packed if member.method == DEFLATED else member.packed
        if member.size > most or (member.method == STORED and member.size != member.packed):
            raise self._bad(f"{member.size} bytes", f"{member.packed} packed ones, which cannot hold them")

    def _bad(self, expected: str, got: str) -> InputError:
        return InputError(f"{self.name}: expected {expected}, got {got}.")

    @property
    def remaining(self) -> int:
        """How many of the promised bytes have not been read."""
        return self._left

    def read(self, count: int) -> bytearray:
        """The next ``count`` bytes, or what is left of the promised ones."""
        wanted = min(count, self._left)
        out = bytearray()
        while len(out) < wanted:
            piece = self._piece(min(CHUNK, wanted - len(out)))
            if not piece:
                raise self._bad(f"{self.member.size} bytes", "fewer: the archive is damaged")
            out += piece
            self._crc = zlib.crc32(piece, self._crc)
        self._left -= len(out)
        return out

    def _piece(self, most: int) -> bytes:
        if self._inflated is not None:
            return self._inflated.piece(most)
        piece = self.file.read(min(most, self._stored_left))
        self._stored_left -= len(piece)
        return piece

    def require_end(self) -> None:
        """Raise unless all the promised bytes have been read, were the right ones, and no others follow."""
        if self._left:
            raise self._bad("nothing after the array", f"{self._left} more bytes")
        if self._piece(1):
            raise self._bad(f"{self.member.size} bytes", "more: the archive is damaged")
        if self._inflated is not None and not self._inflated.complete:
            raise self._bad(f"{self.member.packed} packed bytes", "fewer: the archive is damaged")
        if self._crc != self.member.crc:
            raise self._bad("the bytes that were packed", "others: the checksum differs")
