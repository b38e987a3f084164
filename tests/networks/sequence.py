"""Networks of attention and embeddings, in torch.nn alone: the structures of the papers, small."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    """BERT's: separate projections, an additive mask."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.query, self.key, self.value = heads, nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.dropout, self.output = nn.Dropout(0.0), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + mask
        y = torch.matmul(self.dropout(torch.softmax(scores, -1)), v).permute(0, 2, 1, 3).contiguous()
        return self.output(y.view(x.size(0), x.size(1), -1))


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1 = SelfAttention(width, heads), nn.LayerNorm(width, eps=1e-12)
        self.intermediate, self.output, self.norm2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.attention(x, mask)))
        return self.norm2(x + self.dropout(self.output(F.gelu(self.intermediate(x)))))


class Bert(nn.Module):
    """BERT base's twelve layers and heads at a width of 48, for classification."""

    def __init__(self, vocabulary=120, positions=32, width=48, layers=12, heads=12, classes=4):
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(vocabulary, width), nn.Embedding(positions, width), nn.Embedding(2, width)
        self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(0.0)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)
        self.register_buffer("position_ids", torch.arange(positions).unsqueeze(0), persistent=False)

    def forward(self, ids, kinds, attention_mask):
        x = self.word(ids) + self.kind(kinds) + self.position(self.position_ids[:, :ids.size(1)])
        x = self.dropout(self.norm(x))
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class GptBlock(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.heads = heads
        self.ln_1, self.c_attn, self.c_proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln_2, self.c_fc, self.c_out = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("bias", torch.tril(torch.ones(positions, positions, dtype=torch.bool)).view(1, 1, positions, positions), persistent=False)

    def attend(self, x):
        n, s, d = x.size()
        q, k, v = self.c_attn(x).split(d, dim=2)
        q, k, v = (t.view(n, s, self.heads, d // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (v.size(-1) ** 0.5)
        scores = torch.where(self.bias[:, :, :s, :s], scores, torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype))
        y = torch.matmul(torch.softmax(scores, dim=-1), v)
        return self.c_proj(y.transpose(1, 2).contiguous().view(n, s, d))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        y = self.c_fc(self.ln_2(x))
        y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        return x + self.c_out(y)


class Gpt2(nn.Module):
    """A decoder with a causal mask and tied embeddings; it scores the next token at every position: [N,V,S]."""

    def __init__(self, vocabulary=96, positions=24, width=64, layers=4, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.h, self.ln_f = nn.ModuleList(GptBlock(width, heads, positions) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.size(1), device=ids.device))
        for block in self.h:
            x = block(x)
        return torch.matmul(self.ln_f(x), self.wte.weight.t()).transpose(1, 2)


class GptFused(nn.Module):
    """The same decoder as its layers are written today: scaled_dot_product_attention, gelu(tanh), an untied head."""

    def __init__(self, vocabulary=96, positions=24, width=64, layers=2, heads=4):
        super().__init__()
        self.heads, self.wte, self.wpe = heads, nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.ln_1, self.ln_2 = (nn.ModuleList(nn.LayerNorm(width) for _ in range(layers)) for _ in range(2))
        self.attn, self.proj = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.fc, self.out = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        n, s = ids.size()
        x = self.wte(ids) + self.wpe(torch.arange(s, device=ids.device))[None]
        for index in range(len(self.attn)):
            q, k, v = (t.view(n, s, self.heads, -1).transpose(1, 2) for t in self.attn[index](self.ln_1[index](x)).chunk(3, dim=-1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj[index](y.transpose(1, 2).reshape(n, s, -1))
            x = x + self.out[index](F.gelu(self.fc[index](self.ln_2[index](x)), approximate="tanh"))
        return self.head(self.ln_f(x)).transpose(1, 2)


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attention = nn.LayerNorm(width, eps=1e-6), nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.0), nn.Linear(4 * width, width), nn.Dropout(0.0))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    """ViT-Base's twelve layers at a width of 48: patches by a convolution, a class token, learned positions."""

    def __init__(self, image=32, patch=8, width=48, layers=12, heads=12, classes=10):
        super().__init__()
        self.conv_proj, self.class_token = nn.Conv2d(3, width, patch, patch), nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*(VitBlock(width, heads) for _ in range(layers)))
        self.ln, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def forward(self, x):
        n = x.shape[0]
        x = self.conv_proj(x).reshape(n, self.pos_embedding.size(2), -1).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(n, -1, -1), x], dim=1) + self.pos_embedding
        return self.head(self.ln(self.layers(x))[:, 0])


class CollaborativeFilter(nn.Module):
    """Neural collaborative filtering: a product and a multi-layer perceptron of the embeddings of users and items."""

    def __init__(self, users=400, items=300, width=16):
        super().__init__()
        self.user_mf, self.item_mf = nn.Embedding(users, width), nn.Embedding(items, width)
        self.user_mlp, self.item_mlp = nn.Embedding(users, width), nn.Embedding(items, width)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * width, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.score = nn.Linear(width + 8, 1)

    def forward(self, user, item):
        product = self.user_mf(user) * self.item_mf(item)
        deep = self.mlp(torch.cat([self.user_mlp(user), self.item_mlp(item)], -1))
        return self.score(torch.cat([product, deep], -1)) + self.user_bias(user) + self.item_bias(item)
