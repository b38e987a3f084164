"""Functions of coordinates, flows, codebooks, and what is written for physics: few layers, many formulas."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import prune

from .case import Case, Refusal, classes, real


class Nerf(nn.Module):
    """Rays, positions by sines, densities composed to colours; finer samples are drawn by the coarse weights."""

    def __init__(self, bands: int = 3) -> None:
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(bands))
        width = 3 + 6 * bands
        self.layers = nn.ModuleList([nn.Linear(width, 24), nn.Linear(24 + width, 24)])
        self.sigma, self.color = nn.Linear(24, 1), nn.Sequential(nn.Linear(24 + 3, 12), nn.ReLU(), nn.Linear(12, 3))

    def encode(self, x: Tensor) -> Tensor:
        angles = (x[..., None, :] * self.bands[:, None]).flatten(-2)
        return torch.cat([x, torch.sin(angles), torch.cos(angles)], dim=-1)

    def render(self, origins: Tensor, directions: Tensor, depths: Tensor) -> tuple[Tensor, Tensor]:
        points = self.encode(origins[:, None] + directions[:, None] * depths[..., None])
        h = F.relu(self.layers[0](points))
        h = F.relu(self.layers[1](torch.cat([points, h], dim=-1)))
        sigma = F.relu(self.sigma(h)[..., 0])
        color = torch.sigmoid(self.color(torch.cat([h, directions[:, None].expand(*h.shape[:-1], 3)], dim=-1)))
        gaps = torch.cat([depths[..., 1:] - depths[..., :-1], torch.full_like(depths[..., :1], 1e10)], dim=-1)
        alpha = 1.0 - torch.exp(-sigma * gaps)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha + 1e-10], dim=-1), dim=-1)
        weights = alpha * through[:, :-1]
        image = (weights[..., None] * color).sum(dim=-2) + (1 - weights.sum(-1, keepdim=True))
        return image, weights

    def forward(self, origins: Tensor, directions: Tensor, colors: Tensor) -> Tensor:
        directions = directions / directions.norm(dim=-1, keepdim=True)
        depths = torch.linspace(0.5, 2.0, 6).expand(origins.size(0), 6)
        coarse, weights = self.render(origins, directions, depths)
        middle = 0.5 * (depths[:, 1:] + depths[:, :-1])
        pdf = weights[:, 1:-1].detach() + 1e-5
        cdf = torch.cumsum(pdf / pdf.sum(-1, keepdim=True), -1)
        cdf = torch.cat([torch.zeros_like(cdf[:, :1]), cdf], -1)
        u = torch.linspace(0.05, 0.95, 5).expand(origins.size(0), 5).contiguous()
        above = torch.searchsorted(cdf, u, right=True)
        below, above = (above - 1).clamp(min=0), above.clamp(max=cdf.size(-1) - 1)
        low, high = torch.gather(cdf, 1, below), torch.gather(cdf, 1, above)
        span = torch.where(high - low < 1e-5, torch.ones_like(low), high - low)
        first, last = torch.gather(middle, 1, below), torch.gather(middle, 1, above)
        samples = first + (u - low) / span * (last - first)
        fine, _ = self.render(origins, directions, torch.sort(torch.cat([depths, samples.detach()], -1), -1)[0])
        return F.mse_loss(fine, colors) + F.mse_loss(coarse, colors)


class SineLayer(nn.Module):
    def __init__(self, ins: int, outs: int, first: bool = False, omega: float = 10.0) -> None:
        super().__init__()
        self.omega, self.linear = omega, nn.Linear(ins, outs)
        with torch.no_grad():
            bound = 1 / ins if first else math.sqrt(6 / ins) / omega
            self.linear.weight.uniform_(-bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.omega * self.linear(x))


def siren() -> nn.Module:
    return nn.Sequential(SineLayer(2, 24, first=True), SineLayer(24, 24), nn.Linear(24, 1))


class SirenGradient(nn.Module):
    """Fitted to the gradient of an image: autograd inside of forward."""

    def __init__(self) -> None:
        super().__init__()
        self.net = siren()

    def forward(self, coords: Tensor, wanted: Tensor) -> Tensor:
        coords = coords.clone().detach().requires_grad_(True)
        y = self.net(coords)
        grad = torch.autograd.grad(y, [coords], grad_outputs=torch.ones_like(y), create_graph=True)[0]
        return ((grad - wanted) ** 2).sum(-1).mean()


class RealNvp(nn.Module):
    """Couplings by alternating masks in a buffer, batch norms as bijections, the log-density as the loss."""

    def __init__(self, width: int = 4, layers: int = 4) -> None:
        super().__init__()
        self.register_buffer("mask", torch.stack([(torch.arange(width) + i) % 2 for i in range(layers)]).float())
        self.s, self.t = (
            nn.ModuleList(
                nn.Sequential(nn.Linear(width, 16), nn.LeakyReLU(), nn.Linear(16, width)) for _ in range(layers)
            )
            for _ in range(2)
        )
        self.scale = nn.Parameter(torch.ones(layers, width))
        self.log_gamma, self.beta = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        log_det = x.new_zeros(x.shape[0])
        z = x
        for i in reversed(range(len(self.t))):
            kept = self.mask[i] * z
            s = torch.tanh(self.s[i](kept)) * self.scale[i] * (1 - self.mask[i])
            t = self.t[i](kept) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + kept
            log_det -= s.sum(dim=1)
            if i == 2:
                mean, var = z.mean(0), (z - z.mean(0)).pow(2).mean(0) + 1e-5
                self.running_mean.mul_(0.9).add_(mean.data * 0.1)
                self.running_var.mul_(0.9).add_(var.data * 0.1)
                z = self.log_gamma.exp() * (z - mean) / var.sqrt() + self.beta
                log_det = log_det + (self.log_gamma - 0.5 * torch.log(var)).sum()
        prior = torch.distributions.MultivariateNormal(torch.zeros(4), torch.eye(4), validate_args=False)
        return -(prior.log_prob(z) + log_det).mean()


class Glow(nn.Module):
    """Act norms, one-by-one convolutions by LU with a permutation in a buffer, affine couplings, a squeeze."""

    def __init__(self) -> None:
        super().__init__()
        w, _ = torch.linalg.qr(torch.randn(4, 4))
        p, lower, upper = torch.linalg.lu(w)
        self.register_buffer("p", p)
        self.register_buffer("sign_s", torch.sign(torch.diag(upper)))
        self.register_buffer("l_mask", torch.tril(torch.ones(4, 4), -1))
        self.register_buffer("eye", torch.eye(4))
        self.l, self.log_s = nn.Parameter(lower), nn.Parameter(torch.log(torch.abs(torch.diag(upper))))
        self.u = nn.Parameter(torch.triu(upper, 1))
        self.loc, self.scale = nn.Parameter(torch.zeros(1, 4, 1, 1)), nn.Parameter(torch.ones(1, 4, 1, 1))
        self.net = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(8, 4, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        x = x.view(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).contiguous().view(n, 4 * c, h // 2, w // 2)
        area = h * w // 4
        log_det = area * torch.sum(torch.log(torch.abs(self.scale)))
        x = self.scale * (x + self.loc)
        lower = self.l * self.l_mask + self.eye
        upper = self.u * self.l_mask.transpose(0, 1).contiguous() + torch.diag(self.sign_s * torch.exp(self.log_s))
        x = F.conv2d(x, (self.p @ lower @ upper).unsqueeze(2).unsqueeze(3))
        log_det = log_det + area * torch.sum(self.log_s)
        a, b = x.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        z = torch.cat([a, (b + t) * s], 1)
        log_det = log_det + torch.sum(torch.log(s).view(n, -1), 1)
        log_p = -0.5 * (z**2 + math.log(2 * math.pi)).flatten(1).sum(1)
        return (-(log_det + log_p) / (math.log(2) * 16)).mean()


class GlowDeterminant(nn.Module):
    """The one-by-one convolution by the logarithm of a determinant."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(4, 4))[0])

    def forward(self, x: Tensor) -> Tensor:
        log_det = torch.slogdet(self.weight)[1] * x.size(2) * x.size(3)
        z = F.conv2d(x, self.weight[:, :, None, None])
        return z.square().sum((1, 2, 3)).mean() / 2 - log_det


class MaskedLinear(nn.Linear):
    def __init__(self, ins: int, outs: int, mask: Tensor) -> None:
        super().__init__(ins, outs)
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.mask * self.weight, self.bias)


class Made(nn.Module):
    """A masked autoregressive flow of two steps, the order turned between them."""

    def __init__(self, width: int = 5, hidden: int = 20) -> None:
        super().__init__()
        degrees = torch.arange(hidden) % (width - 1) + 1
        ins = torch.arange(1, width + 1)
        first = (degrees[:, None] >= ins[None]).float()
        last = (ins.repeat(2)[:, None] > degrees[None]).float()
        self.nets = nn.ModuleList(
            nn.Sequential(MaskedLinear(width, hidden, first), nn.ReLU(), MaskedLinear(hidden, 2 * width, last))
            for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(len(x))
        for net in self.nets:
            mu, log_sigma = net(x).chunk(2, dim=1)
            x = ((x - mu) * (-log_sigma).exp()).flip(dims=(1,))
            total = total - log_sigma.sum(dim=1)
        return -(torch.distributions.Normal(0.0, 1.0).log_prob(x).sum(1) + total).mean()


class VqVaeEma(nn.Module):
    """A codebook that no gradient moves: counts and sums of buffers are averaged in forward."""

    embedding: Tensor
    ema_cluster_size: Tensor
    ema_w: Tensor

    def __init__(self, codes: int = 12, width: int = 4) -> None:
        super().__init__()
        self.codes, self.width = codes, width
        self.encoder, self.decoder = nn.Conv2d(1, width, 4, 2, 1), nn.ConvTranspose2d(width, 1, 4, 2, 1)
        self.register_buffer("embedding", torch.randn(codes, width) * 0.3)
        self.register_buffer("ema_cluster_size", torch.ones(codes))
        self.register_buffer("ema_w", self.embedding.clone())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self.encoder(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, self.width)
        distances = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.t())
        )
        indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(indices.shape[0], self.codes)
        encodings.scatter_(1, indices, 1)
        quantized = torch.matmul(encodings, self.embedding).view(z.shape)
        if self.training:
            self.ema_cluster_size = self.ema_cluster_size * 0.99 + 0.01 * torch.sum(encodings, 0)
            n = torch.sum(self.ema_cluster_size.data)
            self.ema_cluster_size = (self.ema_cluster_size + 1e-5) / (n + self.codes * 1e-5) * n
            dw = torch.matmul(encodings.t(), flat.detach())
            self.ema_w = self.ema_w * 0.99 + 0.01 * dw
            self.embedding = self.ema_w / self.ema_cluster_size.unsqueeze(1)
        loss = 0.25 * F.mse_loss(quantized.detach(), z)
        quantized = z + (quantized - z).detach()
        average = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(average * torch.log(average + 1e-10)))
        return loss, self.decoder(quantized.permute(0, 3, 1, 2).contiguous()), perplexity


class FiniteScalars(nn.Module):
    """FSQ: values are rounded to a few levels, straight through; codes by the product of a buffer."""

    levels: Tensor

    def __init__(self) -> None:
        super().__init__()
        levels = torch.tensor([5, 3, 4])
        self.register_buffer("levels", levels, persistent=False)
        self.register_buffer("basis", torch.cumprod(torch.tensor([1, *levels[:-1].tolist()]), dim=0), persistent=False)
        self.encode, self.decode, self.words = nn.Linear(6, 3), nn.Linear(3, 6), nn.Embedding(60, 6)

    def forward(self, x: Tensor) -> Tensor:
        half = (self.levels - 1) * (1 - 1e-3) / 2
        offset = torch.where((self.levels % 2).eq(1), 0.0, 0.5)
        z = (self.encode(x) + torch.tan(offset / half)).tanh() * half - offset
        z = z + (z.round() - z).detach()
        half_width = self.levels // 2
        codes = ((z + half_width).detach() * self.basis).sum(dim=-1).to(torch.int32)
        return F.mse_loss(self.decode(z / half_width) + self.words(codes.long()), x)


class BetaTcVae(nn.Module):
    """The total correlation by densities of every pair of samples; noise is given."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.encode, self.decode = (
            nn.Linear(8, 2 * width),
            nn.Sequential(nn.Linear(width, 12), nn.Tanh(), nn.Linear(12, 8)),
        )

    @staticmethod
    def log_density(z: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        return -0.5 * ((z - mu) ** 2 * torch.exp(-logvar) + logvar + math.log(2 * math.pi))

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        mu, logvar = self.encode(x).chunk(2, dim=-1)
        z = mu + noise * torch.exp(0.5 * logvar)
        pairs = self.log_density(z.unsqueeze(1), mu.unsqueeze(0), logvar.unsqueeze(0))
        n = x.size(0)
        log_q = torch.logsumexp(pairs.sum(2), dim=1) - math.log(n * 64)
        log_product = (torch.logsumexp(pairs, dim=1) - math.log(n * 64)).sum(1)
        log_q_x = self.log_density(z, mu, logvar).sum(1)
        log_p = self.log_density(z, torch.zeros(()), torch.zeros(())).sum(1)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
        return (
            F.binary_cross_entropy_with_logits(self.decode(z), x, reduction="sum") / n
            + ((log_q_x - log_q) + 4 * (log_q - log_product) + (log_product - log_p)).mean()
            + 0.01 * kl.mean()
        )


class GumbelVae(nn.Module):
    """Classes drawn in forward, hard ones with the gradient of soft ones."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 3 * 4), nn.Linear(12, 8)

    def forward(self, x: Tensor) -> Tensor:
        logits = self.encode(x).view(-1, 3, 4)
        y = F.gumbel_softmax(logits, tau=0.7, hard=True, dim=-1)
        q = F.softmax(logits, dim=-1)
        kl = (q * torch.log(q * 4 + 1e-20)).sum((1, 2)).mean()
        return F.mse_loss(self.decode(y.flatten(1)), x) + 0.1 * kl


class Ddpm(nn.Module):
    """The schedule's buffers are read at given times; a cosine one is made in __init__; weights cut at 5."""

    sqrt_alphas_cumprod: Tensor
    sqrt_one_minus: Tensor
    loss_weight: Tensor

    def __init__(self, steps: int = 20) -> None:
        super().__init__()
        t = torch.linspace(0, steps, steps + 1) / steps
        alphas = torch.cos((t + 0.008) / 1.008 * math.pi * 0.5) ** 2
        betas = torch.clip(1 - (alphas / alphas[0])[1:] / (alphas / alphas[0])[:-1], 0, 0.999)
        cumulated = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("sqrt_alphas_cumprod", cumulated.sqrt())
        self.register_buffer("sqrt_one_minus", (1.0 - cumulated).sqrt())
        self.register_buffer("loss_weight", (cumulated / (1 - cumulated)).clamp(max=5))
        self.inp, self.mid, self.out = nn.Conv2d(1, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(8, 1, 3, 1, 1)
        self.norm, self.time = nn.GroupNorm(4, 8), nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))

    @staticmethod
    def extract(a: Tensor, t: Tensor, shape: torch.Size) -> Tensor:
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    def forward(self, x: Tensor, t: Tensor, noise: Tensor) -> Tensor:
        noisy = (
            self.extract(self.sqrt_alphas_cumprod, t, x.shape) * x
            + self.extract(self.sqrt_one_minus, t, x.shape) * noise
        )
        angles = t[:, None] * torch.exp(torch.arange(4) * -(math.log(10000) / 3))[None, :]
        scale, shift = self.time(torch.cat((angles.sin(), angles.cos()), dim=-1))[:, :, None, None].chunk(2, dim=1)
        h = self.inp(noisy)
        h = h + self.mid(F.silu(self.norm(h) * (scale + 1) + shift))
        loss = F.mse_loss(self.out(h), noise, reduction="none").flatten(1).mean(1)
        return (loss * self.extract(self.loss_weight, t, loss.shape)).mean()


class GradientPenalty(nn.Module):
    """WGAN-GP: the critic's slope is driven to 1, by autograd inside of forward."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, real_data: Tensor, fake_data: Tensor, share: Tensor) -> Tensor:
        between = (share * real_data + (1 - share) * fake_data).requires_grad_(True)
        score = self.critic(between)
        gradients = torch.autograd.grad(
            outputs=score, inputs=between, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
        )[0]
        penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10
        return self.critic(fake_data).mean() - self.critic(real_data).mean() + penalty


class HyperNetwork(nn.Module):
    """The weights of one network are the output of another; each sample has its own, by groups of a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.make, self.bias = nn.Linear(5, 4 * 2 * 9), nn.Linear(5, 4)
        self.film, self.head = nn.Linear(5, 8), nn.Linear(4, 3)

    def forward(self, x: Tensor, task: Tensor) -> Tensor:
        n, c, h, w = x.shape
        weight = self.make(task).view(n * 4, c, 3, 3)
        weight = weight * torch.rsqrt(weight.view(n, 4, -1).pow(2).sum(-1) + 1e-8).view(n * 4, 1, 1, 1)
        y = F.conv2d(x.reshape(1, n * c, h, w), weight, padding=1, groups=n).view(n, 4, h, w)
        gamma, beta = self.film(task)[..., None, None].chunk(2, dim=1)
        y = (1 + gamma) * (y + self.bias(task)[:, :, None, None]) + beta
        return self.head(F.relu(y).mean((-2, -1)))


class InnerLoop(nn.Module):
    """MAML: a gradient step inside of forward."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(1, 4)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        inner = F.mse_loss(F.linear(x, self.w, self.b), y)
        gw, gb = torch.autograd.grad(inner, (self.w, self.b), create_graph=True)
        return F.mse_loss(F.linear(x.flip(0), self.w - 0.1 * gw, self.b - 0.1 * gb), y.flip(0))


class DeepONet(nn.Module):
    """An operator: a function's samples in the branch, coordinates in the trunk, their inner product."""

    def __init__(self) -> None:
        super().__init__()
        self.branch, self.trunk = (nn.Sequential(nn.Linear(n, 20), nn.SiLU(), nn.Linear(20, 10)) for n in (8, 1))
        self.b = nn.Parameter(torch.zeros([]))
        self.a = nn.Parameter(torch.full((1,), 0.1))

    def forward(self, u: Tensor, y: Tensor) -> Tensor:
        return torch.einsum("bi,pi->bp", self.branch(u), torch.tanh(10 * self.a * self.trunk(y))) + self.b


class FourierOperator(nn.Module):
    """FNO: weights on the lowest modes of a real transform."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.skip = nn.Parameter(torch.rand(4, 4, 3, dtype=torch.cfloat) / 16), nn.Conv1d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        modes = torch.fft.rfft(x)
        out = torch.zeros_like(modes)
        out[:, :, :3] = torch.einsum("bix,iox->box", modes[:, :, :3], self.weight)
        return F.gelu(torch.fft.irfft(out, n=x.size(-1)) + self.skip(x))


class RungeKutta(nn.Module):
    """A neural ODE by four stages a step; the field keeps energies by its form."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.register_buffer("j", torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))

    def field(self, t: float, y: Tensor) -> Tensor:
        return self.net(y**3) @ self.j.T * math.exp(-t)

    def forward(self, y: Tensor) -> Tensor:
        path, dt = [y], 0.1
        for step in range(8):
            t = step * dt
            k1 = self.field(t, y)
            k2 = self.field(t + dt / 2, y + dt / 2 * k1)
            k3 = self.field(t + dt / 2, y + dt / 2 * k2)
            k4 = self.field(t + dt, y + dt * k3)
            y = torch.add(y, k1 + 2 * k2 + 2 * k3 + k4, alpha=dt / 6)
            path.append(y)
        return torch.stack(path, dim=1)


class MixtureDensity(nn.Module):
    def __init__(self, parts: int = 4) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ELU())
        self.pi, self.mu, self.sigma = nn.Linear(16, parts), nn.Linear(16, 2 * parts), nn.Linear(16, 2 * parts)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.net(x)
        mu, sigma = (part(h).unflatten(1, (-1, 2)) for part in (self.mu, self.sigma))
        each = torch.distributions.Independent(torch.distributions.Normal(mu, F.elu(sigma) + 1 + 1e-7), 1)
        log_pi = torch.distributions.Categorical(logits=self.pi(h)).logits
        return -torch.logsumexp(log_pi + each.log_prob(y.unsqueeze(1).expand_as(mu)), dim=1).mean()


class Evidential(nn.Module):
    """Deep evidential regression: logarithms of the gamma function and their slopes."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        gamma, v, alpha, beta = self.net(x).unbind(-1)
        v, alpha, beta = F.softplus(v), F.softplus(alpha) + 1, F.softplus(beta)
        omega = 2 * beta * (1 + v)
        nll = (
            0.5 * torch.log(math.pi / v)
            - alpha * torch.log(omega)
            + (alpha + 0.5) * torch.log(v * (y - gamma) ** 2 + omega)
            + torch.lgamma(alpha)
            - torch.lgamma(alpha + 0.5)
        )
        return (nll + 0.01 * (y - gamma).abs() * (2 * v + alpha)).mean()


class Sinkhorn(nn.Module):
    """Optimal transport between learned clouds: ten rounds in logarithms, with gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.eps = nn.Linear(3, 2), 0.2

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x, y = self.net(a), self.net(b)
        cost = torch.sum((x.unsqueeze(-2) - y.unsqueeze(-3)).abs() ** 2, -1)
        mu, nu = torch.full((len(a),), 1 / len(a)), torch.full((len(b),), 1 / len(b))
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        for _ in range(10):
            u = self.eps * (torch.log(mu + 1e-8) - torch.logsumexp((-cost + u[:, None] + v) / self.eps, dim=-1)) + u
            v = self.eps * (torch.log(nu + 1e-8) - torch.logsumexp(((-cost + u[:, None] + v) / self.eps).T, dim=-1)) + v
        plan = torch.exp((-cost + u[:, None] + v) / self.eps)
        return torch.sum(plan * cost)


class DeepKernel(nn.Module):
    """A Gaussian process on learned features: a factorization of what the data make."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.noise = nn.Linear(3, 2), nn.Parameter(torch.tensor(-1.0))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        k = torch.exp(-0.5 * torch.cdist(self.net(x), self.net(x)) ** 2) + self.noise.exp() * torch.eye(len(x))
        factor = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(y[:, None], factor)
        return 0.5 * (y @ alpha).sum() + factor.diagonal().log().sum()


class RoundedWeights(torch.autograd.Function):
    """LSQ: a step that learns, with a gradient scaled by the number of weights."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, step: Tensor, low: int, high: int) -> Tensor:
        ctx.save_for_backward(w, step)
        ctx.bounds = low, high
        return (w / step).round().clamp(low, high) * step

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        w, step = ctx.saved_tensors
        low, high = ctx.bounds
        q = w / step
        small, big = (q < low).float(), (q > high).float()
        middle = 1.0 - small - big
        scale = 1.0 / math.sqrt(w.numel() * high)
        slope = small * low + big * high + middle * (-q + q.round())
        return middle * gradient, (slope * gradient * scale).sum().unsqueeze(0), None, None


class Lsq(nn.Module):
    """Quantized weights and activations, pruned by masks that PyTorch's own pruning registers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)
        self.step, self.act = nn.Parameter(torch.tensor([0.05])), nn.Parameter(torch.tensor([0.1]))
        prune.l1_unstructured(self.second, "weight", amount=0.4)

    def forward(self, x: Tensor) -> Tensor:
        h = F.linear(x, RoundedWeights.apply(self.first.weight, self.step, -8, 7), self.first.bias)
        return self.second(RoundedWeights.apply(F.relu(h), self.act, 0, 15))


class Kan(nn.Module):
    """Splines on every edge: a grid in a buffer, bases by the recursion of Cox and de Boor."""

    grid: Tensor

    def __init__(self, ins: int = 4, outs: int = 6, size: int = 4, order: int = 3) -> None:
        super().__init__()
        self.order = order
        grid = (torch.arange(-order, size + order + 1) * (2 / size) - 1).expand(ins, -1).contiguous()
        self.register_buffer("grid", grid)
        self.base_weight = nn.Parameter(torch.randn(outs, ins) * 0.4)
        self.spline_weight = nn.Parameter(torch.randn(outs, ins, size + order) * 0.2)
        self.spline_scaler = nn.Parameter(torch.ones(outs, ins))

    def b_splines(self, x: Tensor) -> Tensor:
        grid = self.grid
        x = x.unsqueeze(-1)
        bases = ((x >= grid[:, :-1]) & (x < grid[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            bases = (x - grid[:, : -(k + 1)]) / (grid[:, k:-1] - grid[:, : -(k + 1)]) * bases[:, :, :-1] + (
                grid[:, k + 1 :] - x
            ) / (grid[:, k + 1 :] - grid[:, 1:(-k)]) * bases[:, :, 1:]
        return bases.contiguous()

    def forward(self, x: Tensor) -> Tensor:
        weight = (self.spline_weight * self.spline_scaler.unsqueeze(-1)).view(self.base_weight.size(0), -1)
        return F.linear(F.silu(x), self.base_weight) + F.linear(self.b_splines(x).view(x.size(0), -1), weight)


class DeepKan(nn.Module):
    """Two layers; the losses of KAN's regularization: the entropy of the splines' weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Kan(4, 6), Kan(6, 1)])

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        penalty = x.new_tensor(0.0)
        for layer in self.layers:
            x = layer(x)
            size = layer.spline_weight.abs().mean(-1)
            p = size / size.sum()
            penalty = penalty + size.sum() - torch.sum(p * p.log())
        return F.mse_loss(x.squeeze(1), y) + 1e-3 * penalty


def vq_loss(output: tuple[Tensor, Tensor, Tensor], target: Tensor) -> Tensor:
    loss, image, _ = output
    return F.mse_loss(image, target) / 0.3 + loss


IMAGES = (3, 1, 8, 8)
GRADIENT = "gradients inside of forward"
CASES = {
    "kan": Case(DeepKan, lambda: ((real(8, 4), real(8)), None), None, lr=0.05),
    "nerf": Case(
        Nerf, lambda: ((real(6, 3) * 0.1, real(6, 3) + torch.tensor([0, 0, 2.0]), torch.rand(6, 3)), None), None, lr=0.1
    ),
    "siren": Case(siren, lambda: ((real(16, 2),), real(16, 1)), F.mse_loss, lr=0.001),
    "siren_gradient": Case(
        SirenGradient,
        lambda: ((real(8, 2), real(8, 2)), None),
        None,
        refused=Refusal("E0407", GRADIENT, "grad = torch.autograd.grad(y, [coords],"),
    ),
    "real_nvp": Case(RealNvp, lambda: ((real(12, 4),), None), None, lr=0.02),
    "glow": Case(Glow, lambda: ((real(4, 1, 8, 8),), None), None, lr=0.02),
    "glow_determinant": Case(
        GlowDeterminant,
        lambda: ((real(2, 4, 3, 3),), None),
        None,
        refused=Refusal("E0407", "linalg.slogdet of a matrix", "log_det = torch.slogdet(self.weight)[1]"),
    ),
    "made": Case(Made, lambda: ((real(8, 5),), None), None, lr=0.05),
    "vq_vae_ema": Case(VqVaeEma, lambda: ((real(*IMAGES),), real(*IMAGES)), vq_loss, lr=0.05),
    "finite_scalars": Case(FiniteScalars, lambda: ((real(10, 6),), None), None, lr=0.1),
    "beta_tc_vae": Case(BetaTcVae, lambda: ((torch.rand(6, 8), torch.randn(6, 3)), None), None, lr=0.02),
    "gumbel_vae": Case(GumbelVae, lambda: ((real(6, 8),), None), None, lr=0.1, draws=True),
    "ddpm": Case(
        Ddpm, lambda: ((real(*IMAGES), torch.randint(0, 20, (3,)), torch.randn(*IMAGES)), None), None, lr=0.05
    ),
    "gradient_penalty": Case(
        GradientPenalty,
        lambda: ((real(4, 6), real(4, 6), torch.rand(4, 1)), None),
        None,
        refused=Refusal("E0407", GRADIENT, "gradients = torch.autograd.grad("),
    ),
    "hyper_network": Case(
        HyperNetwork, lambda: ((real(3, 2, 6, 6), real(3, 5)), classes(3, 3)), F.cross_entropy, lr=0.1
    ),
    "inner_loop": Case(
        InnerLoop,
        lambda: ((real(6, 4), real(6, 1)), None),
        None,
        refused=Refusal("E0407", GRADIENT, "gw, gb = torch.autograd.grad(inner, (self.w, self.b), create_graph=True)"),
    ),
    "deep_o_net": Case(DeepONet, lambda: ((real(5, 8), real(7, 1)), real(5, 7)), F.mse_loss, lr=0.1),
    "fourier_operator": Case(
        FourierOperator,
        lambda: ((real(3, 4, 12),), real(3, 4, 12)),
        F.mse_loss,
        refused=Refusal("E0407", "complex numbers", "modes = torch.fft.rfft(x)"),
    ),
    "runge_kutta": Case(RungeKutta, lambda: ((real(4, 2),), real(4, 9, 2)), F.l1_loss, lr=0.05),
    "mixture_density": Case(MixtureDensity, lambda: ((real(8, 3), real(8, 2)), None), None, lr=0.05),
    "evidential": Case(Evidential, lambda: ((real(8, 4), real(8)), None), None, lr=0.05),
    "sinkhorn": Case(Sinkhorn, lambda: ((real(5, 3), real(6, 3)), None), None, lr=0.05),
    "deep_kernel": Case(
        DeepKernel,
        lambda: ((real(6, 3), real(6)), None),
        None,
        refused=Refusal("E0407", "linalg.cholesky of a matrix", "factor = torch.linalg.cholesky(k)"),
    ),
    "lsq": Case(Lsq, lambda: ((real(6, 8),), classes(3, 6)), F.cross_entropy, lr=0.02),
}
