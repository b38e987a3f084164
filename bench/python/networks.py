"""The networks of the memory comparison: ResNet-18, BERT-mini, a 12-layer GPT. Random data of fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


class Residual(nn.Module):
    """Two 3x3 convolutions with batch norm, beside the identity or a 1x1 convolution."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outer)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.first(x)))
        return functional.relu(self.norm2(self.second(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al., 2016, with its stem. `blocks` are the parts that checkpointing recomputes."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        widths = [64, 64, 128, 128, 256, 256, 512, 512]
        self.blocks = nn.ModuleList(
            Residual(inner, outer, 2 if inner != outer else 1)
            for inner, outer in zip([64, *widths[:-1]], widths, strict=True)
        )
        self.head = nn.Linear(512, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(x.mean((2, 3)))

    def run_block(self, block: nn.Module, x: Tensor) -> Tensor:
        return block(x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """A transformer layer, norm first (GPT) or last (BERT)."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float) -> None:
        super().__init__()
        self.norm_first = causal
        self.attention = Attention(width, heads, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def mix(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(functional.gelu(self.up(x))))

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.mix(self.norm2(x))
        x = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(x + self.mix(x))


class Transformer(nn.Module):
    """Tokens in, one vector of logits per token out."""

    def __init__(
        self, vocabulary: int, length: int, width: int, layers: int, heads: int, causal: bool, dropout: float
    ) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Layer(width, heads, causal, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x: Tensor) -> Tensor:
        x = self.tokens(x) + self.positions.weight[: x.shape[1]]
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(self.norm(x))

    def run_block(self, block: nn.Module, x: Tensor) -> Tensor:
        return block(x)


@dataclass(frozen=True)
class Network:
    """`make` builds a module in training mode; `inputs` are one batch; `loss` takes the module's output."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    loss: Callable[[Tensor], Tensor]


def _pictures() -> tuple[Tensor, ...]:
    return (torch.randn(16, 3, 64, 64, generator=torch.Generator().manual_seed(3)),)


def _words(batch: int, length: int, vocabulary: int) -> Callable[[], tuple[Tensor, ...]]:
    def make() -> tuple[Tensor, ...]:
        return (torch.randint(0, vocabulary, (batch, length), generator=torch.Generator().manual_seed(4)),)

    return make


def _cross_entropy(output: Tensor) -> Tensor:
    flat = output.flatten(0, -2)
    targets = torch.arange(flat.shape[0]) % flat.shape[-1]
    return functional.cross_entropy(flat, targets)


def networks() -> list[Network]:
    return [
        Network("resnet18", ResNet18, _pictures, _cross_entropy),
        Network(
            "bert-mini",
            lambda: Transformer(2000, 128, 256, 4, 4, causal=False, dropout=0.1),
            _words(8, 128, 2000),
            _cross_entropy,
        ),
        Network(
            "gpt-12",
            lambda: Transformer(1000, 128, 128, 12, 4, causal=True, dropout=0.0),
            _words(8, 128, 1000),
            _cross_entropy,
        ),
    ]
