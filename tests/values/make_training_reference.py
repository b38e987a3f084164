#!/usr/bin/env python3
"""Writes training.json: what PyTorch makes of small numbers, for training_values_test.cc.

    python3 make_training_reference.py      needs torch

Losses with their gradients (float64), optimizers over five steps, learning rates of schedules, clipped gradients, one update of accumulated
gradients.
"""
import json
import math
import os

import torch
import torch.nn.functional as F
from torch import optim
from torch.optim import lr_scheduler as schedulers

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


def rounded(shape, scale=2.0):
    """Numbers that float32 holds exactly."""
    return (torch.rand(shape) * scale - scale / 2).float().double()


def flat(tensor):
    return tensor.detach().double().reshape(-1).tolist()


def loss_case(name, words, shape, target, compute):
    x = rounded(shape, 6).requires_grad_()
    loss = compute(x, target)
    loss.backward()
    kind = "classes" if target.dtype == torch.int64 else "numbers"
    return {"name": name, "loss": words, "shape": list(shape), "x": flat(x), "target": target.reshape(-1).tolist(), "targets": kind,
            "value": loss.item(), "gradient": flat(x.grad)}


def losses():
    labels = torch.tensor([0, 2, 1, -100, 3, 2])
    image = torch.tensor([[[0, 2], [255, 1]], [[2, 2], [0, 255]]])
    soft = F.softmax(rounded((4, 5), 4), 1).float().double()
    numbers, binary = rounded((4, 3), 6), (rounded((4, 3)) > 0).double()
    chances = torch.rand(4, 3).float().double()
    chances[1, 1] = 0
    return [
        loss_case("cross-entropy", "cross_entropy", (6, 4), labels, F.cross_entropy),
        loss_case("cross-entropy, smoothed", "cross_entropy,smoothing=0.1", (6, 4), labels,
                  lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1)),
        loss_case("cross-entropy of pixels without the border", "cross_entropy,ignore_index=255,smoothing=0.2", (2, 3, 2, 2), image,
                  lambda x, t: F.cross_entropy(x, t, ignore_index=255, label_smoothing=0.2)),
        loss_case("cross-entropy without a class", "cross_entropy,ignore_index=2", (6, 4), labels.clamp(min=0),
                  lambda x, t: F.cross_entropy(x, t, ignore_index=2)),
        loss_case("cross-entropy, classes last", "cross_entropy,classes_last,ignore_index=1", (2, 3, 4), torch.tensor([[0, 3, 1], [2, 2, 1]]),
                  lambda x, t: F.cross_entropy(x.reshape(6, 4), t.reshape(6), ignore_index=1)),
        loss_case("cross-entropy of probabilities", "soft_cross_entropy", (4, 5), soft, F.cross_entropy),
        loss_case("cross-entropy of probabilities, smoothed", "soft_cross_entropy,smoothing=0.3", (4, 5), soft,
                  lambda x, t: F.cross_entropy(x, t, label_smoothing=0.3)),
        loss_case("negative log-likelihood", "nll", (6, 4), labels, F.nll_loss),
        loss_case("negative log-likelihood of pixels", "nll,ignore_index=255", (2, 3, 2, 2), image, lambda x, t: F.nll_loss(x, t, ignore_index=255)),
        loss_case("squared error", "mse", (4, 3), numbers, F.mse_loss),
        loss_case("absolute error", "l1", (4, 3), numbers, F.l1_loss),
        loss_case("smooth absolute error", "smooth_l1", (4, 3), numbers, F.smooth_l1_loss),
        loss_case("smooth absolute error, wide", "smooth_l1,beta=2.5", (4, 3), numbers, lambda x, t: F.smooth_l1_loss(x, t, beta=2.5)),
        loss_case("binary cross-entropy", "bce_with_logits", (4, 3), binary, F.binary_cross_entropy_with_logits),
        loss_case("binary cross-entropy of chances", "bce_with_logits", (4, 3), chances, F.binary_cross_entropy_with_logits),
        loss_case("divergence", "kl_div", (4, 3), chances, F.kl_div),
        loss_case("divergence by sample", "kl_div,mean_of_batch", (4, 3), chances, lambda x, t: F.kl_div(x, t, reduction="batchmean")),
    ]


def optimizer_case(words, make, steps=5, count=6):
    w = rounded((count,)).requires_grad_()
    case = {"options": words, "w": flat(w), "gradients": [], "after": []}
    optimizer = make([w])
    for _ in range(steps):
        w.grad = rounded((count,))
        case["gradients"].append(flat(w.grad))
        optimizer.step()
        case["after"].append(flat(w))
    case["lr"] = optimizer.param_groups[0]["lr"]
    return case


def optimizers():
    return [
        optimizer_case({"optimizer": "sgd"}, lambda p: optim.SGD(p, lr=0.1)),
        optimizer_case({"optimizer": "sgd", "momentum": 0.9, "weight-decay": 0.01}, lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)),
        optimizer_case({"optimizer": "sgd", "momentum": 0.8, "nesterov": True}, lambda p: optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True)),
        optimizer_case({"optimizer": "adam", "weight-decay": 0.1}, lambda p: optim.Adam(p, lr=0.05, weight_decay=0.1)),
        optimizer_case({"optimizer": "adam", "beta1": 0.7, "beta2": 0.9, "eps": 1e-3},
                       lambda p: optim.Adam(p, lr=0.05, betas=(0.7, 0.9), eps=1e-3)),
        optimizer_case({"optimizer": "adamw"}, lambda p: optim.AdamW(p, lr=0.05)),
        optimizer_case({"optimizer": "adamw", "weight-decay": 0.3}, lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.3)),
        optimizer_case({"optimizer": "rmsprop"}, lambda p: optim.RMSprop(p, lr=0.02)),
        optimizer_case({"optimizer": "rmsprop", "alpha": 0.9, "momentum": 0.8, "weight-decay": 0.01, "eps": 1e-4},
                       lambda p: optim.RMSprop(p, lr=0.02, alpha=0.9, momentum=0.8, weight_decay=0.01, eps=1e-4)),
        optimizer_case({"optimizer": "rmsprop", "centered": True}, lambda p: optim.RMSprop(p, lr=0.02, centered=True)),
        optimizer_case({"optimizer": "rmsprop", "centered": True, "momentum": 0.5, "alpha": 0.8},
                       lambda p: optim.RMSprop(p, lr=0.02, centered=True, momentum=0.5, alpha=0.8)),
        optimizer_case({"optimizer": "adagrad"}, lambda p: optim.Adagrad(p, lr=0.1)),
        optimizer_case({"optimizer": "adagrad", "lr-decay": 0.2, "weight-decay": 0.05, "eps": 1e-3},
                       lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.2, weight_decay=0.05, eps=1e-3)),
    ]


def rates(words, make, total=40, lr=0.4):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD([parameter], lr=lr)
    schedule = make(optimizer)
    found = []
    for _ in range(total):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return {"schedule": words, "lr": lr, "rates": found}


def warmed(optimizer, warmup, after):
    first = schedulers.LinearLR(optimizer, start_factor=1 / warmup, end_factor=1.0, total_iters=warmup - 1)
    return schedulers.SequentialLR(optimizer, [first, after], milestones=[warmup])


def schedule_cases():
    return [
        rates("step,every=7,gamma=0.5", lambda o: schedulers.StepLR(o, 7, gamma=0.5)),
        rates("multi_step,at=10:25:26,gamma=0.3", lambda o: schedulers.MultiStepLR(o, [10, 25, 26], gamma=0.3)),
        rates("multi_step,at=25%:50%", lambda o: schedulers.MultiStepLR(o, [10, 20])),
        rates("exponential,gamma=0.93", lambda o: schedulers.ExponentialLR(o, 0.93)),
        rates("cosine,to=0.01", lambda o: schedulers.CosineAnnealingLR(o, 40, eta_min=0.01)),
        rates("linear,to=0.1", lambda o: schedulers.LinearLR(o, 1.0, 0.25, total_iters=40)),
        rates("cosine,warmup=8", lambda o: warmed(o, 8, schedulers.CosineAnnealingLR(o, 32))),
        rates("step,every=5,gamma=0.5,warmup=10%", lambda o: warmed(o, 4, schedulers.StepLR(o, 5, gamma=0.5))),
    ]


def clipped(how, limit, scale):
    gradients = [rounded((count,), scale) for count in (5, 1, 12)]
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient.clone()
    if how == "value":
        torch.nn.utils.clip_grad_value_(parameters, limit)
    else:
        torch.nn.utils.clip_grad_norm_(parameters, limit)
    return {"how": how, "limit": limit, "gradients": [flat(g) for g in gradients], "clipped": [flat(p.grad) for p in parameters]}


def later_optimizers():
    return [
        optimizer_case({"optimizer": "adam", "amsgrad": True, "beta2": 0.5}, lambda p: optim.Adam(p, lr=0.05, amsgrad=True, betas=(0.9, 0.5))),
        optimizer_case({"optimizer": "adamw", "amsgrad": True, "beta2": 0.5}, lambda p: optim.AdamW(p, lr=0.05, amsgrad=True, betas=(0.9, 0.5))),
        optimizer_case({"optimizer": "adagrad", "initial-accumulator-value": 0.3}, lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.3)),
    ]


def later_losses():
    labels, image = torch.tensor([0, 2, 1, -100, 3, 2]), torch.tensor([[[0, 2], [255, 1]], [[2, 2], [0, 255]]])
    weights, soft = torch.tensor([0.5, 2.0, 0.0, 1.25]), F.softmax(rounded((2, 4, 3), 4), 1).float().double()
    words, three = "class_weights=0.5:2:0:1.25", torch.tensor([3.0, 0.25, 1.0])
    rows = torch.tensor([[0, 3, 1], [2, 2, 1]])  # [N,T]
    return [
        loss_case("cross-entropy, weighted", f"cross_entropy,{words}", (6, 4), labels, lambda x, t: F.cross_entropy(x, t, weights)),
        loss_case("cross-entropy, weighted, smoothed", f"cross_entropy,{words},smoothing=0.2", (6, 4), labels,
                  lambda x, t: F.cross_entropy(x, t, weights, label_smoothing=0.2)),
        loss_case("cross-entropy of pixels, weighted", "cross_entropy,class_weights=3:.25:1,ignore_index=255,smoothing=0.1", (2, 3, 2, 2), image,
                  lambda x, t: F.cross_entropy(x, t, three, ignore_index=255, label_smoothing=0.1)),
        loss_case("cross-entropy, classes last, weighted", f"cross_entropy,classes_last,{words}", (2, 3, 4), rows,
                  lambda x, t: F.cross_entropy(x.reshape(6, 4), t.reshape(6), weights)),
        loss_case("cross-entropy of probabilities, weighted", f"soft_cross_entropy,{words}", (2, 4, 3), soft, lambda x, t: F.cross_entropy(x, t, weights)),
        loss_case("cross-entropy of probabilities, weighted, smoothed", f"soft_cross_entropy,{words},smoothing=0.3", (2, 4, 3), soft,
                  lambda x, t: F.cross_entropy(x, t, weights, label_smoothing=0.3)),
        loss_case("negative log-likelihood, weighted", f"nll,{words}", (6, 4), labels, lambda x, t: F.nll_loss(x, t, weights)),
        loss_case("cross-entropy, time first", "cross_entropy,classes_last,batch_axis=1", (3, 2, 4), rows, lambda x, t: F.cross_entropy(x.permute(1, 2, 0), t)),
        loss_case("cross-entropy, time first, weighted", f"cross_entropy,classes_last,batch_axis=1,{words}", (3, 2, 4), rows,
                  lambda x, t: F.cross_entropy(x.permute(1, 2, 0), t, weights)),
        loss_case("cross-entropy, the batch last", "cross_entropy,batch_axis=2", (4, 3, 2), rows, lambda x, t: F.cross_entropy(x.permute(2, 0, 1), t)),
        loss_case("squared error, time first", "mse,batch_axis=1", (3, 2, 4), rounded((2, 3, 4)), lambda x, t: F.mse_loss(x.transpose(0, 1), t)),
    ]


def main():
    cases = {"losses": losses(), "optimizers": optimizers(), "schedules": schedule_cases(),
             "clipping": [clipped("value", 0.5, 2), clipped("norm", 1, 4), clipped("norm", 100, 4)]}
    cases["optimizers"] += later_optimizers()  # drawn last: the others stay as they are
    cases["losses"] += later_losses()
    with open(os.path.join(HERE, "training.json"), "w") as file:
        file.write("{\n" + ",\n".join(f' "{name}": [\n  ' + ",\n  ".join(json.dumps(case) for case in group) + "\n ]" for name, group in cases.items()) + "\n}\n")


if __name__ == "__main__":
    main()
