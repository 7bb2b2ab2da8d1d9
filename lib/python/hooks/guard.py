"""What goes wrong in a hook stays in it."""

import os
import signal

from . import capture

_folder = os.path.dirname(__file__)
_told = False


def _code_of(function):
    return getattr(getattr(function, "__func__", function), "__code__", None)


def belongs_to_program(error: BaseException) -> bool:
    """Whether an exception only happened to be raised while a hook ran: by a signal handler, or by
    another thread (PyThreadState_SetAsyncExc)."""
    handlers = {_code_of(signal.getsignal(each)) for each in signal.valid_signals()} - {None}
    trace = error.__traceback__
    while trace is not None:
        innermost = trace.tb_frame.f_code
        if innermost in handlers:
            return True
        trace = trace.tb_next
    is_ours = innermost.co_filename.startswith(_folder)
    return is_ours and type(error).__module__ not in ("builtins", "ctypes")


def failed(where: str, error: Exception) -> None:
    """To be called in an `except` clause. Says in the dump, once, what is not recorded; raises what
    belongs to the program."""
    global _told
    if belongs_to_program(error):
        raise error
    if _told:
        return
    _told = True
    sentence = f"the Python hooks failed in {where}: {type(error).__name__}: {error}"
    notice = capture.text(sentence + "; what they would have said is not recorded")
    capture.when_recording(lambda library: library.notice(notice))
