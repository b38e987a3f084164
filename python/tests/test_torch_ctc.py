"""ctc_loss, which is expressed by other operators, is PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the front end captures torch modules")

import pantoum  # noqa: E402
from pantoum._torch import capture  # noqa: E402
from pantoum._torch.replacements import ctc_loss  # noqa: E402
from samples import MODELLED  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


def drawn(seed: int, frames: int, batch: int, labels: int, blank: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Labels with repeats, empty ones, ones too long for their frames; what lies beyond a length is no class."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randint(1, frames + 1, (batch,), generator=generator)
    lengths = torch.randint(0, labels + 1, (batch,), generator=generator)
    targets = torch.randint(0, 3, (batch, labels), generator=generator)
    targets = torch.where(targets >= blank, targets + 1, targets)
    targets = torch.where(torch.arange(labels) < lengths[:, None], targets, 1000)
    log_probs = torch.randn(frames, batch, 4, generator=generator, dtype=torch.float64)
    return log_probs, targets, inputs, lengths


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_loss_and_gradients_are_those_of_the_operator(seed: int, normalized: bool, reduction: str) -> None:
    blank = seed % 4
    log_probs, targets, inputs, lengths = drawn(seed, 1 + 3 * seed, 6, 1 + seed, blank)
    answers = []
    for function in (ctc_loss, F.ctc_loss):
        x = log_probs.clone().requires_grad_()
        given = x.log_softmax(2) if normalized else x
        loss = function(given, targets, inputs, lengths, blank, reduction, zero_infinity=True)
        loss.sum().backward()
        answers.append((loss, x.grad))
    torch.testing.assert_close(answers[0], answers[1], rtol=1e-9, atol=1e-9)


def test_labels_that_no_path_gives_are_infinite_unless_they_are_left_out() -> None:
    given = torch.randn(2, 1, 4).log_softmax(2), torch.tensor([[1, 2, 3]]), torch.tensor([2]), torch.tensor([3])
    assert ctc_loss(*given).item() == torch.inf
    assert ctc_loss(*given, zero_infinity=True).item() == 0.0


def test_one_sequence_needs_no_batch() -> None:
    log_probs, targets = torch.randn(7, 4).log_softmax(1), torch.tensor([1, 1, 2])
    for reduction in ("mean", "none"):
        given = log_probs, targets, torch.tensor(6), torch.tensor(3), 0, reduction
        torch.testing.assert_close(ctc_loss(*given), F.ctc_loss(*given))


class Speech(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.head = nn.Conv1d(5, 8, 3, padding=1), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.encode(x.transpose(1, 2)).relu().transpose(1, 2)
        return self.head(h).log_softmax(-1).transpose(0, 1)


def test_a_speech_model_trains_with_it() -> None:
    torch.manual_seed(0)
    _, targets, inputs, lengths = drawn(7, 9, 3, 3, 0)
    function = nn.CTCLoss(zero_infinity=True)

    def loss(output: Tensor, target: Any) -> Tensor:
        return function(output, *target)

    module, target = Speech(), (targets, inputs, lengths)
    report = pantoum.check(module, torch.randn(3, 9, 5), loss, target=target, steps=2, plan_options=MODELLED)
    assert report.ok, str(report)
    notes = capture(module, torch.randn(3, 9, 5), loss, target).notes
    assert any("no length is beyond its frames or labels is not checked" in note for note in notes)
