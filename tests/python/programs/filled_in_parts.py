"""Fills memory that is not initialized by index, by mask, and by what packing and unpacking sequences and sparse
tensors with duplicates do, and trains with it. `filled_in_parts.py FACTOR`: of what one step writes there."""

import sys

import torch

torch.manual_seed(0)
lstm, head = torch.nn.LSTM(4, 8, batch_first=True), torch.nn.Linear(8, 6)
optimizer = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    lengths = torch.tensor([3, 6, 2, 5, 4])
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        torch.randn(5, 6, 4), lengths, batch_first=True, enforce_sorted=False
    )
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
    values = torch.arange(6.0)
    by_index, by_mask = torch.empty(6), torch.empty(6)
    by_index[torch.tensor([3, 1, 0])] = values[:3] * (float(sys.argv[1]) if step == 1 else 1.0)
    by_index[torch.tensor([2, 5, 4])] = values[3:]
    by_mask[values > 2] = 1.0
    by_mask.masked_fill_(values <= 2, 2.0)
    edges = torch.sparse_coo_tensor(torch.randint(0, 6, (2, 30)), torch.ones(30), (6, 6))
    weights = edges.to_sparse_csr()
    by_mask = by_mask * (weights @ values.unsqueeze(1)).squeeze(1)
    optimizer.zero_grad()
    loss = ((head(padded) - by_index) * by_mask).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
