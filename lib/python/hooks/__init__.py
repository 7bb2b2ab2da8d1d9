"""Tells the capture library what only Python knows: modules by their paths, optimizers, generators.

Runs inside the recorded program while it imports torch (lib/preload/python.c). The program does not
notice: what goes wrong here is a notice in the dump, and the program goes on.
"""

import atexit

from . import generators, modules, optimizers, program
from .capture import finish
from .imports import after_import

after_import("torch.nn.modules.module", modules.follow)
after_import("torch.optim.optimizer", optimizers.follow)
generators.follow()
atexit.register(finish)
