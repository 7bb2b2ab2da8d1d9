"""torch.compile in a program that records itself, which it begins after Dynamo has been imported.

Usage: compiled_itself.py WHEN        trains without a recording
       compiled_itself.py WHEN DUMP   records its training

WHEN the model is compiled: "before" the recording begins, and called then, too, or "inside" it.
"""

import contextlib
import sys

import torch
import ulpscope
from digest import print_digest
from torch import nn
from torch._dynamo.utils import counters
from torch._dynamo.variables import nn_module

graphs = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return self.inner(torch.relu(self.first(x))).sum()


def backend(graph, inputs):
    graphs.append([node.target.__name__ for node in graph.graph.nodes if node.op == "call_function"])
    return graph.forward


def main(when, dumps):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if when == "before":
        compiled = torch.compile(net, backend=backend)
        compiled(torch.ones(3, 4)).backward()
    with ulpscope.record(dumps[0]) if dumps else contextlib.nullcontext():
        whole = torch.compile(lambda x: net(x) + net.inner(x).sum(), backend=backend, fullgraph=True)
        if when == "inside":
            compiled = torch.compile(net, backend=backend)
        for _ in range(3):
            optimizer.zero_grad()
            (compiled(torch.randn(3, 4)) + whole(torch.randn(3, 4))).backward()
            optimizer.step()
        print("is as Dynamo knows it", nn.Module.__call__ is nn_module.unpatched_nn_module_call)
    print("graphs", graphs)
    print("breaks", dict(counters["graph_break"]))
    print("unique", dict(counters["stats"]))
    print_digest(net)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
