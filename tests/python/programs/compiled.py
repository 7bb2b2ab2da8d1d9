"""torch.compile: what Dynamo makes of a program."""

import torch
from digest import print_digest
from torch import nn
from torch._dynamo.utils import counters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        return self.inner(torch.relu(self.first(x))).sum()


class Shifted(nn.Linear):
    def __call__(self, x):
        return super().__call__(x + 1)


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
graphs = []


def backend(graph, inputs):
    graphs.append([str(getattr(node.target, "__name__", node.target)) for node in graph.graph.nodes if node.op == "call_function"])
    return graph.forward


optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = torch.compile(net, backend=backend)
for _ in range(2):
    optimizer.zero_grad()
    compiled(torch.randn(3, 4)).backward()
    optimizer.step()


@torch.compile(backend=backend)
def step():
    optimizer.step()


@torch.compile(backend=backend, fullgraph=True)
def whole(x):
    return net(x) + net.inner(x).sum()


calls = nn.Sequential(nn.Linear(4, 4), Shifted(4, 4))  # what Dynamo traces of them begins with the call
calls[0].register_forward_hook(lambda module, inputs, output: 2 * output)


@torch.compile(backend=backend, fullgraph=True)
def called(x):
    return calls(x).sum() + calls[0]._wrapped_call_impl(x).sum()


compiled(torch.randn(3, 4)).backward()
step()
whole(torch.randn(3, 4)).backward()
called(torch.randn(3, 4)).backward()
optimizer.step()
print("graphs", graphs)
print("breaks", len(counters["graph_break"]))
print("unique", dict(counters["stats"]))
print_digest(net)
