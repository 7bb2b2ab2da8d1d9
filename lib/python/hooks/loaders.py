"""Worker processes of DataLoaders: which batches one makes follows from its number and from how many there are."""

import functools

from . import capture
from .guard import failed


def follow(module) -> None:
    """`module` is torch.utils.data._utils.worker, which makes one WorkerInfo in each worker."""
    kind = module.WorkerInfo
    begin = kind.__init__

    @functools.wraps(begin)
    def begin_and_note(self, **named):
        begin(self, **named)
        try:
            library = capture.library()
            if library is not None:
                library.setting(b"process.loads", capture.text(f"{self.id} of {self.num_workers}"))
        except Exception as error:
            failed("a worker of a DataLoader", error)

    kind.__init__ = begin_and_note
