"""What torch_budget promises: training, paging, several calls, shapes, pieces, threads and processes."""

from __future__ import annotations

import contextlib
import copy
import gc
import logging
import multiprocessing
import os
import threading
from typing import Any

import pantoum.torch_budget
import pytest
from budget_steps import Function, backward, batch, budgeted, copied, eager, kept, network, same, torch
from pantoum.torch_budget import backend, faults, pager, planner
from torch import nn

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("fresh_compiler")]


def test_more_bytes_never_take_more_time_as_modelled() -> None:
    module, inputs = network(), [batch()]
    peak = budgeted(module, inputs, "1GiB").budget.report().planned_peak
    times = []
    for share in (1.0, 0.6, 0.8, 0.7, 0.9, 0.65):
        with contextlib.suppress(faults.Infeasible):
            piece = budgeted(module, inputs, int(peak * share)).budget.report().pieces[0]
            times.append((piece.budget, piece.time_s))
    ascending = [budgeted(module, inputs, ram).budget.report().pieces[0].time_s for ram, _ in sorted(times)]
    assert len(times) >= 3
    assert ascending == sorted(ascending, reverse=True)


def test_infeasible_tells_a_budget_that_works() -> None:
    with pytest.raises(faults.Infeasible) as refused:
        budgeted(network(), [batch()], "4KiB")
    error = refused.value
    assert error.code == "E0301"
    assert "proved" in str(error)
    assert error.min_ram > 4096
    kept(budgeted(network(), [batch()], int(error.min_ram or 0)))


def test_options_give_the_budget() -> None:
    module = network()
    compiled = torch.compile(module, backend="pantoum", options={"ram": "1MiB", "page_dir": None})
    compiled(batch()).sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_a_budget_entered_around_the_first_call() -> None:
    compiled = torch.compile(network(), backend="pantoum")
    with pantoum.torch_budget("1GiB") as budget:
        compiled(batch())
    assert len(budget.report().pieces) == 1


def test_training_goes_as_in_eager() -> None:
    module, other = network(), network()
    peak = budgeted(module, [batch()], "1GiB").budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.75)}B", time_limit_s=2):
        compiled = torch.compile(other, backend="pantoum")
    for one, run in ((module, module), (other, compiled)):
        torch.manual_seed(9)
        optimizer = torch.optim.Adam(one.parameters(), 1e-2)
        for step in range(4):
            optimizer.zero_grad()
            run(batch() * (step + 1)).square().mean().backward()
            optimizer.step()
    for mine, theirs in zip(module.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_paged_activations_come_back(fast_disk: str) -> None:
    module, inputs = network(), [batch()]
    free = budgeted(module, inputs, "1GiB", page_dir=fast_disk)
    step = budgeted(module, inputs, int(free.budget.report().planned_peak * 0.7), page_dir=fast_disk)
    same(step, eager(module, inputs))
    kept(step)
    assert step.budget.report().pieces[0].paged_out > 0


def test_page_slots_are_given_back(fast_disk: str) -> None:
    number = pager.open_pager(fast_disk)
    module = network()
    peak = budgeted(module, [batch()], "1GiB", page_dir=fast_disk).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.7)}B", page_dir=fast_disk, time_limit_s=2) as budget:
        compiled = torch.compile(module, backend="pantoum")
    for _ in range(4):
        compiled(batch()).sum().backward()
    del compiled
    gc.collect()
    assert number is not None
    file = pager.pager_of(number)
    assert budget.report().pieces[0].paged_out > 0
    assert sum(map(len, file.free.values())) == len(file.slots)
    assert file.end <= 2 * budget.report().pieces[0].paged_out


def test_graphs_that_are_dropped_give_their_slots_back(fast_disk: str) -> None:
    module = network()
    peak = budgeted(module, [batch()], "1GiB", page_dir=fast_disk).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.7)}B", page_dir=fast_disk, time_limit_s=2):
        compiled = torch.compile(module, backend="pantoum")
    for _ in range(3):
        compiled(batch())
    gc.collect()
    number = pager.open_pager(fast_disk)
    assert number is not None
    file = pager.pager_of(number)
    assert file.slots
    assert sum(map(len, file.free.values())) == len(file.slots)


@pytest.mark.parametrize("paging", [False, True])
def test_several_calls_before_backward(paging: bool, fast_disk: str) -> None:
    module, other = network().eval(), network().eval()
    place = fast_disk if paging else None
    peak = budgeted(other, [batch()], "1GiB", page_dir=place).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.7)}B", page_dir=place, time_limit_s=2) as budget:
        compiled = torch.compile(other, backend="pantoum")
    compiled(batch())
    budget.ram = 1 << 30  # the plan stays, three calls of it may be in flight
    for run in (module, compiled):
        losses = [run(batch() * scale).square().sum() for scale in (1.0, 2.0, 3.0)]
        (losses[0] + losses[2] - losses[1]).backward()
    for mine, theirs in zip(module.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-5, atol=1e-5)


def test_calls_in_flight_are_within_the_budget_together() -> None:
    peak = budgeted(network(), [batch()], "1GiB", page_dir=None).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{peak}B", page_dir=None) as tight:
        compiled = torch.compile(network(), backend="pantoum")
    waiting = compiled(batch())
    with pytest.raises(faults.Infeasible, match="earlier calls hold") as refused:
        compiled(batch())
    waiting.sum().backward()
    del waiting
    compiled(batch())  # dropped without backward
    compiled(batch()).sum().backward()
    assert not tight.in_flight
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(refused.value.min_ram or 0)}B", page_dir=None) as enough:
        compiled = torch.compile(network(), backend="pantoum")
    with enough.measure():
        (compiled(batch()) - compiled(batch() * 2)).sum().backward()
    assert peak < enough.report().measured_peak <= enough.ram


def test_a_write_that_fails_gives_its_slot_back(fast_disk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> int:
        raise OSError(5, "Input/output error")

    file = pager.FilePager(fast_disk)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", broken)
        with pytest.raises(faults.DeviceError, match="Input/output"):
            file.write(torch.ones(8).untyped_storage())
    assert file.write(torch.ones(8).untyped_storage()) == 0


@pytest.mark.parametrize("paging", [False, True])
def test_backward_twice_over_a_graph_that_is_kept(paging: bool, fast_disk: str) -> None:
    module = network().eval()
    place = fast_disk if paging else None
    peak = budgeted(module, [batch()], "1GiB", page_dir=place).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.7)}B", page_dir=place, time_limit_s=2):
        compiled = torch.compile(module, backend="pantoum")
    loss = compiled(batch()).sum()
    loss.backward(retain_graph=True)
    once = [parameter.grad.clone() for parameter in module.parameters()]
    loss.backward()
    for parameter, first in zip(module.parameters(), once, strict=True):
        assert torch.equal(parameter.grad, first + first)


def test_double_backward_is_refused() -> None:
    inputs = batch().requires_grad_()
    with pantoum.torch_budget("1GiB"):
        compiled = torch.compile(network().eval(), backend="pantoum")
    (gradient,) = torch.autograd.grad(compiled(inputs).sum(), inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


@pytest.mark.parametrize("guard", [torch.no_grad, torch.inference_mode])
def test_inference_is_planned_alone(guard: Any) -> None:
    module = network().eval()
    with pantoum.torch_budget("1MiB", time_limit_s=2) as budget:
        compiled = torch.compile(module, backend="pantoum")
    with guard(), budget.measure():
        found = compiled(batch())
        torch.testing.assert_close(found, module(batch()))
    report = budget.report()
    assert report.pieces[0].kind == "inference"
    assert report.pieces[0].saved == 0
    assert report.measured_peak <= report.planned_peak <= budget.ram


def test_every_shape_has_its_own_plan() -> None:
    module, other = network().eval(), network().eval()
    with pantoum.torch_budget("4MiB", time_limit_s=2) as budget:
        compiled = torch.compile(other, backend="pantoum")
    for rows in (128, 96, 17):
        with budget.measure():
            found = compiled(batch(rows))
            found.sum().backward()
        torch.testing.assert_close(found, module(batch(rows)))
        assert budget.report().measured_peak <= budget.report().pieces[-1].planned_peak
    assert len({piece.planned_peak for piece in budget.report().pieces}) == 3
    assert len({piece.frame for piece in budget.report().pieces}) == 1


def test_a_shape_that_must_stay_open_is_refused() -> None:
    inputs = batch()
    torch._dynamo.mark_dynamic(inputs, 0)
    with pantoum.torch_budget("4MiB"):
        compiled = torch.compile(network(), backend="pantoum")
    with pytest.raises(Exception, match=r"(?s)dynamic|[Cc]onstraint"):
        compiled(inputs)


def test_pieces_after_a_graph_break_share_the_budget(caplog: pytest.LogCaptureFixture) -> None:
    def broken(self: Any, x: Any) -> Any:
        y = torch.tanh(self.first(x)) * 2
        torch._dynamo.graph_break()
        return torch.tanh(self.second(y)) * 3

    module = Function(broken, first=nn.Linear(64, 256), second=nn.Linear(256, 64))
    with caplog.at_level(logging.WARNING, "pantoum.torch_budget"):
        step = budgeted(module, [batch()], "1MiB")
    same(step, eager(module, [batch()]))
    first, second = step.budget.report().pieces
    assert second.budget == first.budget - first.saved
    assert first.saved > 0
    assert step.budget.report().measured_peak <= step.budget.report().planned_peak <= step.budget.ram
    assert "2 pieces" in caplog.text


def test_two_modules_of_one_class_are_two_pieces() -> None:
    first = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
    second = nn.Sequential(nn.Linear(64, 64), nn.Sigmoid(), nn.Linear(64, 8))
    with pantoum.torch_budget("1MiB", time_limit_s=2) as budget:
        pair = [torch.compile(module, backend="pantoum") for module in (first, second)]
    with budget.measure():
        backward(pair[1](pair[0](batch())))
    pieces = budget.report().pieces
    assert pieces[1].budget == pieces[0].budget - pieces[0].saved
    assert budget.report().measured_peak <= budget.report().planned_peak


def test_a_compiled_block_that_is_used_again_is_one_piece() -> None:
    blocks = [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)]
    with pantoum.torch_budget("1MiB", time_limit_s=2) as budget:
        module = nn.Sequential(*[torch.compile(block, backend="pantoum") for block in blocks])
    inputs = batch()
    torch.testing.assert_close(module(inputs), nn.Sequential(*blocks)(inputs))
    assert len({piece.frame for piece in budget.report().pieces}) == 1


def test_all_dimensions_dynamic() -> None:
    module = network().eval()
    with pantoum.torch_budget("4MiB", time_limit_s=2) as budget:
        compiled = torch.compile(module, backend="pantoum", dynamic=True)
    for rows in (16, 9):
        torch.testing.assert_close(compiled(batch(rows)), module(batch(rows)))
    assert len(budget.report().pieces) == 2


def test_a_module_compiled_in_place() -> None:
    module, other = (Function(lambda self, x: self.part(x), part=network().eval()) for _ in range(2))
    with pantoum.torch_budget("4MiB", time_limit_s=2) as budget:
        module.compile(backend="pantoum")
    torch.testing.assert_close(module(batch()), other(batch()))
    assert len(budget.report().pieces) == 1


def test_parameters_changed_between_forward_and_backward() -> None:
    """What a plan computes from again must not have changed; PyTorch's own check says so."""
    module = network().eval()
    peak = budgeted(module, [batch()], "1GiB", page_dir=None).budget.report().planned_peak
    torch._dynamo.reset()
    with pantoum.torch_budget(f"{int(peak * 0.7)}B", page_dir=None, time_limit_s=2):
        compiled = torch.compile(module, backend="pantoum")
    loss = compiled(batch()).sum()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)
    with pytest.raises(RuntimeError, match="inplace operation"):
        loss.backward()


def test_equal_graphs_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    answer = planner.ask

    def count(*question: Any) -> Any:
        asked.append(1)
        return answer(*question)

    monkeypatch.setattr(planner, "ask", count)
    backend._PLANS.clear()
    for _ in range(3):
        budgeted(network(), [batch()], "1MiB")
    assert len(asked) == 1


def test_two_threads_train_two_modules() -> None:
    modules = [network().eval() for _ in range(2)]
    with pantoum.torch_budget("1GiB", time_limit_s=2):
        compiled = [torch.compile(module, backend="pantoum") for module in modules]
    expected = eager(network().eval(), [batch()])
    threads = [threading.Thread(target=lambda run=run: backward(run(batch()))) for run in compiled]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for module in modules:
        for parameter, gradient in zip(module.parameters(), expected.gradients, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)


def _forked(folder: str, queue: Any) -> None:
    try:
        pager.pager_of(pager._PAGERS.index(next(one for one in pager._PAGERS if one.folder == folder))).write(
            torch.ones(8).untyped_storage()
        )
        queue.put("written")
    except faults.DeviceError as error:
        queue.put(str(error))


def test_a_forked_child_does_not_write_into_its_parents_page_file(fast_disk: str) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_forked, args=(fast_disk, queue))
    child.start()
    assert "forked" in queue.get(timeout=30)
    child.join()


def test_the_users_random_numbers_are_left_alone() -> None:
    module = network().eval()
    torch.manual_seed(3)
    with pantoum.torch_budget("1GiB"):
        compiled = torch.compile(module, backend="pantoum")
    compiled(batch()).sum().backward()
    after = torch.rand(4)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(4))


def test_a_module_and_its_copy_may_have_two_budgets() -> None:
    module = network()
    peak = budgeted(module, [batch()], "1GiB").budget.report().planned_peak
    torch._dynamo.reset()
    peaks = []
    for ram in (peak, int(peak * 0.8)):
        with pantoum.torch_budget(f"{ram}B", time_limit_s=2) as budget:
            compiled = torch.compile(copy.deepcopy(module), backend="pantoum")
        with budget.measure():
            backward(compiled(*copied([batch()])))
        peaks.append(budget.report().measured_peak)
    assert peaks[1] <= peak * 0.8 < peaks[0] <= peak
