"""The loss curve of ResNet-18 (small images) on Fashion-MNIST, padded to 32 x 32: the same parameters, batches and steps here and in PyTorch.

usage: curve.py FOLDER STEPS data        writes net.onnx, x_train.npy, y_train.npy, x_test.npy, y_test.npy
       curve.py FOLDER STEPS WAY THREADS trains in PyTorch; prints a line of JSON with the losses. WAY: plain, or reversed or rotated (the samples
                                         within each batch): the same mathematics, rounded otherwise
"""
import gzip
import json
import os
import sys

import numpy

BATCH, SEED, RATE, MOMENTUM = 32, 7, 0.02, 0.9
FASHION = "/usr/share/datasets/fashion-mnist"
MASK = (1 << 32) - 1


def philox(counter, key):
    """Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def order(seed, epoch, count):
    """The order in which an epoch takes its samples (src/data/epoch_batches.cc)."""
    key = seed ^ 0x73687566666C6521
    words = (word for block in range(1 << 62) for word in philox((block & MASK, block >> 32, epoch & MASK, epoch >> 32), (key & MASK, key >> 32)))

    def below(bound):
        product = next(words) * bound
        while product & MASK < bound and product & MASK < -bound % (1 << 32) % bound:
            product = next(words) * bound
        return product >> 32

    indices = list(range(count))
    for left in range(count, 1, -1):
        other = below(left)
        indices[left - 1], indices[other] = indices[other], indices[left - 1]
    return indices


def idx(name):
    with gzip.open(os.path.join(FASHION, name)) as file:
        data = file.read()
    dims = [int.from_bytes(data[4 + 4 * d:8 + 4 * d], "big") for d in range(data[3])]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def make(folder, steps):
    import torch
    import networks
    torch.manual_seed(0)
    networks.export_module(networks.resnet18(channels=1), torch.zeros(BATCH, 1, 32, 32), os.path.join(folder, "net.onnx"))
    for part, stored, count in (("train", "train", BATCH * steps), ("test", "t10k", BATCH)):
        images = numpy.pad(idx(f"{stored}-images-idx3-ubyte.gz")[:count, None] / numpy.float32(255), ((0, 0), (0, 0), (2, 2), (2, 2)))
        numpy.save(os.path.join(folder, f"x_{part}.npy"), (images - numpy.float32(0.286)) / numpy.float32(0.353))
        numpy.save(os.path.join(folder, f"y_{part}.npy"), idx(f"{stored}-labels-idx1-ubyte.gz")[:count].astype(numpy.int64))


def train(folder, steps, way, threads):
    import torch
    import networks
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = networks.resnet18(channels=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    x, y = (torch.from_numpy(numpy.load(os.path.join(folder, f"{name}_train.npy"))) for name in "xy")
    taken, losses = torch.tensor(order(SEED, 0, len(y))), []
    for batch in taken.split(BATCH)[:steps]:
        batch = {"plain": batch, "reversed": batch.flip(0), "rotated": batch.roll(len(batch) // 3)}[way]
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses))


if __name__ == "__main__":
    if sys.argv[3] == "data":
        make(sys.argv[1], int(sys.argv[2]))
    else:
        train(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
