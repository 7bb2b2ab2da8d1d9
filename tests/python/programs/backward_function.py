"""Trains through a function with a backward of its own. `backward_function.py FACTOR`: of the gradient in there."""

import sys

import torch
from digest import print_digest

FACTOR = float(sys.argv[1])


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * (gradient * FACTOR)


torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    Square.apply(model(torch.randn(2, 4))).mean().backward()
    optimizer.step()
print_digest(model)
