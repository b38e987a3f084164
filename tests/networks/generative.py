"""Networks that make something, and fields over coordinates, in torch.nn alone, small."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def timestep_embedding(t, width):
    frequencies = torch.exp(-math.log(10000.0) * torch.arange(width // 2, dtype=torch.float32) / (width // 2))
    angles = t.to(torch.float32)[:, None] * frequencies[None]
    return torch.cat([torch.cos(angles), torch.sin(angles)], -1)


class TimedBlock(nn.Module):
    """A residual block that is told the timestep."""

    def __init__(self, c_in, c_out, time):
        super().__init__()
        self.norm1, self.conv1, self.time = nn.GroupNorm(4, c_in), nn.Conv2d(c_in, c_out, 3, padding=1), nn.Linear(time, c_out)
        self.norm2, self.conv2 = nn.GroupNorm(4, c_out), nn.Conv2d(c_out, c_out, 3, padding=1)
        self.short = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x, emb):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(emb))[:, :, None, None]
        return self.short(x) + self.conv2(F.silu(self.norm2(y)))


class ImageAttention(nn.Module):
    def __init__(self, c, heads=2):
        super().__init__()
        self.heads, self.norm, self.qkv, self.proj = heads, nn.GroupNorm(4, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n * self.heads, 3 * c // self.heads, h * w).chunk(3, dim=1)
        weights = torch.softmax(torch.einsum("bct,bcs->bts", q, k) / math.sqrt(c // self.heads), -1)
        return x + self.proj(torch.einsum("bts,bcs->bct", weights, v).reshape(n, c, h, w))


class Diffusion(nn.Module):
    """DDPM's U-Net: it tells the noise of an image at a timestep."""

    def __init__(self, width=8):
        super().__init__()
        self.width, time = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first, self.down1, self.halve = nn.Conv2d(1, width, 3, padding=1), TimedBlock(width, width, time), nn.Conv2d(width, width, 3, 2, 1)
        self.down2, self.attn = TimedBlock(width, 2 * width, time), ImageAttention(2 * width)
        self.mid = TimedBlock(2 * width, 2 * width, time)
        self.up2, self.widen = TimedBlock(4 * width, 2 * width, time), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up1, self.norm, self.last = TimedBlock(3 * width, width, time), nn.GroupNorm(4, width), nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.width).to(x.dtype))
        wide = self.down1(self.first(x), emb)
        low = self.attn(self.down2(self.halve(wide), emb))
        y = self.up2(torch.cat([self.mid(low, emb), low], 1), emb)
        y = self.widen(F.interpolate(y, scale_factor=2.0, mode="nearest"))
        y = self.up1(torch.cat([y, wide], 1), emb)
        return self.last(F.silu(self.norm(y)))


class Vae(nn.Module):
    """The noise of the reparametrization is an input. Two outputs: the image, and the divergence from the prior."""

    def __init__(self, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.mu, self.logvar = nn.Linear(144, code), nn.Linear(144, code)
        self.decoder = nn.Sequential(nn.Linear(code, 144), nn.ReLU(), nn.Unflatten(1, (16, 3, 3)), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(8, 1, 4, 2, 1))

    def forward(self, x, noise):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + noise * torch.exp(0.5 * logvar)
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), 1, keepdim=True)
        return self.decoder(z), divergence


class Discriminator(nn.Module):
    """DCGAN's."""

    def __init__(self, width=8):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
                                  nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, inplace=True),
                                  nn.Conv2d(2 * width, 4 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * width), nn.LeakyReLU(0.2, inplace=True),
                                  nn.Conv2d(4 * width, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1, 1)


class Nerf(nn.Module):
    """Points on rays, in sines and cosines of rising frequency; colours are added up along the ray by what is before them."""

    def __init__(self, width=24, frequencies=3):
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.arange(frequencies))
        places, directions = 3 + 6 * frequencies, 3
        self.first = nn.Sequential(nn.Linear(places, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.second = nn.Sequential(nn.Linear(width + places, width), nn.ReLU())
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.colour = nn.Sequential(nn.Linear(width + directions, width // 2), nn.ReLU(), nn.Linear(width // 2, 3), nn.Sigmoid())

    def encode(self, x):
        angles = (x[..., None, :] * self.frequencies[:, None]).flatten(-2)
        return torch.cat([x, torch.sin(angles), torch.cos(angles)], -1)

    def forward(self, points, direction):
        places = self.encode(points)
        x = self.second(torch.cat([self.first(places), places], -1))
        optical = F.softplus(self.density(x)) * 0.25
        colour = self.colour(torch.cat([self.feature(x), direction[:, None].expand(-1, points.size(1), -1)], -1))
        passed = torch.exp(-(torch.cumsum(optical, 1) - optical))
        return (passed * (1 - torch.exp(-optical)) * colour).sum(1)


class Siren(nn.Module):
    """Sines as activations."""

    def __init__(self, width=24, speed=2.0):
        super().__init__()
        self.speed, self.layers, self.last = speed, nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, width)]), nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(self.speed * layer(x))
        return self.last(x)
