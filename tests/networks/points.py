"""Networks of points, graphs and films, in torch.nn alone, small."""
import torch
from torch import nn
from torch.nn import functional as F


def shared_mlp(*widths):
    layers = []
    for c_in, c_out in zip(widths, widths[1:]):
        layers += [nn.Conv1d(c_in, c_out, 1), nn.BatchNorm1d(c_out), nn.ReLU()]
    return nn.Sequential(*layers)


class TNet(nn.Module):
    """A matrix for the points, about the identity, which is a buffer."""

    def __init__(self, k):
        super().__init__()
        self.k, self.mlp, self.fc = k, shared_mlp(k, 8, 16), nn.Sequential(nn.Linear(16, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, k * k))
        self.register_buffer("identity", torch.eye(k).flatten())

    def forward(self, x):
        x = torch.max(self.mlp(x), 2)[0]
        return (self.fc(x) + self.identity).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.input_net, self.first, self.feature_net, self.second = TNet(3), shared_mlp(3, 8), TNet(8), shared_mlp(8, 16, 24)
        self.head = nn.Sequential(nn.Linear(24, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, classes))

    def forward(self, x):
        x = torch.bmm(x.transpose(1, 2), self.input_net(x)).transpose(1, 2)
        x = self.first(x)
        x = torch.bmm(x.transpose(1, 2), self.feature_net(x)).transpose(1, 2)
        return self.head(torch.max(self.second(x), 2)[0])


class GraphConvolution(nn.Module):
    """Kipf and Welling's, on dense adjacency: A + I, normalized by the degrees on both sides."""

    def __init__(self, features=6, width=12, classes=5):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(features, width, bias=False), nn.Linear(width, width, bias=False), nn.Linear(width, classes)
        self.bias1, self.bias2 = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x, edges):
        adjacency = torch.maximum(edges, edges.transpose(1, 2)).to(x.dtype)
        adjacency = torch.maximum(adjacency, torch.eye(edges.size(1), dtype=x.dtype))
        scale = adjacency.sum(-1).pow(-0.5)
        adjacency = scale.unsqueeze(-1) * adjacency * scale.unsqueeze(-2)
        x = F.relu(torch.bmm(adjacency, self.fc1(x)) + self.bias1)
        x = F.relu(torch.bmm(adjacency, self.fc2(x)) + self.bias2)
        return self.out(x.mean(1))


class MessagePassing(nn.Module):
    """GraphSAGE: messages along a list of edges are added up where they arrive, each graph's nodes after those of the one before."""

    def __init__(self, features=6, width=12, nodes=8, classes=4):
        super().__init__()
        self.nodes, self.message, self.own, self.out = nodes, nn.Linear(features, width), nn.Linear(features, width), nn.Linear(width, classes)

    def forward(self, x, source, target):
        n, nodes, features = x.shape
        first = torch.arange(n).unsqueeze(1) * nodes
        flat = x.reshape(n * nodes, features)
        messages = self.message(flat)[(source + first).flatten()]
        to = (target + first).flatten().unsqueeze(1).expand(-1, messages.size(1))
        arrived = torch.zeros(n * nodes, messages.size(1), dtype=x.dtype).scatter_add(0, to, messages)
        return self.out(F.relu(self.own(flat) + arrived).view(n, nodes, -1).mean(1))


class C3d(nn.Module):
    """Convolutions over time and space."""

    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(nn.Conv3d(2, 6, 3, padding=1), nn.BatchNorm3d(6), nn.ReLU(), nn.MaxPool3d((1, 2, 2)),
                                      nn.Conv3d(6, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d(2))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool3d(self.features(x), 1).flatten(1))


class ConvLstm(nn.Module):
    """The next frame of a film: the gates of the cell are convolutions."""

    def __init__(self, channels=1, hidden=6):
        super().__init__()
        self.hidden, self.gates, self.out = hidden, nn.Conv2d(channels + hidden, 4 * hidden, 3, padding=1), nn.Conv2d(hidden, channels, 1)

    def forward(self, frames):
        n, steps, _, height, width = frames.shape
        h = c = torch.zeros(n, self.hidden, height, width, dtype=frames.dtype)
        for step in range(steps):
            i, f, o, g = torch.chunk(self.gates(torch.cat([frames[:, step], h], 1)), 4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.out(h)
