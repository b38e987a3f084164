"""Models that make something: adversarial training in two steps, variational, diffusion."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from .case import Case, classes, ids, real


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(6, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.ConvTranspose2d(16, 8, 4,
            2, 1, bias=False), nn.BatchNorm2d(8),
            nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh(),
        )  # fmt: skip

    def forward(self, z: Tensor) -> Tensor:
        return self.main(z[:, :, None, None])


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 16, 4, 2, 1, bias=False),
            nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(16, 1, 4)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x).flatten()


class CriticStep(nn.Module):
    """The first step: images made without gradient are told from true ones."""

    def __init__(self) -> None:
        super().__init__()
        self.generator, self.critic = Generator().requires_grad_(False), Critic()

    def forward(self, image: Tensor, z: Tensor) -> Tensor:
        true, made = self.critic(image), self.critic(self.generator(z).detach())
        return F.binary_cross_entropy_with_logits(true, torch.ones_like(true)) + F.binary_cross_entropy_with_logits(
            made, torch.zeros_like(made)
        )


class GeneratorStep(nn.Module):
    """The second: the critic is frozen, and the gradient goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.generator, self.critic = Generator(), Critic().requires_grad_(False)

    def forward(self, z: Tensor) -> Tensor:
        made = self.critic(self.generator(z))
        return F.binary_cross_entropy_with_logits(made, torch.ones_like(made))


@dataclass
class VaeOutput:
    image: Tensor
    mu: Tensor
    logvar: Tensor


class Vae(nn.Module):
    """The noise is drawn in forward; the output is a dataclass."""

    def __init__(self, draws: bool) -> None:
        super().__init__()
        self.draws = draws
        self.encoder, self.mu, self.logvar = (
            nn.Sequential(nn.Linear(36, 20), nn.ReLU()),
            nn.Linear(20, 4),
            nn.Linear(20, 4),
        )
        self.decoder = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 36), nn.Sigmoid())

    def forward(self, x: Tensor, noise: Tensor | None = None) -> VaeOutput:
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        noise = torch.randn_like(mu) if noise is None else noise
        return VaeOutput(self.decoder(mu + noise * torch.exp(0.5 * logvar)), mu, logvar)


def evidence(output: VaeOutput, target: Tensor) -> Tensor:
    divergence = -0.5 * torch.mean(1 + output.logvar - output.mu.pow(2) - output.logvar.exp())
    return F.binary_cross_entropy(output.image, target) + 0.1 * divergence


class TimeBlock(nn.Module):
    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        self.norm1, self.conv1, self.time = (
            nn.GroupNorm(4, c_in),
            nn.Conv2d(c_in, c_out, 3, padding=1),
            nn.Linear(32, 2 * c_out),
        )
        self.norm2, self.conv2 = nn.GroupNorm(4, c_out), nn.Conv2d(c_out, c_out, 3, padding=1)
        self.skip = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, 1)
        h = self.norm2(self.conv1(F.silu(self.norm1(x)))) * (1 + scale) + shift
        return self.skip(x) + self.conv2(F.silu(h))


class DiffusionUnet(nn.Module):
    """Noise is added by a schedule in buffers, and told again; attention in the middle by
    scaled_dot_product_attention."""

    def __init__(self) -> None:
        super().__init__()
        betas = torch.linspace(1e-4, 0.02, 50)
        self.register_buffer("signal", torch.cumprod(1 - betas, 0))
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first, self.down, self.low = nn.Conv2d(1, 8, 3, padding=1), TimeBlock(8, 8), TimeBlock(8, 16)
        self.norm, self.qkv, self.proj = nn.GroupNorm(4, 16), nn.Conv2d(16, 48, 1), nn.Conv2d(16, 16, 1)
        self.up, self.last = TimeBlock(24, 8), nn.Conv2d(8, 1, 3, padding=1)

    def attend(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, 2, c // 2, h * w).transpose(-1, -2).unbind(1)
        return x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(n, c, h, w))

    def forward(self, image: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        signal = self.signal[t][:, None, None, None]
        x = signal.sqrt() * image + (1 - signal).sqrt() * noise
        angles = t[:, None].float() * torch.exp(-torch.arange(8) * 0.9)[None]
        emb = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        wide = self.down(self.first(x), emb)
        y = self.attend(self.low(F.avg_pool2d(wide, 2), emb))
        y = self.up(torch.cat([F.interpolate(y, scale_factor=2), wide], 1), emb)
        return F.mse_loss(self.last(y), noise)


class Flow(nn.Module):
    """Couplings of a normalizing flow, with the density as the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6)) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        log_det = torch.zeros(x.size(0))
        for net in self.nets:
            a, b = x.chunk(2, -1)
            log_s, shift = net(a).chunk(2, -1)
            log_s = torch.tanh(log_s)
            x = torch.cat([b * torch.exp(log_s) + shift, a], -1)
            log_det = log_det + log_s.sum(-1)
        prior = torch.distributions.Normal(0.0, 1.0)
        return -(prior.log_prob(x).sum(-1) + log_det).mean()


class PixelCnn(nn.Module):
    """Masked convolutions: the mask is a buffer that multiplies the weight."""

    class Masked(nn.Conv2d):
        def __init__(self, c_in: int, c_out: int, kernel: int, first: bool) -> None:
            super().__init__(c_in, c_out, kernel, padding=kernel // 2)
            mask = torch.ones(kernel, kernel)
            mask[kernel // 2, kernel // 2 + (not first) :] = 0
            mask[kernel // 2 + 1 :] = 0
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, x: Tensor) -> Tensor:
            return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)

    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            PixelCnn.Masked(1, 12, 5, True),
            nn.ReLU(),
            PixelCnn.Masked(12, 12, 3, False),
            nn.ReLU(),
            nn.Conv2d(12, 8, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x)


CASES = {
    "gan_critic": Case(CriticStep, lambda: ((real(6, 1, 16, 16), real(6, 6)), None), None),
    "gan_generator": Case(GeneratorStep, lambda: ((real(6, 6),), None), None),
    "vae_drawn": Case(
        lambda: Vae(True), lambda: ((real(8, 36).abs(),), real(8, 36).abs()), evidence, lr=0.1, draws=True
    ),
    "vae_given": Case(
        lambda: Vae(False), lambda: ((real(8, 36).abs(), real(8, 4)), real(8, 36).abs()), evidence, lr=0.1
    ),
    "diffusion_unet": Case(
        DiffusionUnet, lambda: ((real(4, 1, 8, 8), torch.randn(4, 1, 8, 8), ids(50, 4)), None), None
    ),
    "normalizing_flow": Case(Flow, lambda: ((real(12, 6),), None), None, lr=0.05),
    "pixel_cnn": Case(PixelCnn, lambda: ((real(3, 1, 8, 8),), classes(8, 3, 8, 8)), F.cross_entropy, lr=0.1),
}
