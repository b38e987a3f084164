"""The networks of tests of outputs: torch modules, and what draws their samples. python/tests/test_predict.py and run.py use them."""

from __future__ import annotations

import itertools
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pantoum
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

SAMPLES = 19  # the last part of each batch is short


class Net(nn.Module):
    """Layers by name, and a function of them."""

    def __init__(self, run: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.run = run

    def forward(self, *inputs: Tensor) -> Any:
        return self.run(self, *inputs)


class Network(NamedTuple):
    make: Callable[[], nn.Module]
    draw: tuple[Callable[[int], Tensor], ...]
    batch: int = 8


def floats(*shape: int) -> Callable[[int], Tensor]:
    return lambda count: torch.randn(count, *shape)


def ids(highest: int, *shape: int) -> Callable[[int], Tensor]:
    return lambda count: torch.randint(0, highest, (count, *shape))


def lengths(longest: int) -> Callable[[int], Tensor]:
    """Masks that end after a length of half or more."""
    return lambda count: (torch.arange(longest) < torch.randint(longest // 2, longest + 1, (count, 1))).long()


def pooled(net: Any, x: Tensor) -> Tensor:
    return net.head(F.adaptive_avg_pool2d(net.body(x), 1).flatten(1))


def several(net: Any, x: Tensor) -> tuple[Tensor, ...]:
    hidden = torch.tanh(net.a(x))
    return net.b(hidden), net.c(hidden), hidden


def twice(net: Any, x: Tensor) -> tuple[Tensor, ...]:
    y = net.a(x)
    return y, y, y.reshape(-1, 2, 2), x


def as_dict(net: Any, x: Tensor) -> dict[str, Tensor]:
    y = net.a(x)
    return {"scores": y, "probabilities": y.softmax(1), "hidden": torch.relu(y)}


def own_loss(net: Any, x: Tensor, labels: Tensor, weights: Tensor) -> dict[str, Tensor]:
    logits = net.a(x)
    return {"loss": ((logits - labels) ** 2 * weights[:, None]).mean(), "logits": logits}


def own_loss_of_next(net: Any, x: Tensor, target: Tensor) -> dict[str, Tensor]:
    made = net.a(torch.cat([x, target], 1))  # an output that is made of the target too
    return {"loss": F.mse_loss(made, target), "made": made}


def conv(*channels: int, norm: Callable[[int], nn.Module] = nn.BatchNorm2d) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(channels):
        layers += [nn.Conv2d(before, after, 3, padding=1), norm(after), nn.ReLU()]
    return nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = conv(4, 4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


NETWORKS: dict[str, Network] = {
    "mlp": Network(lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (floats(8),)),
    "dropout": Network(lambda: nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 4)), (floats(8),)),
    "regression": Network(lambda: Net(lambda n, x: n.a(x).squeeze(1), a=nn.Linear(5, 1)), (floats(5),)),
    "batch_norm": Network(
        lambda: Net(pooled, body=nn.Sequential(conv(1, 4, 6), nn.MaxPool2d(2)), head=nn.Linear(6, 3)),
        (floats(1, 12, 12),),
    ),
    "depthwise": Network(
        lambda: Net(
            pooled,
            body=nn.Sequential(
                nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.BatchNorm2d(8), nn.SiLU()
            ),
            head=nn.Linear(8, 3),
        ),
        (floats(3, 10, 10),),
    ),
    "group_norm": Network(
        lambda: Net(pooled, body=conv(2, 4, 4, norm=lambda c: nn.GroupNorm(2, c)), head=nn.Linear(4, 3)),
        (floats(2, 9, 9),),
    ),
    "residual": Network(
        lambda: Net(pooled, body=nn.Sequential(conv(3, 4), Residual()), head=nn.Linear(4, 3)),
        (floats(3, 8, 8),),
    ),
    "unet": Network(
        lambda: Net(
            lambda n, x: n.up(torch.relu(n.down(x))) + x, down=nn.Conv2d(2, 4, 2, 2), up=nn.ConvTranspose2d(4, 2, 2, 2)
        ),
        (floats(2, 8, 8),),
    ),
    "conv1d": Network(
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 2, 1)),
        (floats(2, 12),),
    ),
    "conv3d": Network(
        lambda: nn.Sequential(nn.Conv3d(1, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(192, 2)),
        (floats(1, 4, 4, 4),),
    ),
    "transformer": Network(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, activation="gelu"),
        (floats(6, 8),),
    ),
    "attention": Network(
        lambda: Net(
            lambda n, x: n.out(F.scaled_dot_product_attention(n.q(x), n.k(x), n.v(x))),
            q=nn.Linear(8, 8),
            k=nn.Linear(8, 8),
            v=nn.Linear(8, 8),
            out=nn.Linear(8, 4),
        ),
        (floats(5, 8),),
    ),
    "lstm": Network(
        lambda: Net(lambda n, x: n.out(n.rnn(x)[0][:, -1]), rnn=nn.LSTM(4, 8, batch_first=True), out=nn.Linear(8, 3)),
        (floats(7, 4),),
    ),
    "bidirectional": Network(
        lambda: Net(
            lambda n, x: n.out(n.rnn(x)[0]),
            rnn=nn.GRU(4, 6, 2, batch_first=True, bidirectional=True),
            out=nn.Linear(12, 3),
        ),
        (floats(5, 4),),
    ),
    "embedding": Network(
        lambda: Net(lambda n, x: n.out(n.table(x).mean(1)), table=nn.Embedding(20, 6), out=nn.Linear(6, 4)),
        (ids(20, 9),),
    ),
    "two_integer_inputs": Network(
        lambda: Net(lambda n, u, i: (n.user(u) * n.item(i)).sum(1), user=nn.Embedding(12, 5), item=nn.Embedding(9, 5)),
        (ids(12), ids(9)),
    ),
    "two_inputs": Network(
        lambda: Net(lambda n, a, b: torch.sigmoid(n.a(a)) * n.b(b), a=nn.Linear(3, 6), b=nn.Linear(5, 6)),
        (floats(3), floats(5)),
    ),
    "several_outputs": Network(lambda: Net(several, a=nn.Linear(4, 8), b=nn.Linear(8, 3), c=nn.Linear(8, 1)), (floats(4),)),
    "classes": Network(lambda: Net(lambda n, x: (n.a(x), n.a(x).argmax(1)), a=nn.Linear(4, 5)), (floats(4),)),
    "views_and_inputs": Network(lambda: Net(twice, a=nn.Linear(4, 4)), (floats(4),)),
    "own_loss": Network(lambda: Net(own_loss, a=nn.Linear(4, 3)), (floats(4), floats(3), floats())),
    "own_loss_reads_target": Network(lambda: Net(own_loss_of_next, a=nn.Linear(7, 3)), (floats(4), floats(3))),
    "dict": Network(lambda: Net(as_dict, a=nn.Linear(6, 5)), (floats(6),)),
    "one_sample": Network(
        lambda: Net(pooled, body=conv(1, 4), head=nn.Linear(4, 3)), (floats(1, 8, 8),), batch=1
    ),
}


def larger() -> dict[str, Network]:
    """Some of tests/networks, and one whose table does not fit a board."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "networks"))
    import dense_prediction  # noqa: PLC0415
    import generative  # noqa: PLC0415
    import indices  # noqa: PLC0415
    import language  # noqa: PLC0415
    import sequence  # noqa: PLC0415
    import vision  # noqa: PLC0415

    return {
        "wide_table": Network(
            lambda: Net(
                lambda n, x: n.out(torch.relu(n.table(x).flatten(1))),
                table=nn.Embedding(9000, 160),
                out=nn.Linear(640, 10),
            ),
            (ids(9000, 4),),
        ),
        "lenet5": Network(vision.LeNet5, (floats(1, 28, 28),)),
        "mobilenetv2": Network(vision.MobileNetV2, (floats(3, 64, 64),)),
        "resnet18": Network(vision.resnet18, (floats(3, 64, 64),)),
        "segmentation": Network(vision.UNet, (floats(3, 36, 44),), batch=2),
        "retinanet": Network(dense_prediction.RetinaNet, (floats(3, 32, 32),), batch=2),
        "vae": Network(generative.Vae, (floats(1, 12, 12), floats(6))),
        "bert": Network(sequence.Bert, (ids(120, 16), ids(2, 16), lengths(16))),
        "gpt2": Network(sequence.Gpt2, (ids(96, 16),)),
        "gru_tagger": Network(language.GruTagger, (ids(60, 10),)),
        "t5": Network(indices.T5, (ids(64, 12), ids(64, 10))),
        "dlrm": Network(indices.Dlrm, (floats(6), ids(1000, 4), ids(200, 1))),
    }


def outputs_of(module: nn.Module, inputs: tuple[Tensor, ...]) -> list[Any]:
    """What PyTorch gives in evaluation, a sample's loss aside."""
    module.eval()
    with torch.no_grad():
        made = module(*inputs)
    values = made.values() if isinstance(made, dict) else made if isinstance(made, tuple) else [made]
    return [value.numpy() for value in values if value.dim() > 0]


def joined(made: Any) -> Tensor:
    """All outputs of real numbers as one tensor: one loss measures them all."""
    values = made.values() if isinstance(made, dict) else made if isinstance(made, tuple) else (made,)
    return torch.cat([value.reshape(len(value), -1) for value in values if value.is_floating_point()], 1)


def loss_of_outputs(made: Any, target: Tensor) -> Tensor:
    return F.mse_loss(joined(made), target)


def trained(network: Network, kernels: str, **options: Any) -> tuple[Any, nn.Module, tuple[Tensor, ...]]:
    """A trainer after three steps, the module with its weights, and samples."""
    torch.manual_seed(3)
    module = network.make()
    batch, samples = (tuple(each(count) for each in network.draw) for count in (network.batch, SAMPLES))
    own = has_own_loss(module)
    target = None if own else torch.randn_like(joined(module(*batch)))
    plan_options = {"kernels": kernels, "measure": "off", "effort": 1, **options.pop("plan_options", {})}
    asked = {"loss": None if own else loss_of_outputs, "optimizer": "sgd", "lr": 0.05, "ram": "4MiB", **options}
    trainer = pantoum.compile(
        module,
        batch if own else (batch[0] if len(batch) == 1 else batch),
        **({} if own else {"target": target}),
        plan_options=plan_options,
        **asked,
    )
    for _ in range(3):
        trainer.step(*batch, *([] if own else [target]))
    trainer.copy_to(module)
    return trainer, module, samples


def has_own_loss(module: nn.Module) -> bool:
    return isinstance(module, Net) and module.run in (own_loss, own_loss_of_next)
