"""SparseAdam: the rows of a table that a step reads, beside torch.optim.SparseAdam; other parameters, beside Adam."""

from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pantoum  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.optim import lr_scheduler  # noqa: E402

PLANNED: dict[str, Any] = {"kernels": "portable", "threads": 1, "measure": "off", "effort": 1}
STEPS = 5


class Net(nn.Module):
    """One or more tables, one of them read by both columns; with or without layers behind."""

    def __init__(
        self, rows: list[int], width: int, padding: int | None, shared: bool, dense: bool, sparse: bool
    ) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.Embedding(count, width, padding_idx=padding if at == 0 else None, sparse=sparse)
            for at, count in enumerate(rows)
        )
        self.shared = shared
        self.head = nn.Sequential(nn.Linear(width, 4), nn.Tanh(), nn.Linear(4, width)) if dense else nn.Identity()

    def forward(self, *columns: Tensor) -> Tensor:
        y = sum(table(column).mean(1) for table, column in zip(self.tables, columns, strict=True))
        if self.shared:
            y = y * self.tables[0](columns[0][:, :1]).squeeze(1)
        return self.head(y)


class Adams:
    """What PyTorch needs for tables and dense layers: two optimizers."""

    def __init__(self, net: Net, **options: Any) -> None:
        self.made = [torch.optim.SparseAdam(net.tables.parameters(), **options)]
        if list(net.head.parameters()):
            self.made.append(torch.optim.Adam(net.head.parameters(), **options))

    def zero_grad(self) -> None:
        for each in self.made:
            each.zero_grad()

    def step(self) -> None:
        for each in self.made:
            each.step()


def drawn(seed: int) -> tuple[dict[str, Any], dict[str, Any], list[tuple[Tensor, ...]]]:
    """A net, the settings of its optimizer, and batches: rows that stand often, once or never in one."""
    draw, numbers = random.Random(seed), torch.Generator().manual_seed(seed)
    shape: dict[str, Any] = {
        "rows": [draw.choice([1, 2, 7, 40]) for _ in range(draw.choice([1, 1, 2, 3]))],
        "width": draw.choice([1, 3, 8, 70]),
        "padding": draw.choice([None, 0]),
        "shared": draw.random() < 0.4,
        "dense": draw.random() < 0.5,
    }
    settings = {
        "lr": draw.choice([0.001, 0.05]),
        "betas": draw.choice([(0.9, 0.999), (0.0, 0.9), (0.8, 0.9999)]),
        "eps": draw.choice([1e-8, 1e-2]),
    }
    batch, length = draw.choice([1, 4]), draw.choice([1, 3, 9])
    batches = []
    for step in range(STEPS):
        reach = [count if step % 2 else max(1, count // 3) for count in shape["rows"]]
        columns = [torch.randint(0, most, (batch, length), generator=numbers) for most in reach]
        batches.append((*columns, torch.randn(batch, shape["width"], generator=numbers)))
    return shape, settings, batches


def trained_by_pytorch(net: Net, optimizer: Any, batches: Any) -> list[float]:
    losses = []
    for *columns, target in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(*columns), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compiled(net: Net, batch: Any, optimizer: Any, **options: Any) -> Any:
    *inputs, target = batch
    return pantoum.compile(
        net, tuple(inputs), target=target, loss=nn.MSELoss(), optimizer=optimizer, plan_options=PLANNED, **options
    )


def ours(settings: dict[str, Any]) -> pantoum.SparseAdam:
    beta1, beta2 = settings["betas"]
    return pantoum.SparseAdam(lr=settings["lr"], beta1=beta1, beta2=beta2, eps=settings["eps"])


def expect_equal(net: Net, trainer: Any, message: str) -> None:
    found = trainer.state_dict()
    for name, wanted in net.named_parameters():
        torch.testing.assert_close(
            torch.from_numpy(found[name]), wanted.detach(), rtol=2e-4, atol=1e-5, msg=f"{name}: {message}"
        )


@pytest.mark.parametrize("seed", range(24))
def test_generated_tables_train_as_in_pytorch(seed: int) -> None:
    shape, settings, batches = drawn(seed)
    torch.manual_seed(seed)
    net = Net(sparse=True, **shape)
    start = {name: value.clone() for name, value in net.state_dict().items()}
    losses = trained_by_pytorch(net, Adams(net, **settings), batches)
    again = Net(sparse=seed % 2 == 0, **shape)
    again.load_state_dict(start)
    given: Any = ours(settings)
    if not shape["dense"] and seed % 2 == 0:
        given = torch.optim.SparseAdam(again.parameters(), **settings)
    with compiled(again, batches[0], given) as trainer:
        made = [trainer.step(*batch) for batch in batches]
        assert made == pytest.approx(losses, rel=1e-4, abs=1e-6), shape
        expect_equal(net, trainer, f"{shape} {settings}")


def test_a_row_that_is_not_read_stays_as_it_is() -> None:
    net = Net([40], 8, None, shared=False, dense=True, sparse=False)
    first = (torch.arange(20).reshape(4, 5), torch.randn(4, 8))
    second = (torch.arange(20, 40).reshape(4, 5), torch.randn(4, 8))
    for optimizer, stays in ((pantoum.SparseAdam(lr=0.1), True), (pantoum.Adam(lr=0.1), False)):
        with compiled(net, first, optimizer) as trainer:
            trainer.step(*first)
            before = trainer.state_dict()["tables.0.weight"].copy()
            trainer.step(*second)
            after = trainer.state_dict()["tables.0.weight"]
            assert ((before == after)[:20].all()) == stays
            assert (before != after)[20:].all()


def test_budgets_give_the_same_bits_without_the_gradient_of_the_table() -> None:
    shape, settings, batches = drawn(3)
    shape |= {"rows": [3000, 40], "width": 16, "shared": True, "dense": True}
    numbers = torch.Generator().manual_seed(1)
    batches = [
        (*(torch.randint(0, 40, (4, 3), generator=numbers) for _ in range(2)), torch.randn(4, 16, generator=numbers))
        for _ in range(STEPS)
    ]
    torch.manual_seed(1)
    net = Net(sparse=True, **shape)
    whole = 4 * 3000 * 16
    with pytest.raises(pantoum.Infeasible) as caught:
        compiled(net, batches[0], ours(settings), ram="1B")
    least = int(caught.value.min_ram or 0)
    assert 3 * whole < least < 3 * whole + whole // 4
    states = []
    for ram in (least, 2 * least, 1 << 28):
        with compiled(net, batches[0], ours(settings), ram=pantoum.Bytes(ram)) as trainer:
            for batch in batches:
                trainer.step(*batch)
            states.append({each.name: trainer.read(each.name).tobytes() for each in trainer.tensors})
    assert states[0] == states[1] == states[2]


def test_a_checkpoint_goes_on_with_the_moments(tmp_path: Any) -> None:
    shape, settings, batches = drawn(5)
    torch.manual_seed(5)
    net = Net(sparse=True, **shape)
    with compiled(net, batches[0], ours(settings)) as trainer:
        for batch in batches[:3]:
            trainer.step(*batch)
        trainer.save(tmp_path / "kept.safetensors")
        for batch in batches[3:]:
            trainer.step(*batch)
        wanted = trainer.state_dict()
    with compiled(net, batches[0], ours(settings)) as trainer:
        trainer.resume(tmp_path / "kept.safetensors")
        for batch in batches[3:]:
            trainer.step(*batch)
        found = trainer.state_dict()
    assert all((found[name] == value).all() for name, value in wanted.items())


def test_a_scheduler_sets_the_rate() -> None:
    shape, settings, batches = drawn(7)
    shape |= {"dense": False}
    torch.manual_seed(7)
    net = Net(sparse=True, **shape)
    start = {name: value.clone() for name, value in net.state_dict().items()}
    optimizer = torch.optim.SparseAdam(net.parameters(), **settings)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.1)
    for batch in batches:
        trained_by_pytorch(net, optimizer, [batch])
        scheduler.step()
    again = Net(sparse=True, **shape)
    again.load_state_dict(start)
    optimizer = torch.optim.SparseAdam(again.parameters(), **settings)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.1)
    with compiled(again, batches[0], optimizer) as trainer:
        for batch in batches:
            trainer.step(*batch)
            scheduler.step()
        expect_equal(net, trainer, str(shape))


class Tied(nn.Module):
    """A table that a product reads too."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(12, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.words(x).mean(1) @ self.words.weight.T


def test_a_tied_table_trains_as_with_adam_and_is_named() -> None:
    torch.manual_seed(0)
    batch = torch.tensor([[1, 2], [3, 3]]), torch.tensor([4, 5])
    trained = []
    for optimizer in (pantoum.SparseAdam(lr=0.1), pantoum.Adam(lr=0.1)):
        torch.manual_seed(0)
        model = pantoum.from_torch(Tied(), batch, loss=nn.CrossEntropyLoss(), optimizer=optimizer)
        plan = pantoum.plan(model, None, **PLANNED)
        told = [note for note in plan.notes if "'words.weight' is read in another way too" in note]
        assert len(told) == isinstance(optimizer, pantoum.SparseAdam)
        with pantoum.Trainer(plan) as trainer:
            for _ in range(3):
                trainer.step(*(each.numpy() for each in batch))
            trained.append(trainer.read("words.weight"))
    assert (trained[0] == trained[1]).all()


@pytest.mark.parametrize(
    "options", [{"accumulate": 2}, {"clip_norm": 1.0}, {"clip_value": 1.0}, {"split_update": True}], ids=str
)
def test_what_reads_the_whole_gradient_is_refused(options: dict[str, Any]) -> None:
    _, _, batches = drawn(1)
    torch.manual_seed(1)
    net = Net(sparse=True, **(drawn(1)[0]))
    with pytest.raises(pantoum.UsageError, match=r"tables\.0\.weight") as caught:
        compiled(net, batches[0], pantoum.SparseAdam(), **options)
    assert caught.value.code == "E0117"


class Looked(nn.Module):
    """Rows that are read by an index and by index_select, whose gradients PyTorch makes whole."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.bias = nn.Parameter(torch.randn(9, 4)), nn.Parameter(torch.randn(9))
        self.counted = nn.Embedding(9, 4, padding_idx=1, scale_grad_by_freq=True)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.table[x] + torch.index_select(self.table, 0, x[:, 0]).unsqueeze(1)
        return (rows * self.counted(x)).mean(1) * self.bias[x].sum(1, keepdim=True)


@pytest.mark.parametrize("seed", range(4))
def test_check_compares_tables_by_rows(seed: int) -> None:
    shape, settings, batches = drawn(20 + seed)
    torch.manual_seed(seed)
    net = Net(sparse=seed % 2 == 0, **shape)
    *inputs, target = batches[0]
    report = pantoum.check(net, tuple(inputs), target=target, loss=nn.MSELoss(), optimizer=ours(settings), steps=4)
    assert report.ok, report
    looked = pantoum.check(
        Looked(), (torch.randint(0, 9, (4, 3)), torch.randn(4, 4)), loss=nn.MSELoss(), optimizer=ours(settings), steps=4
    )
    assert looked.ok, looked
