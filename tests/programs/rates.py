"""Optimizers with groups of parameters, and what changes their rates and decays between steps, drawn by a seed; the module is programs.make's.

By capture PyTorch's own optimizer and scheduler are given, and act as they do on a module. By a file the groups are named, and set before every step to
what PyTorch's scheduler gave in float64; by the command line groups are constant, and `--schedule` is one that PyTorch has too.
"""
import copy
import dataclasses
import math
import os
import random
import subprocess
import tempfile
import warnings

import numpy as np
import torch
from torch.optim import lr_scheduler as by

import inside
import pantoum
import programs
import run

STEPS = 6
KINDS = {"sgd": (torch.optim.SGD, pantoum.Sgd, 1.0), "adam": (torch.optim.Adam, pantoum.Adam, 0.2), "adamw": (torch.optim.AdamW, pantoum.AdamW, 0.2),
         "rmsprop": (torch.optim.RMSprop, pantoum.RmsProp, 0.1), "adagrad": (torch.optim.Adagrad, pantoum.Adagrad, 0.5)}
SCHEDULERS = {
    "none": lambda o: None, "step": lambda o: by.StepLR(o, 2, 0.5), "multi-step": lambda o: by.MultiStepLR(o, [1, 4], 0.3), "constant": lambda o: by.ConstantLR(o, 0.5, 3),
    "linear": lambda o: by.LinearLR(o, 0.2, 1.0, 4), "exponential": lambda o: by.ExponentialLR(o, 0.8), "cosine": lambda o: by.CosineAnnealingLR(o, 5, 1e-3),
    "warm restarts": lambda o: by.CosineAnnealingWarmRestarts(o, 2, 2), "polynomial": lambda o: by.PolynomialLR(o, 5, 2.0), "multiplied": lambda o: by.MultiplicativeLR(o, lambda step: 0.7),
    "lambdas": lambda o: by.LambdaLR(o, [(lambda step, k=k: 1 / (1 + k * step)) for k in range(len(o.param_groups))]), "plateau": lambda o: by.ReduceLROnPlateau(o, factor=0.4, patience=0, threshold=0.3),
    "cyclic": lambda o: by.CyclicLR(o, 0.01, 0.06, 2, cycle_momentum=False), "one cycle": lambda o: by.OneCycleLR(o, [0.02 + 0.02 * k for k in range(len(o.param_groups))], total_steps=STEPS + 1, cycle_momentum=False),
    "warm-up, then cosine": lambda o: by.SequentialLR(o, [by.LinearLR(o, 0.25, 1.0, 2), by.CosineAnnealingLR(o, 4)], [2]), "two in a chain": lambda o: by.ChainedScheduler([by.ConstantLR(o, 0.5, 2), by.ExponentialLR(o, 0.9)]),
    "by hand": lambda o: ByHand(o), "averaged": lambda o: torch.optim.swa_utils.SWALR(o, 0.01, 3, "linear"),
}
# `--schedule`, and the same as factors of the rate after s of t steps.
LINES = {
    "constant": lambda s, t: 1.0, "step,every=2,gamma=0.5": lambda s, t: 0.5 ** (s // 2), "multi_step,at=1:3,gamma=0.3": lambda s, t: 0.3 ** ((s >= 1) + (s >= 3)),
    "exponential,gamma=0.8": lambda s, t: 0.8 ** s, "cosine": lambda s, t: (1 + math.cos(math.pi * s / t)) / 2, "linear": lambda s, t: 1 - s / t,
    "constant,warmup=3": lambda s, t: min((s + 1) / 3, 1.0), "cosine,warmup=2": lambda s, t: (s + 1) / 2 if s < 2 else (1 + math.cos(math.pi * (s - 2) / (t - 2))) / 2,
}


class ByHand:
    """A program that sets its groups itself."""

    def __init__(self, optimizer):
        self.optimizer, self.done = optimizer, 0

    def step(self):
        self.done += 1
        groups = self.optimizer.param_groups
        if self.done == 2:
            groups[0]["lr"] *= 0.5
        if self.done == 3:
            groups[-1]["weight_decay"] = 0.1
        if self.done == 4:
            groups[-1]["lr"], groups[0]["weight_decay"] = 0.0, 0.0

    def state_dict(self):
        return {"done": self.done}

    def load_state_dict(self, state):
        self.done = state["done"]


@dataclasses.dataclass
class Setting:
    kind: str
    options: dict
    groups: list  # (names, lr, weight decay)
    scheduler: str
    clip_norm: float | None
    line: str

    def told(self):
        return f"{self.kind} {self.options} in {len(self.groups)} groups, {self.scheduler}{f', norm {self.clip_norm}' if self.clip_norm else ''}"

    def optimizer(self, module):
        named = dict(module.named_parameters())
        return KINDS[self.kind][0]([{"params": [named[name] for name in names], "lr": lr, "weight_decay": decay} for names, lr, decay in self.groups], **self.options)

    def own(self):
        options = dict(self.options)
        if "betas" in options:
            options["beta1"], options["beta2"] = options.pop("betas")
        return KINDS[self.kind][1](lr=self.groups[0][1], weight_decay=self.groups[0][2], **options)

    def named(self, trained):
        """The groups as the file's names have them: (index in groups, names)."""
        found = [(at, [name for name in names if name in trained]) for at, (names, _, _) in enumerate(self.groups)]
        return [(at, names) for at, names in found if names]


def drawn(draw, module):
    names = [name for name, _ in module.named_parameters()]
    draw.shuffle(names)
    if len(names) > 2 and draw.random() < 0.25:
        names.pop()  # what no group holds does not train
    count = min(draw.choice([1, 2, 2, 3, 3]), len(names))
    cuts = [0, *sorted(draw.sample(range(1, len(names)), count - 1)), len(names)]
    kind = draw.choice(sorted(KINDS))
    options = {
        "sgd": lambda: draw.choice([{}, {"momentum": 0.9}, {"momentum": 0.8, "nesterov": True}]), "adam": lambda: {"betas": draw.choice([(0.9, 0.999), (0.8, 0.99), (0.0, 0.9)]), "amsgrad": draw.random() < 0.4, "eps": 1e-4},
        "adamw": lambda: {"betas": draw.choice([(0.9, 0.999), (0.5, 0.95)]), "amsgrad": draw.random() < 0.4, "eps": 1e-4}, "rmsprop": lambda: {"alpha": draw.choice([0.99, 0.9]), "momentum": draw.choice([0.0, 0.5]), "centered": draw.random() < 0.3, "eps": 1e-3},
        "adagrad": lambda: {"lr_decay": draw.choice([0.0, 0.1]), "initial_accumulator_value": draw.choice([0.0, 0.1]), "eps": 1e-4},
    }[kind]()
    groups = [(names[a:b], draw.choice([0.02, 0.05, 0.1]) * KINDS[kind][2], draw.choice([0.0, 0.0, 0.01, 0.1])) for a, b in zip(cuts, cuts[1:])]
    return Setting(kind, options, groups, draw.choice(sorted(SCHEDULERS)), draw.choice([None, None, 0.5]), draw.choice(sorted(LINES)))


def advance(scheduler, loss):
    if isinstance(scheduler, by.ReduceLROnPlateau):
        scheduler.step(loss)
    elif scheduler is not None:
        scheduler.step()


def eager(module, x, y, setting, dtype, scheduled, steps=STEPS):
    """(losses, [(lr, weight decay) of every group] before every step)."""
    module = copy.deepcopy(module).to(dtype)
    x = x.to(dtype) if x.is_floating_point() else x
    optimizer = setting.optimizer(module)
    scheduler = scheduled(optimizer)
    losses, rates = [], []
    for _ in range(steps):
        rates.append([(float(group["lr"]), float(group["weight_decay"])) for group in optimizer.param_groups])
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x), y.to(dtype))
        loss.backward()
        if setting.clip_norm:
            torch.nn.utils.clip_grad_norm_([each for group in optimizer.param_groups for each in group["params"]], setting.clip_norm)
        optimizer.step()
        losses.append(loss.item())
        advance(scheduler, losses[-1])
    return losses, rates


def by_capture(module, x, y, setting, losses):
    clip = {"clip_norm": setting.clip_norm} if setting.clip_norm else {}

    def make(ram):
        own = copy.deepcopy(module)
        optimizer = setting.optimizer(own)
        trainer = inside.compiled(own, (x,), y, optimizer, ram, **clip)
        trainer.kept = own, optimizer, SCHEDULERS[setting.scheduler](optimizer)
        return trainer

    def go(trainer, count):
        found = []
        for _ in range(count):
            found.append(trainer.step(x, y))
            advance(trainer.kept[2], found[-1])
        return found
    told, runs, path = [], [], os.path.join(tempfile.mkdtemp(), "point")
    budgets = inside.AMPLE, inside.least(make)
    for ram in budgets:
        with make(ram) as trainer:
            found = go(trainer, STEPS // 2)
            if not runs:
                trainer.save(path)
                kept = [copy.deepcopy(each.state_dict()) if each is not None else None for each in trainer.kept[1:]]
            found += go(trainer, STEPS - STEPS // 2)
            runs.append((found, trainer.state_dict()))
            inside.check(str(ram), losses, found, told)
    told += [f"depends on the budget: {each}" for each in inside.same_bits(*runs)]
    with make(budgets[1]) as trainer:
        for each, state in zip(trainer.kept[1:], kept):
            if each is not None:
                each.load_state_dict(state)
        trainer.resume(path)
        resumed = [*runs[0][0][:STEPS // 2], *go(trainer, STEPS - STEPS // 2)], trainer.state_dict()
        told += [f"resumed: {each}" for each in inside.same_bits(runs[0], resumed)]
    return told


def by_file(road, module, x, y, setting, losses, rates, contents):
    words = run.kept_statistics(torch, module)[1::2]
    plain = inside.loaded(road, module, contents, freeze_stats=words)
    trained = {weight.name for weight in plain.inspect().weights if weight.trains}
    if trained - dict(module.named_parameters()).keys():
        return None, [], []  # which group is it of?
    named = setting.named(trained)
    held = {name for _, names in named for name in names}
    fixed = sorted((trained - held) & dict(module.named_parameters()).keys())
    groups = [pantoum.Group("|".join(names), setting.groups[at][1], setting.groups[at][2]) for at, names in named]
    clip = {"clip_norm": setting.clip_norm} if setting.clip_norm else {}
    model = inside.loaded(road, module, contents, optimizer=setting.own(), groups=groups, freeze=fixed, freeze_stats=words, **clip)
    batch = inside.arrays((x,), y)

    def make(ram):
        return pantoum.Trainer(pantoum.plan(model, ram, **inside.PLANNED))

    def go(trainer, steps):
        found = []
        for step in steps:
            for number, (at, _) in enumerate(named):
                trainer.set_group(number, lr=rates[step][at][0], weight_decay=rates[step][at][1])
            found.append(trainer.step(*batch))
        return found
    told, runs, path = [], [], os.path.join(tempfile.mkdtemp(), "point")
    budgets = inside.AMPLE, inside.least(make)
    for ram in budgets:
        with make(ram) as trainer:
            found = go(trainer, range(STEPS // 2))
            if not runs:
                trainer.save(path)
            found += go(trainer, range(STEPS // 2, STEPS))
            runs.append((found, trainer.state_dict()))
            inside.check(str(ram), losses, found, told)
    told += [f"depends on the budget: {each}" for each in inside.same_bits(*runs)]
    with make(budgets[1]) as trainer:
        trainer.resume(path)
        resumed = [*runs[0][0][:STEPS // 2], *go(trainer, range(STEPS // 2, STEPS))], trainer.state_dict()
        told += [f"resumed: {each}" for each in inside.same_bits(runs[0], resumed)]
    return told, fixed, named


def by_line(program, module, x, y, setting, losses, contents, fixed, named):
    """`pantoum train` with groups and a schedule."""
    folder = tempfile.mkdtemp()
    net = os.path.join(folder, "net.onnx")
    with open(net, "wb") as file:
        file.write(contents)
    os.makedirs(os.path.join(folder, "data"))
    for name, array in (("x", x), ("y", y)):
        for part in ("train", "test"):
            np.save(os.path.join(folder, "data", f"{name}_{part}.npy"), array.numpy())
    own = vars(setting.own())
    settings = ",".join([setting.kind, *(name if value is True else f"{name}={value!r}" for name, value in own.items() if name not in ("lr", "weight_decay") and value is not False)])
    words = ["train", net, "--data", os.path.join(folder, "data"), "--epochs", STEPS, "--loss", "mse", "--optimizer", settings, "--lr", own["lr"], "--threads", 1, "--kernels", "portable", "--ram", inside.AMPLE, "--effort", 1,
             "--measure", "off", "--log-every", 1, "--log", os.path.join(folder, "log.jsonl"), "-o", os.path.join(folder, "w.safetensors"), "--schedule", setting.line, *(["--clip-norm", setting.clip_norm] if setting.clip_norm else []),
             *(word for at, names in named for word in ("--group", f"{'|'.join(names)},lr={setting.groups[at][1]!r},weight_decay={setting.groups[at][2]!r}")), *(word for name in fixed for word in ("--freeze", name)), *run.kept_statistics(torch, module)]
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr.strip()[:300]}"]
    told = []
    inside.check(f"--schedule {setting.line}", losses, run.losses_of_log(os.path.join(folder, "log.jsonl")), told)
    return told


def program(seed, binary):
    """(told, [(road, verdict, why)])."""
    module, x = programs.make(seed)
    y = torch.randn(programs.BATCH, programs.TARGETS, generator=torch.Generator().manual_seed(seed))
    setting = drawn(random.Random(seed), module)
    scheduled = SCHEDULERS[setting.scheduler]
    of_line = lambda optimizer: by.LambdaLR(optimizer, lambda s: LINES[setting.line](s, STEPS))  # noqa: E731
    told = f"{setting.told()}: {module.told()}"
    warnings.simplefilter("ignore")
    try:
        (exact, rates), (rounded, _), (line, _), (other, _) = (eager(module, x, y, setting, dtype, each) for each in (scheduled, of_line) for dtype in (torch.float64, torch.float32))
    except RuntimeError as error:
        return told, [("", "left out: PyTorch does not train it", str(error)[:100])]
    if max(run.far(exact, rounded), run.far(line, other)) > run.BOUND:
        return told, [("", "left out: float32 is too far away", "")]
    found = []
    for road in ("capture", *run.EXPORTERS):
        try:
            contents = None if road == "capture" else inside.exported(module, (x,), road)
        except Exception as error:  # whatever an exporter throws
            found.append((road, "left out: not exported", str(error)[:100]))
            continue
        try:
            if road == "capture":
                found.append((road, *inside.verdict_of(by_capture(module, x, y, setting, exact))))
                continue
            differs, fixed, named = by_file(road, module, x, y, setting, exact, rates, contents)
            found.append((road, *inside.verdict_of(differs)))
            if road == "export" and differs is not None:
                found.append(("command line", *inside.verdict_of(by_line(binary, module, x, y, setting, line, contents, fixed, named))))
        except pantoum.Error as error:
            found.append((road, *inside.refusal(error)))
    return told, found
