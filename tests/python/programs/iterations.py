"""A training loop with all that programs do around forward and backward. `iterations.py WHAT` changes one thing in
iteration 2: the batch, the target, the carried state, a micro-batch, zero_grad, the metric, the evaluation, the average
or the noise of the second of two optimizers."""

import sys

import torch

from digest import print_digest

CHANGED = sys.argv[1] if len(sys.argv) > 1 else "none"
ITERATION = 2

torch.manual_seed(0)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.hidden = torch.nn.Linear(inputs, 8)
        self.out = torch.nn.Linear(8, outputs)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


model, target, critic, average = Net(6, 4), Net(6, 4), Net(4, 1), Net(6, 4)
target.load_state_dict(model.state_dict())
average.load_state_dict(model.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=1e-2)
rows, labels = torch.randn(64, 6), torch.randint(4, (64,))
held_out = torch.randn(16, 6)
state = torch.zeros(8, 4)

for iteration in range(4):
    scale = {CHANGED: 1.001} if iteration == ITERATION else {}

    losses = []
    for part in range(2):
        picked = range(16 * iteration + 8 * part, 16 * iteration + 8 * (part + 1))
        x = torch.stack([rows[k] for k in picked]) * scale.get("batch", 1)
        unread = torch.stack([labels[k] for k in picked])
        if part == 1:
            x = x * scale.get("micro", 1)
        with torch.no_grad():
            wanted = 0.9 * target(x) * scale.get("target", 1)
        if part == 0 and not (iteration == ITERATION and CHANGED == "zero"):
            optimizer.zero_grad()
        carried = state.detach() * scale.get("state", 1)
        state = model(x) + 0.1 * carried
        loss = (state - wanted).square().mean() / 2
        loss.backward()
        losses.append(loss)
    optimizer.step()

    noise = torch.randn(8, 4) * scale.get("noise", 1)
    critic_optimizer.zero_grad()
    critic(noise).square().mean().backward()
    critic_optimizer.step()

    print(iteration, (losses[0].detach() * scale.get("metric", 1)).item())
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), model.parameters()):
            mean.mul_(0.9).add_(weight, alpha=0.1 * scale.get("average", 1))
        model.eval()
        print(iteration, (model(held_out) * scale.get("evaluation", 1)).mean().item())
        model.train()

print_digest(model, average, critic)
