"""The decoder and the postnet of Tacotron 2 (Shen et al., 2018) in torch.nn, at its published size, teacher forced: each frame is computed from the target's frame before.

The prenet reads all frames at once, since they are known; attention and LSTM layers take a step for each frame; the postnet reads all frames. The encoder's memory is an
input. Training minimizes the squared error of the frames before and behind the postnet and the cross entropy of the gate, which tells the last frame.
"""
import torch
from torch import nn
import torch.nn.functional as F

MELS, MEMORY, PRENET, HIDDEN, ATTENTION, FILTERS, WINDOW, POSTNET, KERNEL = 80, 512, 256, 1024, 128, 32, 31, 512, 5


class Prenet(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.layers, self.dropout = nn.ModuleList([nn.Linear(MELS, PRENET, bias=False), nn.Linear(PRENET, PRENET, bias=False)]), dropout

    def forward(self, x):
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x)), self.dropout)
        return x


class LocationAttention(nn.Module):
    """Weights over the memory, from the query, the memory's keys, the weights before and their sum so far."""

    def __init__(self):
        super().__init__()
        self.query, self.keys, self.score = nn.Linear(HIDDEN, ATTENTION, bias=False), nn.Linear(MEMORY, ATTENTION, bias=False), nn.Linear(ATTENTION, 1, bias=False)
        self.location, self.dense = nn.Conv1d(2, FILTERS, WINDOW, padding=WINDOW // 2, bias=False), nn.Linear(FILTERS, ATTENTION, bias=False)

    def forward(self, query, memory, keys, weights, total):
        places = self.dense(self.location(torch.stack([weights, total], 1)).transpose(1, 2))
        weights = F.softmax(self.score(torch.tanh(self.query(query).unsqueeze(1) + places + keys)).squeeze(2), 1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Postnet(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        widths = [MELS, *[POSTNET] * 4, MELS]
        self.layers = nn.ModuleList(nn.Sequential(nn.Conv1d(a, b, KERNEL, padding=KERNEL // 2), nn.BatchNorm1d(b)) for a, b in zip(widths, widths[1:]))
        self.dropout = dropout

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(torch.tanh(layer(x)), self.dropout)
        return F.dropout(self.layers[-1](x), self.dropout)


class Decoder(nn.Module):
    """`dropout`: whether it is there, at its published rates; without it losses can be compared."""

    def __init__(self, dropout=True):
        super().__init__()
        self.prenet, self.attention, self.postnet = Prenet(.5 * dropout), LocationAttention(), Postnet(.5 * dropout)
        self.first, self.second = nn.LSTMCell(PRENET + MEMORY, HIDDEN), nn.LSTMCell(HIDDEN + MEMORY, HIDDEN)
        self.frame, self.gate = nn.Linear(HIDDEN + MEMORY, MELS), nn.Linear(HIDDEN + MEMORY, 1)
        self.dropout = .1 * dropout

    def forward(self, memory, frames):
        """memory [N, length, MEMORY] and frames [N, count, MELS], which begin with zeros -> frames, frames behind the postnet [N, count, MELS], gates [N, count]"""
        read, keys = self.prenet(frames), self.attention.keys(memory)
        h1 = c1 = h2 = c2 = memory.new_zeros(memory.shape[0], HIDDEN)
        context, weights = memory.new_zeros(memory.shape[0], MEMORY), memory.new_zeros(memory.shape[:2])
        total, made = weights, []
        for step in range(frames.shape[1]):
            h1, c1 = self.first(torch.cat([read[:, step], context], 1), (h1, c1))
            h1 = F.dropout(h1, self.dropout)
            context, weights = self.attention(h1, memory, keys, weights, total)
            total = total + weights
            h2, c2 = self.second(torch.cat([h1, context], 1), (h2, c2))
            h2 = F.dropout(h2, self.dropout)
            made.append(torch.cat([h2, context], 1))
        made = torch.stack(made, 1)
        mels = self.frame(made)
        return mels, mels + self.postnet(mels.transpose(1, 2)).transpose(1, 2), self.gate(made).squeeze(2)


def loss_of(answers, frames, gates):
    mels, finer, gate = answers
    return F.mse_loss(mels, frames) + F.mse_loss(finer, frames) + F.binary_cross_entropy_with_logits(gate, gates)


def samples(count, frames, length, seed=1):
    """Memory, frames to read (zeros first), frames to make, and gates. Frames are smooth in time, as spectrograms are."""
    draw = torch.Generator().manual_seed(seed)
    memory = torch.randn(count, length, MEMORY, generator=draw) * .5
    made = torch.cumsum(torch.randn(count, frames, MELS, generator=draw) * .2, 1)
    read = torch.cat([torch.zeros(count, 1, MELS), made[:, :-1]], 1)
    gates = torch.zeros(count, frames)
    gates[:, -1] = 1
    return memory, read, made, gates


def export(path, frames, length, dropout=True, batch=2):
    torch.manual_seed(0)
    module = Decoder(dropout).train()
    names, axes = ["memory", "frames", "mels", "finer", "gate"], {0: "N"}
    torch.onnx.export(module, samples(batch, frames, length)[:2], path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=17, dynamo=False,
                      input_names=names[:2], output_names=names[2:], dynamic_axes={name: axes for name in names})
