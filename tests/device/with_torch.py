"""Digests of PyTorch's tensors on PyTorch's streams, and inside its graphs, against xxHash's own.

    with_torch.py LIBULPSCOPE_DEVICE

The library has its own CUDA runtime, so this shows that both share a device's context.
"""
import ctypes
import pathlib
import re
import sys

import torch
import xxhash


class Span(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Value(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("element_size", ctypes.c_size_t), ("sizes", Span),
                ("strides", Span), ("dtype", ctypes.c_uint8), ("order", ctypes.c_int)]


class Memory(ctypes.Structure):
    _fields_ = [("scratch", Span), ("staging", Span), ("staged", ctypes.c_void_p)]


class Results(ctypes.Structure):
    _fields_ = [("digests", ctypes.c_void_p), ("statistics", ctypes.c_void_p), ("capacity", ctypes.c_uint32),
                ("first", ctypes.c_uint32), ("done", ctypes.c_void_p), ("mark", ctypes.c_uint32)]


class Outcome(ctypes.Structure):
    _fields_ = [("problem", ctypes.c_uint8), ("cuda_error", ctypes.c_int)]


class Functions(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("prepare", ctypes.CFUNCTYPE(Outcome, Span, ctypes.c_void_p)),
        ("enqueue_digests", ctypes.CFUNCTYPE(Outcome, Span, ctypes.POINTER(Memory), ctypes.POINTER(Results),
                                             ctypes.c_void_p)),
    ]


# Structures here are as device.hpp and batch.hpp of this checkout have them.
HEADER = pathlib.Path(__file__).parents[2] / "lib/device/device.hpp"
VERSION = int(re.search(r"kVersion = (\d+);", HEADER.read_text()).group(1))
LEAF = 4096


def expected(data):
    """The definition in lib/core/DIGEST.md."""
    def tree(part):
        if len(part) <= LEAF:
            return part
        leaves = (xxhash.xxh3_128_intdigest(part[at:at + LEAF]) for at in range(0, len(part), LEAF))
        return tree(b"".join(leaf.to_bytes(16, "little") for leaf in leaves))

    top = xxhash.xxh3_128_intdigest(tree(data))
    if len(data) > LEAF:
        top = xxhash.xxh3_128_intdigest(top.to_bytes(16, "little"), seed=len(data))
    return top >> 64, top & (2**64 - 1)


def check(outcome):
    if outcome.problem != 0:
        sys.exit(f"FAILED: problem {outcome.problem}, CUDA error {outcome.cuda_error}")


class Digester:
    """One tensor at a time, without statistics."""

    def __init__(self, library):
        library.ulpscope_device_functions.restype = ctypes.POINTER(Functions)
        self.functions = library.ulpscope_device_functions(ctypes.c_uint32(VERSION)).contents
        self.scratch = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        self.result = torch.zeros(2, dtype=torch.int64, device="cuda")
        self.scratch_span = Span(self.scratch.data_ptr(), self.scratch.numel())
        check(self.functions.prepare(self.scratch_span, torch.cuda.current_stream().cuda_stream))
        torch.cuda.synchronize()

    def enqueue(self, tensor):
        dims = ctypes.c_int64 * max(tensor.dim(), 1)
        sizes, strides = dims(*tensor.shape), dims(*tensor.stride())
        value = Value(tensor.data_ptr(), tensor.element_size(),
                      Span(ctypes.addressof(sizes), tensor.dim()),
                      Span(ctypes.addressof(strides), tensor.dim()), 255, 1)  # in logical order
        memory = Memory(self.scratch_span, Span(None, 0), None)
        results = Results(self.result.data_ptr(), None, 1, 0, None, 0)
        check(self.functions.enqueue_digests(Span(ctypes.addressof(value), 1), memory, results,
                                             torch.cuda.current_stream().cuda_stream))

    def read(self):
        return tuple(half % 2**64 for half in self.result.tolist())


def bytes_of(tensor):
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


def main():
    if not torch.cuda.is_available():
        print("skipped: there is no GPU here")
        sys.exit(77)
    digester = Digester(ctypes.CDLL(sys.argv[1]))
    base = torch.randn(600, 1000, device="cuda")
    tensors = [base, base.t(), base[:, 3:], base[::2, ::3], base.bfloat16(), base.double(), base[0, :7],
               torch.arange(5000, device="cuda"), torch.randn(4, 16, 20, 30, device="cuda").to(
                   memory_format=torch.channels_last)]
    streams = [torch.cuda.default_stream(), torch.cuda.Stream()]
    for stream in streams:
        torch.cuda.synchronize()
        for tensor in tensors:
            with torch.cuda.stream(stream):
                digester.enqueue(tensor)
                stream.synchronize()
                if digester.read() != expected(bytes_of(tensor)):
                    sys.exit(f"FAILED: a tensor of {tuple(tensor.shape)} and strides {tensor.stride()}")

    graph = torch.cuda.CUDAGraph()
    static = torch.zeros(300, 700, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        digester.enqueue(static * 2)
    for _ in range(3):
        static.normal_()
        graph.replay()
        torch.cuda.synchronize()
        if digester.read() != expected(bytes_of(static * 2)):
            sys.exit("FAILED: a tensor inside a graph")
    print(f"{len(tensors) * len(streams)} tensors and 3 replays of a graph have xxHash's digests")


main()
