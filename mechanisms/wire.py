"""Messages as bits: what one user really sends, so that communication is measured and not only computed.

A residue modulo m takes exactly ceil(log2 m) bits. An integer without bound (``CarrySum``) takes Elias' gamma
code of its zigzag number, 2 floor(log2 k) + 1 bits. Bits are packed across messages; the last byte is padded.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpaudit.core.errors import InvalidParameterError

__all__ = ["bits_per_residue", "integer_bits", "pack_residues", "read_integers", "unpack_residues"]


def bits_per_residue(modulus: int) -> int:
    """Return ceil(log2 m): the length of one message in Z_m."""
    if modulus < 1:
        raise InvalidParameterError(f"modulus must be 1 or more, got {modulus}.")
    return (modulus - 1).bit_length()


def pack_residues(messages: Iterable[int], *, modulus: int) -> bytes:
    """Pack the messages one after the other, most significant bit first."""
    width, stream, count = bits_per_residue(modulus), 0, 0
    for message in messages:
        if not 0 <= message < modulus:
            raise InvalidParameterError(
                f"a message must be in 0..{modulus - 1}, got {message}; reduce it modulo m."
            )
        stream = stream << width | int(message)
        count += 1
    padding = -(width * count) % 8
    return (stream << padding).to_bytes((width * count + padding) // 8, "big")


def unpack_residues(packed: bytes, *, modulus: int, count: int) -> list[int]:
    """Invert ``pack_residues`` for ``count`` messages."""
    width = bits_per_residue(modulus)
    size = (width * count + 7) // 8
    if len(packed) != size:
        raise InvalidParameterError(
            f"{count} messages of {width} bits must fill {size} bytes, got {len(packed)}; pass the same "
            f"modulus and count."
        )
    stream = int.from_bytes(packed, "big") >> (-(width * count) % 8)
    return [stream >> width * (count - 1 - i) & ((1 << width) - 1) for i in range(count)]


def integer_bits(message: int) -> str:
    """Encode a signed integer as bits: Elias' gamma code of 1, 2, 3, ... for 0, -1, 1, -2, 2, ..."""
    number = 2 * message + 1 if message >= 0 else -2 * message
    return "0" * (number.bit_length() - 1) + f"{number:b}"


def read_integers(bits: str) -> list[int]:
    """Invert ``integer_bits`` for the words of several messages one after the other."""
    found, position = [], 0
    while position < len(bits):
        zeros = bits.find("1", position) - position
        end = position + 2 * zeros + 1
        if zeros < 0 or end > len(bits):
            raise InvalidParameterError(
                f"a word must have as many bits after its first 1 as zeros before it, got the rest "
                f"{bits[position:][:40]!r}."
            )
        number = int(bits[position + zeros : end], 2)
        found.append((number - 1) // 2 if number % 2 else -(number // 2))
        position = end
    return found
