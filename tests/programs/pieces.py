"""More pieces of random programs: volumes, selection, scattering, geometry of images, recurrent layers. programs.py draws from them."""
import math

import torch
import torch.nn.functional as F
from torch import nn

POINTWISE = {
    "asin": lambda x: torch.asin(x.clamp(-0.8, 0.8)), "acos": lambda x: torch.acos(x.clamp(-0.8, 0.8)), "asinh": torch.asinh, "acosh": lambda x: torch.acosh(x * x + 1.5),
    "atanh": lambda x: torch.atanh(x.clamp(-0.8, 0.8)), "cosh": lambda x: torch.cosh(x.clamp(-1, 1)), "atan2": lambda x: torch.atan2(x, x * x + 0.5),
    "gelu by hand": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2.0))), "gelu by its constant": lambda x: x * 0.5 * (1.0 + torch.erf(x * 0.7071067811865476)),
    "gelu tanh by hand": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), "quick gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu squared": lambda x: F.relu(x) ** 2, "lerp": lambda x: torch.lerp(x, x * x, 0.3), "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5), "addcdiv": lambda x: torch.addcdiv(x, x, x * x + 1),
    "logaddexp": lambda x: torch.logaddexp(x, 0.5 * x), "fmod": lambda x: torch.fmod(x, 0.7), "frac": lambda x: x - torch.trunc(x), "round apart": lambda x: x - torch.round(x),
    "nan_to_num": lambda x: torch.nan_to_num(x), "where of integers": lambda x: torch.where(x.long() % 2 == 0, x, -x), "rsub": lambda x: 1 - x, "sigmoid times tanh": lambda x: torch.sigmoid(x) * torch.tanh(x),
    "clamp by tensors": lambda x: torch.clamp(x, torch.tensor(-0.4), torch.tensor(0.6)), "pow of 2": lambda x: 2.0 ** x.clamp(-2, 2), "pow 1.5": lambda x: (x * x + 0.1) ** 1.5, "exp2": lambda x: torch.exp2(x.clamp(-2, 2)),
    "log2": lambda x: torch.log2(x * x + 1), "log10": lambda x: torch.log10(x * x + 1), "smooth max": lambda x: torch.logsumexp(torch.stack([x, -x]), 0), "isnan mask": lambda x: x.masked_fill(torch.isnan(x), 0.0),
    "to double and back": lambda x: (x.double() * 1.1).to(x.dtype), "heaviside by compare": lambda x: x * (x >= 0).to(x.dtype), "relu in place": lambda x: F.relu(x.clone(), inplace=True),
}
ROWS = {
    "argsort": lambda x: torch.gather(x, -1, torch.argsort(x, -1)) * 0.5 + x, "sort down": lambda x: torch.sort(x, -1, descending=True).values, "smallest": lambda x: x - torch.topk(x, 2, -1, largest=False).values.mean(-1, keepdim=True),
    "top-k gate": lambda x: torch.softmax(x.masked_fill(x < torch.topk(x, 2, -1).values[..., -1:], float("-inf")), -1) * x,
    "top-k scatter": lambda x: torch.zeros_like(x).scatter(-1, torch.topk(x, 2, -1).indices, torch.softmax(torch.topk(x, 2, -1).values, -1)) + x,
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(-1, (torch.arange(x.shape[-1]) % 3).expand(x.shape), x), "max of all": lambda x: x / (x.abs().amax() + 1),
    "minimum place": lambda x: x * F.one_hot(x.argmin(-1), x.shape[-1]).to(x.dtype) + x, "l1 normalized": lambda x: F.normalize(x, p=1.0, dim=-1), "cosine": lambda x: x * F.cosine_similarity(x, torch.ones_like(x), dim=-1).unsqueeze(-1),
    "std": lambda x: x / (torch.std(x, -1, keepdim=True) + 1), "gather": lambda x: torch.gather(x, -1, torch.zeros_like(x, dtype=torch.long)) + x, "repeat": lambda x: x.repeat_interleave(2, -1)[..., ::2] + x.tile(2)[..., :x.shape[-1]],
    "unfolded": lambda x: x.unfold(-1, 2, 1).mean(-1).sum(-1, keepdim=True) + x, "unbind": lambda x: torch.stack(x.unbind(-1)[::-1], -1), "diff": lambda x: x + torch.diff(x, dim=-1).abs().sum(-1, keepdim=True),
    "softmin": lambda x: F.softmin(x, -1) + x, "gumbel off": lambda x: torch.softmax(x / 0.5, -1), "median apart": lambda x: x - torch.sort(x, -1).values[..., x.shape[-1] // 2].unsqueeze(-1), "all and any": lambda x: x * ((x > -9).all(-1, keepdim=True) & (x > 9).any(-1, keepdim=True).logical_not()).to(x.dtype),
    "count": lambda x: x * (x > 0).sum(-1, keepdim=True).to(x.dtype) / x.shape[-1], "outer": lambda x: torch.einsum("...i,...j->...", x, x).unsqueeze(-1) * 0.1 + x, "triple einsum": lambda x: torch.einsum("...i,...j,...j->...i", x, x, x) * 0.1,
}


def of_rows(Piece, parameter, draw, d):
    """Keeps the shape [..., d]: layers with parameters."""
    at = torch.randint(0, d, (d,))

    def put(self, x):
        changed = x.clone()
        changed[..., self.at] = x[..., self.at] * self.w
        return changed

    def experts(self, x):
        gates = self.gate(x)
        most, which = torch.topk(gates, 2, -1)
        weights = torch.zeros_like(gates).scatter(-1, which, torch.softmax(most, -1))
        return sum(weights[..., k:k + 1] * expert(x) for k, expert in enumerate(self.experts))
    choices = [
        lambda: Piece("index_add", lambda self, x: x.index_add(-1, self.at, x * self.w), at=at, w=parameter(d)),
        lambda: Piece("put", put, at=torch.randperm(d)[:2], w=parameter(2)),
        lambda: Piece("experts", experts, gate=nn.Linear(d, 3), experts=nn.ModuleList(nn.Linear(d, d) for _ in range(3))),
        lambda: Piece("rms norm", lambda self, x: F.rms_norm(x, (d,), self.w, 1e-5), w=parameter(d)),
        lambda: Piece("layer norm without bias", lambda self, x: self.f(x), f=nn.LayerNorm(d, bias=False)),
        lambda: Piece("addmm", lambda self, x: torch.addmm(self.b, x.reshape(-1, d), self.w, beta=0.5, alpha=2.0).reshape(x.shape), w=parameter(d, d), b=parameter(d)),
        lambda: Piece("exp of a parameter", lambda self, x: x * self.w.exp(), w=parameter(1)),
        lambda: Piece("gate parameter", lambda self, x: x * torch.sigmoid(self.w) + F.softplus(self.b), w=parameter(d), b=parameter(d)),
        lambda: Piece("linear of a transposed", lambda self, x: x @ self.w.transpose(0, 1) @ self.w, w=parameter(2 * d, d)),
        lambda: Piece("low rank", lambda self, x: F.linear(x, self.w + self.a @ self.b * 2), w=parameter(d, d), a=parameter(d, 2), b=parameter(2, d)),
        lambda: Piece("kan-like", lambda self, x: torch.einsum("...ik,oik->...o", torch.stack([torch.sin(x), torch.cos(x), x], -1), self.w), w=parameter(d, d, 3)),
        lambda: Piece("alpha", lambda self, x: torch.add(x, self.w, alpha=2) - torch.sub(x, self.w, alpha=0.5), w=parameter(d)),
        lambda: Piece("distances", lambda self, x: torch.cdist(x.reshape(1, -1, d), self.w.unsqueeze(0))[0].reshape(x.shape), w=parameter(d, d)),
        lambda: Piece("weight norm layer", lambda self, x: self.f(x), f=nn.utils.parametrizations.weight_norm(nn.Linear(d, d))),
    ]
    return draw.choice(choices)()


def of_sequence(Piece, parameter, draw, t, d):
    """Keeps the shape [batch, t, d]."""
    choices = [
        lambda: Piece("lstm both ways", lambda self, x: self.g(self.f(x)[0]), f=nn.LSTM(d, d, batch_first=True, bidirectional=True), g=nn.Linear(2 * d, d)),
        lambda: Piece("gru both ways", lambda self, x: self.g(self.f(x)[0]), f=nn.GRU(d, d, batch_first=True, bidirectional=True), g=nn.Linear(2 * d, d)),
        lambda: Piece("two lstms", lambda self, x: self.f(x)[0], f=nn.LSTM(d, d, 2, batch_first=True, bias=False)),
        lambda: Piece("rnn", lambda self, x: self.f(x)[0], f=nn.RNN(d, d, batch_first=True, nonlinearity=draw.choice(["tanh", "relu"]))),
        lambda: Piece("gru with a state", lambda self, x: self.f(x, self.h.expand(1, x.shape[0], d).contiguous())[0], f=nn.GRU(d, d, batch_first=True), h=parameter(1, 1, d)),
        lambda: Piece("decoder layer", lambda self, x: self.f(x, x * 0.5, tgt_mask=self.mask), f=nn.TransformerDecoderLayer(d, 1, 2 * d, 0.0, batch_first=True), mask=torch.triu(torch.full((t, t), -1e9), 1)),
        lambda: Piece("batch norm over time", lambda self, x: self.f(x.transpose(1, 2)).transpose(1, 2), f=nn.BatchNorm1d(d, track_running_stats=draw.random() < 0.5)),
        lambda: Piece("transposed conv1d", lambda self, x: self.f(x.transpose(1, 2)).transpose(1, 2), f=nn.ConvTranspose1d(d, d, 3, padding=1)),
        lambda: Piece("class token", lambda self, x: torch.cat([self.w.expand(x.shape[0], 1, d), x], 1)[:, :t] + x, w=parameter(1, 1, d)),
        lambda: Piece("pooled over time", lambda self, x: F.avg_pool1d(x.transpose(1, 2), 3, 1, 1, count_include_pad=False).transpose(1, 2)),
        lambda: Piece("local mean", lambda self, x: torch.bmm(self.a.softmax(-1).expand(x.shape[0], t, t), x), a=parameter(t, t)),
        lambda: Piece("cumulative mean", lambda self, x: torch.cumsum(x, 1) / torch.arange(1, t + 1).view(1, t, 1)),
    ]
    return draw.choice(choices)()


def of_image(Piece, parameter, draw, c, h, w):
    """A piece and what comes of the shape [batch, c, h, w]."""
    def turned(self, x):
        flow = torch.stack(torch.meshgrid(torch.linspace(-1, 1, h, dtype=x.dtype), torch.linspace(-1, 1, w, dtype=x.dtype), indexing="ij")[::-1], -1)
        return F.grid_sample(x, (flow * self.s).expand(x.shape[0], h, w, 2), padding_mode="zeros", align_corners=False)

    def affine(self, x):
        return F.grid_sample(x, F.affine_grid(self.a.expand(x.shape[0], 2, 3), list(x.shape), align_corners=True), align_corners=True, padding_mode="border")
    even = h % 2 == 0 and w % 2 == 0 and min(h, w) >= 4
    small = h < 8 and w < 8
    choices = [
        lambda: (Piece("bicubic", lambda self, x: F.interpolate(x, size=(h + 1, w + 2), mode="bicubic", align_corners=False)), (c, h + 1, w + 2)) if small else None,
        lambda: (Piece("smoothed and smaller", lambda self, x: F.interpolate(x, size=(h - 1, w - 2), mode="bilinear", antialias=True)), (c, h - 1, w - 2)) if min(h, w) > 4 else None,
        lambda: (Piece("corners", lambda self, x: F.interpolate(x, size=(h + 1, w + 1), mode="bilinear", align_corners=True)), (c, h + 1, w + 1)) if small else None,
        lambda: (Piece("turned", turned, s=torch.rand(2) * 0.5 + 0.6), (c, h, w)),
        lambda: (Piece("affine", affine, a=torch.tensor([[0.9, 0.1, 0.05], [-0.1, 0.8, 0.02]])), (c, h, w)),
        lambda: (Piece("unfold and fold", lambda self, x: F.fold(F.unfold(x, 3, padding=1) * 0.2, (h, w), 3, padding=1)), (c, h, w)),
        lambda: (Piece("local response", lambda self, x: F.local_response_norm(x, 3)), (c, h, w)),
        lambda: (Piece("circular edge", lambda self, x: self.f(F.pad(x, (1, 1, 1, 1), mode="circular")), f=nn.Conv2d(c, c, 3)), (c, h, w)) if min(h, w) > 1 else None,
        lambda: (Piece("replicated edge", lambda self, x: self.f(F.pad(x, (1, 1, 1, 1), mode="replicate")), f=nn.Conv2d(c, c, 3)), (c, h, w)),
        lambda: (Piece("batch norm of the batch", lambda self, x: self.f(x), f=nn.BatchNorm2d(c, track_running_stats=False)), (c, h, w)),
        lambda: (Piece("frozen batch norm", lambda self, x: F.batch_norm(x, self.m, self.v, self.w, self.b), m=torch.randn(c) * 0.1, v=torch.rand(c) + 0.5, w=parameter(c), b=parameter(c)), (c, h, w)),
        lambda: (Piece("depth", lambda self, x: self.f(x.unsqueeze(1)).mean(1), f=nn.Conv3d(1, 2, 3, padding=1)), (c, h, w)),
        lambda: (Piece("volume", lambda self, x: self.g(F.max_pool3d(F.relu(self.f(x.unsqueeze(2).expand(-1, -1, 4, -1, -1))), (2, 1, 1))).mean(2), f=nn.Conv3d(c, 2, (3, 1, 3), padding=(1, 0, 1), bias=False), g=nn.ConvTranspose3d(2, c, (2, 1, 1), stride=(2, 1, 1))), (c, h, w)),
        lambda: (Piece("trilinear", lambda self, x: F.avg_pool3d(F.interpolate(x.unsqueeze(2), size=(3, h, w), mode="trilinear"), (3, 1, 1)).squeeze(2)), (c, h, w)),
        lambda: (Piece("channel attention", lambda self, x: x * torch.sigmoid(self.f(x.mean((2, 3)).unsqueeze(1)).transpose(1, 2).unsqueeze(-1)), f=nn.Conv1d(1, 1, 3, padding=1)), (c, h, w)),
        lambda: (Piece("patches", lambda self, x: self.f(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape[0], c, h, w), f=nn.Linear(c, c)), (c, h, w)),
        lambda: (Piece("lp pool", lambda self, x: F.lp_pool2d(x.abs() + 0.1, 2, 2)), (c, h // 2, w // 2)) if even else None,
        lambda: (Piece("ceiling pool", lambda self, x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True)), (c, -(-(h - 1) // 2) + 1, -(-(w - 1) // 2) + 1)) if min(h, w) > 2 else None,
        lambda: (Piece("adaptive", lambda self, x: F.adaptive_avg_pool2d(x, (h // 2, w // 2))), (c, h // 2, w // 2)) if even else None,
    ]
    while True:
        found = draw.choice(choices)()
        if found is not None:
            return found


def tokens(Piece, draw, t, d):
    """From token numbers [batch, t] to a sequence [batch, t, d]."""
    choices = [
        lambda: Piece("bag of embeddings", lambda self, x: self.f(x).unsqueeze(1).expand(x.shape[0], t, d), f=nn.EmbeddingBag(11, d, mode=draw.choice(["sum", "mean"]))),
        lambda: Piece("sorted tokens", lambda self, x: self.f(torch.sort(x, 1).values), f=nn.Embedding(11, d)),
        lambda: Piece("padded embedding", lambda self, x: self.f(x), f=nn.Embedding(11, d)),
        lambda: Piece("tokens as masks", lambda self, x: self.f(x).masked_fill((x == 0).unsqueeze(-1), 0.0), f=nn.Embedding(11, d)),
        lambda: Piece("hashed", lambda self, x: self.f((x * 2654435761 + 7) % 13), f=nn.Embedding(13, d)),
        lambda: Piece("product of embeddings", lambda self, x: self.f(x) * self.g(x), f=nn.Embedding(11, d), g=nn.Embedding(11, d)),
        lambda: Piece("scattered counts", lambda self, x: self.f(torch.zeros(x.shape[0], 11, dtype=self.f.weight.dtype).scatter_add(1, x, torch.ones(x.shape, dtype=self.f.weight.dtype))).unsqueeze(1).expand(x.shape[0], t, d), f=nn.Linear(11, d)),
    ]
    return draw.choice(choices)()
