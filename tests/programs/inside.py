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
# clamp's, its ReduceMax that of amax and of max, its Clip clamp's and hardtanh's; its cosine similarity is a square root at zero, its cdist has no absolute
# values. scatter_reduce without the first values counts them among the ties where they are equal by chance. What the file cannot tell is not asked of it.
UNTOLD = {
    "script": ("detach", "straight through", "padded", "by frequency", "clamp by", "max along", "min along", "stacked max", "maxout", "hardtanh", "relu6", "hardsigmoid by", "hardswish by", "kl", "poisson", "minimum of", "module hardtanh",
               "adaptive max pool 1", "hinge embedding", "soft margin", "without gradient", "code book", "cosine of rows", "cdist 1", "scatter amax without"),
    "export": ("without gradient", "adaptive max pool 1", "scatter amax without"), "default": ("without gradient", "adaptive max pool 1", "scatter amax without"),
}
# PyTorch does not say which of equal elements it takes.
UNDEFINED = ("kthvalue", "mode")


def exported(module, inputs, road):
    path = os.path.join(tempfile.mkdtemp(), "net.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.export(torch, module, inputs, road, path)
    with open(path, "rb") as file:
        return file.read()


def compiled(module, inputs, y, optimizer, ram, **options):
    """A trainer by capture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pantoum.compile(module, inputs, target=y, loss="mse", optimizer=optimizer, ram=ram, plan_options=PLANNED, **options)


def loaded(road, module, contents, **options):
    """A model of an exporter's file. Those of the older one do not tell buffers from parameters: they are fixed by name."""
    if road == "script":
        fixed = {name for name, _ in module.named_buffers()}
        trained = {tensor.name for tensor in pantoum.Model.from_bytes(contents).inspect().weights if tensor.trains}
        options["freeze"] = sorted({*options.get("freeze", ()), *(fixed & trained)})
    return pantoum.Model.from_bytes(contents, loss="mse", **options)


def trainer_of(road, module, inputs, y, ram, rate, contents=None, replaced=None, **options):
    """A trainer by that road, with plain SGD and the mean of squares; `replaced`: a file of other weights that the trainer begins with."""
    if road == "capture":
        module = copy.deepcopy(module)
        return compiled(module, inputs, y, torch.optim.SGD(module.parameters(), lr=rate), ram)
    model = loaded(road, module, contents, optimizer=pantoum.Sgd(lr=rate), **options)
    return pantoum.Trainer(pantoum.plan(model, ram, **PLANNED), **({"weights": replaced} if replaced else {}))


def least(make):
    """The smallest RAM that a plan is known for; make(ram) makes a trainer."""
    try:
        make("1KiB").close()
    except (pantoum.Infeasible, pantoum.LimitReached) as error:
        return error.min_ram
    return "1KiB"


def same_bits(a, b):
    """What of two runs in different budgets has other bits: (losses, state)."""
    told = [] if a[0] == b[0] else [f"losses {a[0]} and {b[0]}"]
    told += [] if a[1].keys() == b[1].keys() else [f"names {sorted(set(a[1]) ^ set(b[1]))}"]
    return told + [name for name in a[1] if name in b[1] and a[1][name].tobytes() != b[1][name].tobytes()]


def arrays(inputs, y):
    return [each.numpy() for each in (*inputs, y)]


def refusal(error):
    """The verdict of an error: a refusal has a place."""
    told = str(error)
    named = "/" in told or "'" in told or "-->" in told
    return ("refused" if named else "refused without a place") if error.exit_code in (3, 4) else f"fault: {error.code}", " | ".join(told.splitlines())[:300]


# Kinks ----------------------------------------------------------------------------------------------------------------


def gradients(module, inputs, y):
    module = kinks.reference(module)
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

    def make(ram):
        return trainer_of(road, module, inputs, y, ram, 1.0, contents)

    def stepped(ram):
        with make(ram) as trainer:
            return [trainer.step(*arrays(inputs, y))], trainer.state_dict()
    try:
        [found], state = ample = stepped(AMPLE)
        other = same_bits(ample, stepped(least(make)))
    except pantoum.Error as error:
        return refusal(error)
    if other:
        return "depends on the budget", "; ".join(other)
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


def check(what, wanted, found, told):
    if run.far(wanted, found) > 10 * run.BOUND:
        told.append(f"{what}: {found} for {wanted}")


def captured_buffers(module, x, y, other):
    """What differs after a replacement, in two budgets, and where one resumes the other."""
    def make(ram):
        return trainer_of("capture", module, (x,), y, ram, run.RATE)
    told, first = [], {name: tensor.clone() for name, tensor in module.state_dict().items()}
    budgets = [AMPLE, least(make)]
    losses, after = stepped(module, first, x, y, 1)
    again, last = stepped(module, other, x, y, 3)
    folder, found = tempfile.mkdtemp(), []
    for number, ram in enumerate(budgets):
        with make(ram) as trainer:
            if set(trainer.state_dict()) != set(first):
                told.append(f"{ram}: its state has {sorted(set(trainer.state_dict()) ^ set(first))}")
            begun = trainer.step(x, y)
            check(f"{ram}: first step", losses, [begun], told)
            told += [f"{ram}: {each}" for each in [states_differ(after, trainer.state_dict())] if each]
            trainer.load_state_dict({name: tensor.numpy() for name, tensor in other.items()})
            steps = [trainer.step(x, y) for _ in range(2)]
            trainer.save(os.path.join(folder, f"{number}.safetensors"))
            steps.append(trainer.step(x, y))
            check(f"{ram}: replaced", again, steps, told)
            fresh = copy.deepcopy(module)
            trainer.copy_to(fresh)
            told += [f"{ram}, copied: {each}" for each in [states_differ(last, {name: tensor.numpy() for name, tensor in fresh.state_dict().items()})] if each]
            found.append(([begun, *steps], trainer.state_dict()))
            fresh.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found[-1][1].items()}, strict=True)
    told += [f"depends on the budget: {each}" for each in same_bits(*found)]
    for number, ram in enumerate(reversed(budgets)):
        with make(ram) as trainer:
            trainer.resume(os.path.join(folder, f"{number}.safetensors"))
            resumed = [*found[number][0][:-1], trainer.step(x, y)], trainer.state_dict()
            told += [f"{ram}, resumed: {each}" for each in same_bits(found[number], resumed)]
    return told


def exported_buffers(road, module, x, y, other, contents):
    """The same of a file: by `weights` of the model, by those of the trainer, by load_state_dict and by a checkpoint of another budget. A file's program may
    have constants that are computed from buffers, whole numbers for one: these are no state, and weights with others of them are refused."""
    from safetensors_of import write

    def make(ram, **options):
        return trainer_of(road, module, (x,), y, ram, run.RATE, contents, **options)
    told, first, folder, batch = [], {name: tensor.clone() for name, tensor in module.state_dict().items()}, tempfile.mkdtemp(), arrays((x,), y)
    losses = stepped(module, first, x, y, 1)[0]
    with make(AMPLE) as trainer:
        check("first step", losses, [trainer.step(*batch)], told)
        names = set(trainer.state_dict())
    if names - set(first):
        return told or None  # the exporter computed from buffers itself
    path, strange = os.path.join(folder, "other.safetensors"), os.path.join(folder, "strange.safetensors")
    write(strange, other)
    in_file = {weight.name for weight in loaded(road, module, contents).inspect().weights}
    fixed = any(name in in_file - names and not torch.equal(tensor, first[name]) for name, tensor in other.items())
    other = {name: tensor if name in names else first[name] for name, tensor in other.items()}
    write(path, {name: other[name] for name in names})
    again = stepped(module, other, x, y, 3)[0]
    budgets, found = [AMPLE, least(make)], []
    for number, ram in enumerate(budgets):
        for words, options in (("the model's weights", {"weights": path}), ("the trainer's weights", {"replaced": path})):
            with make(ram, **options) as trainer:
                check(f"{ram}: {words}", again[:2], [trainer.step(*batch) for _ in range(2)], told)
        for words in ("weights", "replaced") if fixed else ():
            with contextlib.suppress(pantoum.InvalidInput), make(ram, **{words: strange}):
                told.append(f"{ram}, {words}: others of what the program was made with are not refused")
        with make(ram) as trainer:
            steps = [trainer.step(*batch)]
            trainer.load_state_dict({name: other[name].numpy() for name in names})
            steps += [trainer.step(*batch) for _ in range(2)]
            trainer.save(os.path.join(folder, f"{number}.safetensors"))
            steps.append(trainer.step(*batch))
            check(f"{ram}: replaced", [*losses, *again], steps, told)
            found.append((steps, trainer.state_dict()))
    told += [f"depends on the budget: {each}" for each in same_bits(*found)]
    for number, ram in enumerate(reversed(budgets)):
        with make(ram) as trainer:
            trainer.resume(os.path.join(folder, f"{number}.safetensors"))
            resumed = [*found[number][0][:-1], trainer.step(*batch)], trainer.state_dict()
            told += [f"{ram}, resumed: {each}" for each in same_bits(found[number], resumed)]
    return told


def verdict_of(told):
    """Of the differences."""
    if told is None:
        return "left out: the file has other names", ""
    return ("equal" if not told else "depends on the budget" if all(each.startswith("depends") for each in told) else "differs"), "; ".join(told)[:600]


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
            found.append((road, *verdict_of(told)))
        except pantoum.Error as error:
            found.append((road, *refusal(error)))
    return module.told(), found
