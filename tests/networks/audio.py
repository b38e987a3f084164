"""Networks over time by convolutions, and with recurrence behind them, in torch.nn alone, small."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates, weight norm, residuals and skips; it scores the next sample at every moment."""

    def __init__(self, levels=32, width=12, skip=16, depth=4):
        super().__init__()
        self.embed, self.width = nn.Embedding(levels, width), width
        self.dilated = nn.ModuleList(weight_norm(nn.Conv1d(width, 2 * width, 2, dilation=2 ** index)) for index in range(depth))
        self.residual = nn.ModuleList(weight_norm(nn.Conv1d(width, width, 1)) for _ in range(depth - 1))
        self.skip = nn.ModuleList(weight_norm(nn.Conv1d(width, skip, 1)) for _ in range(depth))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, levels, 1))

    def forward(self, samples):
        x, total = self.embed(samples).transpose(1, 2), 0
        for index, (dilated, skip) in enumerate(zip(self.dilated, self.skip)):
            a, b = dilated(F.pad(x, (2 ** index, 0))).chunk(2, dim=1)
            gated = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(gated)
            if index < len(self.residual):
                x = x + self.residual[index](gated)
        return self.last(total)


class Chomp(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, x):
        return x[:, :, :-self.count].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, c_in, c_out, kernel, dilation):
        super().__init__()
        pad = (kernel - 1) * dilation
        self.net = nn.Sequential(nn.Conv1d(c_in, c_out, kernel, padding=pad, dilation=dilation), Chomp(pad), nn.ReLU(), nn.Dropout(0.0),
                                 nn.Conv1d(c_out, c_out, kernel, padding=pad, dilation=dilation), Chomp(pad), nn.ReLU(), nn.Dropout(0.0))
        self.downsample = nn.Conv1d(c_in, c_out, 1) if c_in != c_out else None

    def forward(self, x):
        return F.relu(self.net(x) + (x if self.downsample is None else self.downsample(x)))


class Tcn(nn.Module):
    """Bai et al.'s temporal convolutional network: padded on both sides, then cut at the end."""

    def __init__(self, channels=4, classes=5):
        super().__init__()
        self.network = nn.Sequential(*(TemporalBlock(c_in, c_out, 3, 2 ** index) for index, (c_in, c_out) in enumerate(((channels, 12), (12, 12), (12, 16)))))
        self.linear = nn.Linear(16, classes)

    def forward(self, x):
        return self.linear(self.network(x)[:, :, -1])


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.0), nn.Linear(4 * width, width), nn.Dropout(0.0))

    def forward(self, x):
        return self.net(x)


class ConvModule(nn.Module):
    def __init__(self, width, kernel=5):
        super().__init__()
        self.norm, self.up = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
        self.depthwise, self.bn = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width), nn.BatchNorm1d(width)
        self.down = nn.Conv1d(width, width, 1)

    def forward(self, x):
        y = F.glu(self.up(self.norm(x).transpose(1, 2)), dim=1)
        return self.down(F.silu(self.bn(self.depthwise(y)))).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second, self.conv = FeedForward(width), FeedForward(width), ConvModule(width)
        self.norm, self.attention, self.last = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True), nn.LayerNorm(width)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.conv(x)
        return self.last(x + 0.5 * self.second(x))


class Conformer(nn.Module):
    """Frames of a spectrogram, subsampled by two; a class for every frame that is left."""

    def __init__(self, bands=8, width=16, classes=6):
        super().__init__()
        self.subsample, self.into = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU()), nn.Linear(4 * bands // 2, width)
        self.blocks, self.head = nn.Sequential(ConformerBlock(width, 2), ConformerBlock(width, 2)), nn.Linear(width, classes)

    def forward(self, x):
        x = self.subsample(x.unsqueeze(1)).permute(0, 2, 1, 3).flatten(2)
        return self.head(self.blocks(self.into(x))).transpose(1, 2)


class Crnn(nn.Module):
    """Text of an image: columns of features, read in both directions, a class for every column."""

    def __init__(self, classes=8):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.rnn, self.head = nn.LSTM(24, 12, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(24, classes)

    def forward(self, x):
        columns = self.features(x).permute(0, 3, 1, 2).flatten(2)
        return self.head(self.rnn(columns)[0]).transpose(1, 2)
