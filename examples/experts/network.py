"""A small torch network that has learnt to balance CartPole's pole, for the examples of torch and ONNX."""

import torch


def trained() -> torch.nn.Module:
    """Learn, from 4,000 random states, the pushes of a controller."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    states = torch.randn(4_000, 4) * torch.tensor([1.0, 1.0, 0.1, 1.0])
    pushes = (states @ torch.tensor([0.3, 0.6, 6.0, 1.5]) > 0).long()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(400):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(states), pushes).backward()
        optimizer.step()
    return network
