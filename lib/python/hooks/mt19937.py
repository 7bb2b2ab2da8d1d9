"""The Mersenne Twister (Matsumoto and Nishimura 1998), which makes 624 words at once."""

import array
import hashlib
import random

WORDS = 624


def following(words) -> list:
    """The words that are made when these are used up."""
    generator = random.Random()
    generator.setstate((3, (*words, WORDS), None))
    generator.getrandbits(32)
    return list(generator.getstate()[1][:WORDS])


def stream_and_position(words, position: int, kept) -> tuple:
    """The digest of the words, and which of these comes next; `kept` is half of a pair of normal
    numbers, None if there is none."""
    if position == WORDS:
        words, position = following(words), 0
    half = "" if kept is None else f" and {kept!r}"
    stream = hashlib.blake2b(array.array("I", words).tobytes(), digest_size=16).hexdigest()
    return stream, f"{position}{half}"
