"""Bytes of a file in, text out; and files that appear whole or not at all."""

import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_bytes(path: str | os.PathLike) -> bytes:
    """The content of a file, unpacked where its name ends in ``.gz``, without a byte order mark."""
    path = Path(path)
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise ValueError(
                f"{path} is named .gz but does not unpack ({error}); fetch it again, or rename it"
            ) from error
    return data.removeprefix(BYTE_ORDER_MARK)


def decode(path: str | os.PathLike, data: bytes) -> str:
    """The text of a file's bytes, or an error that names the first byte which is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} "
            f"(line {data.count(10, 0, error.start) + 1}); save the file as UTF-8"
        ) from error


def read_lines(path: str | os.PathLike) -> list[str]:
    """The lines of a text file, whichever way they end, without their ends."""
    text = decode(path, read_bytes(path))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[IO[str]]:
    """A text file to write into, which takes its name only once everything is in it.

    The text goes to a second file in the same folder; it replaces ``path`` at the end and is removed
    when anything goes wrong. What is not a plain file (a pipe, a terminal) is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with open(draft, "x", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
