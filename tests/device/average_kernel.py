"""A kernel in Triton that averages."""

import triton
from triton import language


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (256, 1024)],
    key=["count"],
    restore_value=["average"],
)
@triton.jit
def averaged(average, new, decay, count, BLOCK: language.constexpr):
    places = language.program_id(0) * BLOCK + language.arange(0, BLOCK)
    inside = places < count
    old = language.load(average + places, mask=inside)
    value = language.load(new + places, mask=inside)
    language.store(average + places, old * decay + value * (1 - decay), mask=inside)
