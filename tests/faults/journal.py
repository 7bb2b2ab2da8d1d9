"""Reads journals as lib/dump/FORMAT.md describes them, without the code that is tested."""

import re
import struct

RECORD = struct.Struct("<IIIIQ16s")
MAGIC = 0x4A504C55
MESSAGES, ORDERED, PLACED = 3, 6, 7
MESSAGE = struct.Struct("<IHH")
EVENT = 4


def records(path):
    """Kind and payload of every record that is whole."""
    data = path.read_bytes()
    at = 0
    while len(data) - at >= RECORD.size:
        magic, kind, _, _, size, _ = RECORD.unpack_from(data, at)
        if magic != MAGIC or size > len(data) - at - RECORD.size:
            return
        yield kind, data[at + RECORD.size:at + RECORD.size + size]
        at += RECORD.size + size


def events_in_messages(payload):
    at, events = 0, 0
    while len(payload) - at >= MESSAGE.size:
        size, kind, _ = MESSAGE.unpack_from(payload, at)
        events += kind == EVENT
        at += size
    return events


def live_journal(rank):
    """The journal of what no published segment holds; None if there is none."""
    number = max((int(re.search(r"\d+", path.stem).group()) for path in rank.glob("segment-*.h5")),
                 default=-1) + 1
    path = rank / f"journal-{number:06}"
    return path if path.exists() else None


def events(rank):
    """How many events the live journal of a rank holds."""
    path = live_journal(rank)
    if path is None:
        return 0
    total = 0
    for kind, payload in records(path):
        if kind == MESSAGES:
            total += events_in_messages(payload)
        elif kind in (ORDERED, PLACED):
            total += 1
    return total
