"""Processes of pools: which of them is given which task, and what ends them, depends on time.

Such a process notes `process.tasks`, and sends what a task has left before it hands over the result: from then on
the pool may end it by a signal.
"""

import functools
import sys
import threading

from . import capture
from .guard import failed
from .imports import after_import


class _Tasks:
    """Of one process. A task has ended when its result is put; the initializer has when the first task is got."""

    def __init__(self, pool: bytes) -> None:
        self._pool = pool
        self._noted = False

    def _end(self) -> None:
        try:
            library = capture.library()
            if library is None:
                return
            if not self._noted:
                self._noted = True
                library.setting(b"process.tasks", self._pool)
            library.end_task()
        except Exception as error:
            failed("the end of a task", error)

    def follow(self, results) -> None:
        """What is put into `results` is the last that a task does: ops may pickle it."""
        writer = results._writer
        send = writer.send_bytes

        def end_and_send(*arguments, **named):
            self._end()
            return send(*arguments, **named)

        writer.send_bytes = end_and_send

    def getting(self, get):
        def end_and_get(*arguments, **named):
            if not self._noted:
                self._end()
            return get(*arguments, **named)

        return end_and_get


def _serves_a_process() -> bool:
    return threading.current_thread() is threading.main_thread()  # ThreadPool has threads instead


def _queues_of_running(code):
    """The first two arguments of the function that has this code, if it is running."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code is code:
            return [frame.f_locals[name] for name in code.co_varnames[:2]]
        frame = frame.f_back
    return None


def _follow(module, name: str) -> None:
    work = getattr(module, name)
    pool = module.__name__.encode()

    @functools.wraps(work)  # by whose name it is pickled
    def work_and_note(tasks, results, *arguments, **named):
        if _serves_a_process():
            try:
                followed = _Tasks(pool)
                followed.follow(results)
                tasks.get = followed.getting(tasks.get)
            except Exception as error:
                failed("the tasks of a process", error)
        return work(tasks, results, *arguments, **named)

    setattr(module, name, work_and_note)
    running = _queues_of_running(work.__code__) if _serves_a_process() else None
    if running is not None:  # a task has imported PyTorch
        _Tasks(pool).follow(running[1])


def follow() -> None:
    """To be called once, as early as a program can be looked at."""
    for module in ("multiprocessing.pool", "multiprocess.pool"):
        after_import(module, lambda module: _follow(module, "worker"))
    for module in ("concurrent.futures.process", "loky.process_executor", "joblib.externals.loky.process_executor"):
        after_import(module, lambda module: _follow(module, "_process_worker"))
