"""Ten steps of networks on processors and an OpenCL device, against the processors alone with the portable kernels.

A row is one network of tests/networks. Its kernels are measured on a processor. Then planning is told that the processor takes a thousand times as long, and the device as
long as was measured, so that the plan has on the device most of what has a kernel there. The figure is the largest difference of a step's loss, as a share of it. It holds up to 1e-4, with bits equal: where the
device gives the portable ones, losses and trained weights; and if the device computes some ops. No times are compared. Standard library only.
"""
import csv
import json
import os
import subprocess

from planner_measured import Network, answer_of

NETWORKS = ("autoencoder", "bidirectional", "c3d", "conformer", "convlstm", "convnext", "crnn", "dcgan", "deepfm", "espcn", "fasttext", "gpt2", "gru_tagger", "highway", "kan", "lenet5", "llama",
            "mixer", "mobilenetv3", "normalized", "pointnet", "siren", "squeezenet", "tcn", "unet3d", "vit", "wavenet")
STEPS, SLOWER, MOST = 10, 1000, 1e-4
ENGINES = ("--engines", "cpu0,opencl0")


def device(pantoum):
    """What doctor says of the devices, and whether one gives the portable bits; None: there is none."""
    for line in subprocess.run([pantoum, "doctor"], capture_output=True, text=True).stdout.splitlines():
        if line.startswith("OpenCL devices") and line.split()[2] == "yes":
            return line.split(None, 3)[3], "the portable bits" in line
    return None


def rows_of(args, store):
    table = store.replace(".db", ".csv")
    subprocess.run([args.pantoum, "profile", "--profile-store", store, "--export", table], check=True, capture_output=True)
    with open(table) as file:
        return list(csv.DictReader(file))


def measured(args, network, words, more):
    """The store's rows after planning with an empty one."""
    store = os.path.join(network.folder, "measured.db")
    if os.path.exists(store):
        os.remove(store)
    answer_of([args.pantoum, "plan", network.model, *words, *more, "--time-limit", f"{args.time_limit}s", "--profile-store", store, "--format", "json", "-o", os.path.join(network.folder, "first.json")])
    return rows_of(args, store)


def told_times(args, network, words, machine):
    """A store in which the processor is slow, and the device is what the processor was."""
    rows, told = [], os.path.join(network.folder, "told.db")
    known = set()
    for row in measured(args, network, words, ["--threads", "1"]):
        slow = {name: repr(float(row[name]) * SLOWER) for name in ("seconds", "low_s", "high_s", "warm_s") if row.get(name)}
        alone = row["attributes"].split("|in step ")[0]  # some times are known inside the step alone
        if alone != row["attributes"]:
            rows.append({**row, **slow})
        for more in ({**row, "attributes": alone, **slow}, {**row, "attributes": alone, "machine": machine, "engine": "opencl", "algorithm": "opencl", "threads": "1"}):
            key = tuple(more[name] for name in ("machine", "engine", "op", "algorithm", "operands", "attributes", "threads"))
            if key not in known:
                known.add(key)
                rows.append(more)
    if not rows:
        raise RuntimeError("no kernel was measured within the time limit")
    if os.path.exists(told):
        os.remove(told)
    table = told.replace(".db", ".csv")
    with open(table, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([args.pantoum, "profile", "--profile-store", told, "--import", table], check=True, capture_output=True)
    return told


def on_device(path):
    with open(path) as file:
        plan = json.load(file)
    ops = {op["id"]: op for op in plan["graph"]["ops"]}
    engines = [ops[each["op"]]["choices"][each["choice"]].get("engine", "cpu") for each in plan["instructions"] if each["do"] == "compute"]
    return sum("opencl0" in (used if isinstance(used, list) else [used]) for used in engines), len(engines)


def trained(args, network, path, words):
    log, out = (os.path.join(network.folder, name) for name in ("run.jsonl", os.path.basename(path) + ".safetensors"))
    answer_of([args.pantoum, "train", network.model, "--data", network.folder, "--plan", path, *words, "--lr", str(network.spec["lr"]), "--shuffle", "off", "--epochs", "1", "--log-every", "1", "--log", log,
               "--format", "json", "-o", out])
    with open(log) as file:
        losses = [line["loss"] for line in map(json.loads, file) if line["event"] == "step"]
    with open(out, "rb") as file:
        data = file.read()
    return losses, data[8 + int.from_bytes(data[:8], "little"):]


def folder_of(name):
    return os.path.join(os.environ.get("PANTOUM_OUT", "out"), "bench", "opencl", name)


def words_of(network, exact):
    return [*network.losses(), "--optimizer", f"sgd,momentum={network.spec['momentum']}", "--page-file", network.folder, "--kernels", "portable", "--objective", "time",
            *([] if exact else ["--allow-numerics-change"])]


def machine_of(args, exact):
    """What the store calls the device."""
    network = Network("lenet5", folder_of("lenet5"))
    return next(row["machine"] for row in measured(args, network, words_of(network, exact), ENGINES) if row["engine"] == "opencl")


def add_network(table, args, raw, name, exact, machine):
    network = Network(name, folder_of(name))
    network.make_data(STEPS)
    words = words_of(network, exact)
    one, two = (os.path.join(network.folder, kind + ".json") for kind in ("one", "two"))
    told = told_times(args, network, words, machine)
    for path, more in ((one, ("--measure", "off", "--threads", "1")), (two, ("--measure", "known", "--profile-store", told, *ENGINES))):
        answer_of([args.pantoum, "plan", network.model, *words, *more, "--time-limit", f"{args.time_limit}s", "--format", "json", "-o", path])
    there, computes = on_device(two)
    (expected, weights), (losses, others) = (trained(args, network, path, words) for path in (one, two))
    worst = max(abs(a - b) / max(abs(a), 1e-6) for a, b in zip(expected, losses, strict=True))
    equal = expected == losses and weights == others
    raw[name] = {"losses": losses, "portable": expected, "on_device": there, "computes": computes, "equal": equal}
    table.add(f"opencl {name}", worst, "", f"<= {MOST:g}{', equal bits' if exact else ''}", len(losses) == STEPS and worst <= MOST and (equal or not exact) and there > 0,
              f"{there} of {computes} computes on the device, {'equal' if equal else 'other'} bits, losses {expected[0]:.4g} to {expected[-1]:.4g}")


def add_rows(table, args, raw):
    found = device(args.pantoum)
    if found is None:
        return table.skip("opencl", "no OpenCL device is here: `pantoum doctor` says why")
    if not any(table.wants(f"opencl {name}") for name in NETWORKS):
        return None
    raw["device"], machine = found[0], machine_of(args, found[1])
    for name in NETWORKS:
        if table.wants(f"opencl {name}"):
            try:
                add_network(table, args, raw, name, found[1], machine)
            except (RuntimeError, subprocess.CalledProcessError) as refused:
                table.add(f"opencl {name}", 0.0, "", "a plan and steps", False, str(refused))
    return None
