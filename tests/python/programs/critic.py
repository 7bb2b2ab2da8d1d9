"""A generator and a critic, whose data and noise come from one stream of random numbers.

Usage: critic.py ROUND

In that round the critic is trained once more.
"""

import sys

import torch
from digest import print_digest
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=0.01)
of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
real = torch.randn(32, 4)
for step in range(6):
    for _ in range(2 if step == int(sys.argv[1]) else 1):
        of_critic.zero_grad()
        (critic(generator(torch.randn(4, 2)).detach()).mean() - critic(real[4 * step : 4 * step + 4]).mean()).backward()
        of_critic.step()
    of_generator.zero_grad()
    critic(generator(torch.randn(4, 2))).mean().neg().backward()
    of_generator.step()
print_digest(nn.ModuleList([generator, critic]))
