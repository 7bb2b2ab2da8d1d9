"""Processes of pools: which of them is given which task, and what ends them, depends on time.

Such a process notes `process.tasks` before it hands over a result: at the latest then the pool may end it
by a signal.
"""

import functools
import threading

from . import capture
from .guard import failed
from .imports import after_import


class _Tasks:
    """Notes once that this process is given tasks, as soon as it is recorded."""

    def __init__(self, pool: bytes) -> None:
        self._pool = pool
        self._noted = False

    def note(self) -> None:
        try:
            library = None if self._noted else capture.library()
            if library is not None:
                self._noted = True
                library.setting(b"process.tasks", self._pool)
        except Exception as error:
            failed("the tasks of a process", error)

    def note_before(self, put):
        def note_and_put(*arguments, **named):
            self.note()
            return put(*arguments, **named)

        return note_and_put


def _follow(module, name: str) -> None:
    work = getattr(module, name)

    @functools.wraps(work)  # by whose name it is pickled
    def work_and_note(tasks, results, *arguments, **named):
        if threading.current_thread() is threading.main_thread():  # ThreadPool has threads instead
            noted = _Tasks(module.__name__.encode())
            noted.note()
            results.put = noted.note_before(results.put)
        return work(tasks, results, *arguments, **named)

    setattr(module, name, work_and_note)


def follow() -> None:
    """To be called once, as early as a program can be looked at."""
    after_import("multiprocessing.pool", lambda module: _follow(module, "worker"))
    after_import("concurrent.futures.process", lambda module: _follow(module, "_process_worker"))
