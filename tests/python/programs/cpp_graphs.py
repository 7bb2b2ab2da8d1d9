"""A graph that torch.compile has made one function of C++ of, as it calls one with cpp_wrapper; nothing is compiled."""

import sys

import torch
from digest import print_digest
from torch import nn
from torch._inductor.codecache import CppWrapperCodeCache

factor, written = float(sys.argv[1]), sys.argv[2] == "written"


def generated(handles):
    """Its own kernel fills memory of its own, past LibTorch's dispatcher."""
    weight, value = map(torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr, handles)
    scaled = torch.empty_like(value)
    scaled.numpy()[:] = factor * value.detach().numpy()
    return [torch._C._aoti.unsafe_alloc_void_ptr_from_tensor(scaled @ weight.detach())]


CppWrapperCodeCache.load_pybinding_async = lambda *arguments, **keywords: lambda: generated
entry = CppWrapperCodeCache.load_pybinding(["std::vector<AtenTensorHandle>"], f"scale by {factor}", num_outputs=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 2))

    def forward(self, value):
        handles = torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors([self.weight, value])
        return torch._C._aoti.alloc_tensors_by_stealing_from_void_ptrs(entry(handles))[0]


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    value = torch.randn(3, 4)
    if written and step == 1:
        net.weight.detach().numpy()[0, 0] += 1
    optimizer.zero_grad()
    net.weight.grad = value.T @ net(value)
    optimizer.step()
print_digest(net)
