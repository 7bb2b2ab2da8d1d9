"""Says where two runs of the same PyTorch model diverge, and why.

    ulpscope record -o runs/a -- python train.py        # no import is needed in train.py
    ulpscope record -o runs/b -- python train.py
    ulpscope compare runs/a runs/b

A recorded program can say more about itself with `watch`, `step`, `scope`, `note`, `note_rng` and
`note_batch`, which do nothing while nothing is recorded. `record` records a part of a program.
`compare` and `open` give reports and values as objects.
"""

from ._dumps import Dump, open
from ._errors import Error
from ._program import note, note_batch, note_rng, scope, step, watch
from ._recording import record
from ._reports import Cause, Finding, Report, compare

__all__ = [
    "Cause",
    "Dump",
    "Error",
    "Finding",
    "Report",
    "compare",
    "note",
    "note_batch",
    "note_rng",
    "open",
    "record",
    "scope",
    "step",
    "watch",
]
