"""What goes wrong in a hook stays in it."""

import os
import sys

from . import capture

_folder = os.path.dirname(__file__)
_told = False


def is_ours(error: BaseException) -> bool:
    """Whether an exception was raised by the hooks, not by a signal handler that ran inside them."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename.startswith(_folder)


def failed(where: str, error: Exception) -> None:
    """To be called in an `except` clause. Says in the dump, once, what is not recorded; raises what
    belongs to the program."""
    global _told
    if not is_ours(error):
        raise error
    if _told:
        return
    _told = True
    sentence = f"the Python hooks failed in {where}: {type(error).__name__}: {error}"
    notice = capture.text(sentence + "; what they would have said is not recorded")
    capture.when_recording(lambda library: library.notice(notice))
