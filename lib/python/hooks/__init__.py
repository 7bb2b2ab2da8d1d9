"""Tells the capture library what only Python knows: modules by their paths, optimizers, generators.

Runs inside the recorded program while it imports torch (lib/preload/python.c). The program does not
notice: what goes wrong here is a notice in the dump, and the program goes on.
"""

import atexit

from . import (
    compilation, cpp_graphs, cpp_kernels, generators, loaders, modules, optimizers, orders, pools,
    program, saves, trees, triton_kernels,
)
from .capture import finish, finish_before_exit
from .imports import after_import

after_import("torch.nn.modules.module", modules.follow)
after_import("torch.compiler", modules.follow_tracing)
after_import("torch.optim.optimizer", optimizers.follow)
after_import("torch.serialization", saves.follow)
after_import("torch.utils.data._utils.worker", loaders.follow)
after_import("safetensors.torch", saves.follow_safetensors)
after_import("torch._dynamo.callback", compilation.follow_compilers)
after_import("torch._dynamo.eval_frame", trees.follow_wrappers)
after_import("torch.fx.graph_module", trees.follow_graphs)
after_import("torch._inductor.async_compile", cpp_kernels.follow)
after_import("torch._inductor.codecache", cpp_graphs.follow)
after_import("torch._inductor.package.package", cpp_graphs.follow_models)
after_import("torch._inductor.runtime.triton_heuristics", triton_kernels.follow_generated)
after_import("triton.runtime.jit", triton_kernels.follow_written)
after_import("triton.runtime.autotuner", triton_kernels.follow_tuned)
generators.follow()
orders.follow()
pools.follow()
atexit.register(finish)
finish_before_exit()
