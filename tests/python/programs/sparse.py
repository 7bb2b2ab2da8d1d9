"""Trains on a graph whose edges, some of them duplicates, are a sparse matrix, with a sparse embedding. `sparse.py
FACTOR`: of the edges' weights."""

import sys

import torch

torch.manual_seed(0)
weights = torch.ones(60) * float(sys.argv[1])
edges = torch.sparse_coo_tensor(torch.randint(0, 12, (2, 60)), weights, (12, 12)).coalesce()
embedding, head = torch.nn.Embedding(12, 4, sparse=True), torch.nn.Linear(4, 3)
optimizers = [torch.optim.SparseAdam(embedding.parameters(), lr=0.01), torch.optim.SGD(head.parameters(), lr=0.1)]
nodes, classes = torch.tensor([0, 1, 2, 3, 4, 5, 5, 5, 8, 9, 10, 11]), torch.randint(0, 3, (12,))
for step in range(3):
    loss = torch.nn.functional.cross_entropy(torch.sparse.mm(edges, head(embedding(nodes))), classes)
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    print(loss.item())
