"""What run.py asks of kinks and of buffers, by the Python package: steps by both roads, and the state that they leave.

A road is "capture" (pantoum.compile of the module) or an exporter of run.EXPORTERS. A verdict is as run.py counts them.
"""
import contextlib
import copy
import io
import os
import tempfile
import warnings

import numpy as np
import torch

import buffers
import kinks
import pantoum
import programs
import run

PLANNED = {"kernels": "portable", "measure": "off", "effort": 1}
AMPLE = "64MiB"
# By the older exporter, which leaves no trace of what acts in backward alone, and writes one operator for several: its Max is torch.maximum's and
# clamp's, its ReduceMax that of amax and of max, its Clip clamp's and hardtanh's. What the file cannot tell is not asked of it.
UNTOLD = {
    "script": ("detach", "straight through", "padded", "by frequency", "clamp by", "max along", "min along", "stacked max", "maxout", "hardtanh", "relu6", "hardsigmoid by", "hardswish by", "kl", "poisson", "minimum of", "module hardtanh",
               "adaptive max pool 1", "hinge embedding", "soft margin", "without gradient", "code book"),
    "export": ("without gradient", "adaptive max pool 1"), "default": ("without gradient", "adaptive max pool 1"),
}
# PyTorch does not say which of equal elements it takes; a bag's rows it divides by one count.
UNDEFINED = ("kthvalue", "mode", "bag sum by frequency")


def exported(module, inputs, road):
    path = os.path.join(tempfile.mkdtemp(), "net.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.export(torch, module, inputs, road, path)
    with open(path, "rb") as file:
        return file.read()


def trainer_of(road, module, inputs, y, ram, rate, contents=None, weights=None):
    """A trainer by that road, with plain SGD and the mean of squares."""
    if road == "capture":
        module = copy.deepcopy(module)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pantoum.compile(module, inputs, target=y, loss="mse", optimizer=torch.optim.SGD(module.parameters(), lr=rate), ram=ram, plan_options=PLANNED)
    options = {"loss": "mse", "optimizer": pantoum.Sgd(lr=rate)} | ({"weights": weights} if weights else {})
    if road == "script":
        fixed = {name for name, _ in module.named_buffers()}
        trained = {tensor.name for tensor in pantoum.Model.from_bytes(contents, **options).inspect().tensors if tensor.trains != "no"}
        options["freeze"] = sorted(fixed & trained)
    return pantoum.Trainer(pantoum.plan(pantoum.Model.from_bytes(contents, **options), ram, **PLANNED))


def arrays(inputs, y):
    return [each.numpy() for each in (*inputs, y)]


def refusal(error):
    """The verdict of an error: a refusal has a place."""
    told = str(error)
    named = "/" in told or "'" in told or "-->" in told
    return ("refused" if named else "refused without a place") if error.exit_code in (3, 4) else f"fault: {error.code}", " | ".join(told.splitlines())[:300]


# Kinks ----------------------------------------------------------------------------------------------------------------


def gradients(module, inputs, y):
    module = copy.deepcopy(module)
    loss = torch.nn.functional.mse_loss(module(*inputs), y)
    loss.backward()
    return loss.item(), {name: torch.zeros_like(each) if each.grad is None else each.grad for name, each in module.named_parameters()}


def apart(wanted, found):
    """What of the gradients differs; "": nothing."""
    told = []
    for name, gradient in wanted.items():
        if name not in found:
            told.append(f"no {name}")
        elif not torch.allclose(found[name], gradient, atol=2e-5 * max(1.0, gradient.abs().max().item()), rtol=2e-4):
            told.append(f"{name}: {found[name].flatten()[:8].tolist()} for {gradient.flatten()[:8].tolist()}")
    return "; ".join(told)


def kink_by(road, name, module, inputs, y, wanted):
    if any(part in name for part in UNTOLD.get(road, ())):
        return "left out: the file does not tell", ""
    try:
        contents = None if road == "capture" else exported(module, inputs, road)
    except Exception as error:  # whatever an exporter throws
        return "left out: not exported", str(error)[:100]
    loss, slopes = wanted
    try:
        with trainer_of(road, module, inputs, y, AMPLE, 1.0, contents) as trainer:
            found = trainer.step(*arrays(inputs, y))
            state = trainer.state_dict()
    except pantoum.Error as error:
        return refusal(error)
    if run.far([loss], [found]) > run.BOUND:
        return "left out: another program" if road != "capture" else "differs", f"loss {found} for {loss}"
    told = apart(slopes, {key: each.detach() - torch.from_numpy(np.array(state[key])) for key, each in module.named_parameters() if key in state})
    return ("differs", told) if told else ("equal", "")


def kink(number):
    """(name, [(road, verdict, why)]) of the kink of that number."""
    name = list(kinks.KINKS)[number % len(kinks.KINKS)]
    torch.manual_seed(0)
    module, inputs = kinks.KINKS[name]()
    try:
        y = torch.randn(module(*inputs).shape, generator=torch.Generator().manual_seed(3))
        wanted = gradients(module, inputs, y)
    except (RuntimeError, ValueError) as error:
        return name, [("", "left out: PyTorch does not train it", str(error)[:100])]
    if name in UNDEFINED or not np.isfinite(wanted[0]) or not all(torch.isfinite(each).all() for each in wanted[1].values()):
        return name, [("", "left out: PyTorch's own is not defined", "")]
    return name, [(road, *kink_by(road, name, module, inputs, y, wanted)) for road in ("capture", *run.EXPORTERS)]


# Buffers --------------------------------------------------------------------------------------------------------------


def stepped(module, state, x, y, steps):
    """(losses, state after them) of PyTorch, from that state."""
    module = copy.deepcopy(module)
    module.load_state_dict(state)
    optimizer = torch.optim.SGD(module.parameters(), lr=run.RATE)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def states_differ(wanted, found):
    names = [f"names: {sorted(set(wanted) ^ set(found))}"] if set(wanted) != set(found) else []
    told = [name for name in wanted if name in found and not np.allclose(np.asarray(found[name], dtype=float), wanted[name].numpy().astype(float), atol=2e-4, rtol=2e-3)]
    return "; ".join([*names, *told])


def least_ram(road, *given):
    """The smallest RAM that a plan is known for."""
    try:
        trainer_of(road, *given[:3], "1KiB", run.RATE, *given[3:])
    except (pantoum.Infeasible, pantoum.LimitReached) as error:
        return error.min_ram
    return "1KiB"


def check(what, wanted, found, told):
    if run.far(wanted, found) > 10 * run.BOUND:
        told.append(f"{what}: {found} for {wanted}")


def captured_buffers(module, x, y, other):
    """What differs after a replacement, in two budgets, and where one resumes the other."""
    told, first = [], {name: tensor.clone() for name, tensor in module.state_dict().items()}
    budgets = [AMPLE, least_ram("capture", module, (x,), y)]
    losses, after = stepped(module, first, x, y, 1)
    again, last = stepped(module, other, x, y, 3)
    folder = tempfile.mkdtemp()
    for number, ram in enumerate(budgets):
        with trainer_of("capture", module, (x,), y, ram, run.RATE) as trainer:
            if set(trainer.state_dict()) != set(first):
                told.append(f"{ram}: its state has {sorted(set(trainer.state_dict()) ^ set(first))}")
            check(f"{ram}: first step", losses, [trainer.step(x, y)], told)
            told += [f"{ram}: {each}" for each in [states_differ(after, trainer.state_dict())] if each]
            trainer.load_state_dict({name: tensor.numpy() for name, tensor in other.items()})
            check(f"{ram}: replaced", again[:2], [trainer.step(x, y) for _ in range(2)], told)
            trainer.save(os.path.join(folder, f"{number}.safetensors"))
            check(f"{ram}: third", again[2:], [trainer.step(x, y)], told)
            fresh = copy.deepcopy(module)
            trainer.copy_to(fresh)
            told += [f"{ram}, copied: {each}" for each in [states_differ(last, {name: tensor.numpy() for name, tensor in fresh.state_dict().items()})] if each]
            fresh.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in trainer.state_dict().items()}, strict=True)
    for number, ram in enumerate(reversed(budgets)):
        with trainer_of("capture", module, (x,), y, ram, run.RATE) as trainer:
            trainer.resume(os.path.join(folder, f"{number}.safetensors"))
            check(f"{ram}: resumed", again[2:], [trainer.step(x, y)], told)
            told += [f"{ram}, resumed: {each}" for each in [states_differ(last, trainer.state_dict())] if each]
    return told


def exported_buffers(road, module, x, y, other, contents):
    """The same of a file: `weights` gives every name other contents, while the model is read and when its trainer is made."""
    from safetensors_of import write
    told, first = [], {name: tensor.clone() for name, tensor in module.state_dict().items()}
    path = os.path.join(tempfile.mkdtemp(), "other.safetensors")
    write(path, other)
    losses, again = stepped(module, first, x, y, 1)[0], stepped(module, other, x, y, 2)[0]
    budgets = [AMPLE, least_ram(road, module, (x,), y, contents)]
    for ram in budgets:
        with trainer_of(road, module, (x,), y, ram, run.RATE, contents) as trainer:
            check(f"{ram}: first step", losses, [trainer.step(*arrays((x,), y))], told)
        with trainer_of(road, module, (x,), y, ram, run.RATE, contents, path) as trainer:
            check(f"{ram}: with other weights", again, [trainer.step(*arrays((x,), y)) for _ in range(2)], told)
    return told


def buffer_program(seed):
    """(told, [(road, verdict, why)])."""
    module, x = buffers.make(seed)
    y = torch.randn(programs.BATCH, programs.TARGETS, generator=torch.Generator().manual_seed(seed))
    other = buffers.made_again(module, seed)
    found = []
    for road in ("capture", *run.EXPORTERS):
        try:
            contents = None if road == "capture" else exported(module, (x,), road)
        except Exception as error:  # whatever an exporter throws
            found.append((road, "left out: not exported", str(error)[:100]))
            continue
        if road != "capture" and any(name in module.told() for name in buffers.MOVED):
            found.append((road, "left out: the file does not tell", "of buffers that forward moves"))
            continue
        try:
            told = captured_buffers(module, x, y, other) if road == "capture" else exported_buffers(road, module, x, y, other, contents)
            found.append((road, "differs" if told else "equal", "; ".join(told)[:600]))
        except pantoum.Error as error:
            found.append((road, *refusal(error)))
    return module.told(), found
