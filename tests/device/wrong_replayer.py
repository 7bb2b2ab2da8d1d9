#!/usr/bin/env python3
"""Stands where the program that replays ops is, asks it, and has the largest number of each result larger by
a share: WRONG_REPLAYER is the program's path, WRONG_SHARE the share, 0 for right answers."""

import array
import os
import socket
import struct
import subprocess

# By the numbers of ulpscope::Dtype: float32, float64, complex64 and complex128; int32, int64 and bool.
ROUNDED = {6: "f", 7: "d", 9: "f", 10: "d"}
WHOLE = {3: "i", 4: "q", 11: "B"}
TENSOR = struct.Struct("<BHH????B")  # role, index, element, defined, wrapped number, gradient, rows, dtype
COUNT = struct.Struct("<Q")
PLACE = 3  # bytes: alignment, GPU


def receive(stream):
    """A message, None at the end."""
    size = stream.read(COUNT.size)
    return stream.read(COUNT.unpack(size)[0]) if len(size) == COUNT.size else None


def send(stream, message):
    stream.write(COUNT.pack(len(message)) + message)
    stream.flush()


def wrong(dtype, numbers, share):
    """The bytes of a tensor with one number wrong, as far as its dtype is known here."""
    if not share or not numbers or dtype not in ROUNDED | WHOLE:
        return numbers
    values = array.array((ROUNDED | WHOLE)[dtype], numbers)
    if dtype in WHOLE:
        values[0] ^= 1
    else:
        at = values.index(max(max(values), min(values), key=abs))
        values[at] = values[at] * (1 + share) or share
    return values.tobytes()


def changed(answer, share):
    """The answer (ReplayAnswer of lib/replay/messages.cpp) with other numbers."""
    parts, at = [], 0

    def take(count):
        nonlocal at
        at += count
        return answer[at - count:at]

    def counted(size):
        count = take(COUNT.size)
        return count, take(COUNT.unpack(count)[0] * size)

    parts.append(take(COUNT.size))
    for _ in range(COUNT.unpack(parts[0])[0]):
        head = take(TENSOR.size)
        parts += [head, *counted(8), *counted(8), *counted(8), take(PLACE)]  # sizes, strides, those in memory
        count, numbers = counted(1)
        parts += [count, wrong(TENSOR.unpack(head)[-1], numbers, share)]
    return b"".join([*parts, answer[at:]])


def main():
    ours, theirs = socket.socketpair()
    share = float(os.environ["WRONG_SHARE"])
    with subprocess.Popen([os.environ["WRONG_REPLAYER"]], stdin=theirs):
        theirs.close()
        with ours.makefile("rwb") as replayer, socket.socket(fileno=0).makefile("rwb") as asker:
            while (request := receive(asker)) is not None:
                send(replayer, request)
                if (answer := receive(replayer)) is None:
                    break
                send(asker, changed(answer, share))
        ours.close()


if __name__ == "__main__":
    main()
