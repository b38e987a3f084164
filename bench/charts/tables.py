"""The tables of docs/benchmarks.md that stand between <!-- NAME --> and <!-- end NAME -->, from the benches' JSON. Standard library only."""
import re

import rows


def table(head, lines):
    return "\n".join(["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines]])


def ways(results, network):
    return table(["way", "peak memory", "a step", "over PyTorch's"],
                 [[way.label + (" (another machine)" if way.elsewhere else ""), f"{way.mib:.1f} MiB", f"{way.seconds * 1e3:.4g} ms", f"{way.ratio:.2f}"]
                  for way in rows.side_by_side(results, network)])


def values_of(results):
    return {row["name"]: row["value"] for row in results["rows"]}


def step_times(results):
    """Step times on one thread and two over PyTorch's, those over torch.compile's in brackets; memory on one thread."""
    values, lines = values_of(results), []
    for row in rows.step_times(results, 1):
        name = f"step time, {row.network} b{row.batch}, "
        times = [f"{values[name + each]:.2f} ({values[name + each + ', torch.compile']:.2f})" for each in ("1 thread", "2 threads")]
        lines.append([f"{row.network}, batch {row.batch}", *times, f"{row.memory:.2f} ({row.memories})"])
    return table(["network", "a step, one thread", "a step, two threads", "memory"], lines)


def inside(results):
    """Steps inside half and a quarter of the unplanned peak, over the step without a limit."""
    values, lines = values_of(results), []
    for row in rows.step_times(results, 1):
        names = [f"inside a budget, {row.network} b{row.batch}, {threads}, {part} of the peak" for threads in ("1 thread", "2 threads") for part in ("half", "a quarter")]
        lines.append([f"{row.network}, batch {row.batch}"] + [f"{values[name]:.2f}" if name in values else "none" for name in names])
    return table(["network", "one thread, half", "a quarter", "two threads, half", "a quarter"], lines)


def peaks(results):
    values = values_of(results)
    names = [name for name in values if re.fullmatch(r"peak, [^,]+", name)]
    return table(["network, batch", "peak, MiB", "without fusions, MiB"],
                 [[name[len("peak, "):].replace(" b", ", "), f"{values[name]:.1f}", f"{values[name + ', without fusions']:.1f}"] for name in names])


def firmware(results):
    values = values_of(results)
    cases = [name[:-len(": budget")] for name in values if name.endswith(": budget")]
    return table(["training", "budget, KiB", "RAM in all, KiB", "unplanned over the budget", "million instructions a step", "per multiply-accumulate"],
                 [[case] + [f"{values[f'{case}: {what}']:g}" for what in ("budget", "RAM in all", "unplanned over the budget", "instructions a step",
                                                                         "instructions per multiply-accumulate")] for case in cases])


def baselines(results):
    counted = {row["name"]: f"{row['value']} {row['unit']}" for row in results["rows"] if row["name"].endswith(": budgets with a plan")}
    values, lines = values_of(results), []
    for name, count in counted.items():
        planner = name[:-len(": budgets with a plan")]
        lines.append([planner[len("Figure 3, "):], count] + [f"{values[f'{planner} over pantoum, {end}']:.2f}" for end in ("least", "most")])
    return table(["planner", "budgets with a plan", "its energy over the joint plan's, least", "most"], lines)


ENGINES = {"cpu": "CPU", "gpu": "GPU", "ane": "ANE"}


def port(results):
    """PORT's combinations of engines beside the plans for the calibrated graphs, in milliseconds."""
    values, lines = values_of(results), []
    for name, step in results["raw"]["port"]["steps"].items():
        for key, row in (step["combinations"] if "combinations" in step else step["slower"]).items():
            engines = ", ".join(ENGINES[engine] for engine in key.split("+")) if "combinations" in step else f"CPU, GPU; the slower takes {key} times the better"
            label = f"port {name} {key}" if "combinations" in step else f"port {name} slower x{key} cpu+gpu"
            plans = []
            for plan in row["plans"]:
                share = plan["share"]
                over = row["published_ms"] if share is None and row["published_ms"] else row["lesser_ms"]
                value = values[label + (f" at {share:g} of the peak" if share else "")]
                plans.append(f"{value * over:.2f}" if value else "none")
            published = f"{row['published_ms']:.2f}" if row["published_ms"] else "no number"
            lines.append([name.replace("-", ", "), engines, published, f"{row['lesser_ms']:.2f}", *plans, f"{row['plans'][0]['bound_ms']:.2f}"])
    return table(["calibrated step", "engines", "PORT-M", "sum of the lesser", "plan", "at 0.7 of the peak", "at 0.5", "bound"], lines)


def streams(results):
    """ResNet-18's step by its RAM where every op may stream, modelled on m4."""
    values = values_of(results)
    lines = [[f"{row['ram_bytes'] / 1024:.3g} KiB" if row["ram_bytes"] < 1 << 20 else f"{row['ram_bytes'] / (1 << 20):.3g} MiB", f"{values['curve resnet18-cifar-momentum@' + str(row['ram_bytes'])]:.4g} J", f"{row['time_s']:.4g} s"]
             for row in results["raw"]["curve"]]
    return table(["RAM", "energy of a step", "time of a step"], lines)


def network_in_slices(results):
    """The curve of Pantoum's own graph of ResNet-18."""
    lines = [[f"{row['ram_bytes'] / 1024:.4g} KiB" if row["ram_bytes"] < 1 << 20 else f"{row['ram_bytes'] / (1 << 20):.4g} MiB", f"{row['energy_j']:.4g} J", f"{row['time_s']:.4g} s",
              f"{row['gap']:.1%}"] for row in results["raw"]["curve resnet18 on m4"]]
    return table(["RAM", "energy of a step", "time of a step", "proved to be above the least by at most"], lines)


def single_ops(results):
    """Slicings of single ops beside those that were enumerated."""
    lines = []
    for row in results["rows"]:
        if row["name"].startswith("op ") and ", " in row["name"]:
            network, kind = row["name"][len("op "):].split(", ")
            lines.append([network, kind, f"{row['value']:.0%}", row["note"].split("; ")[1].split(", ")[0][len("median "):], row["note"].split("most ")[1]])
    return table(["network", "kind of op", "slicings that move at most 5% more than the least enumerated", "median of bytes over that", "most"], lines)


def instructions(results):
    """Each case of bench/aarch64: here, on x86-64, and by oneDNN on aarch64."""
    raw, values, lines = results["raw"], values_of(results), []
    for name in (row["name"] for row in results["rows"] if row["name"].startswith("instructions ") and not row["name"].startswith("instructions of oneDNN")):
        case = name[len("instructions "):]
        onednn = values.get(f"instructions of oneDNN {case}")
        lines.append([case, f"{values[name]:.3g}", f"{raw[name]['x86_64']:.3g}", "" if onednn is None else f"{onednn:.3g}"])
    return table(["kernel", "aarch64, NEON", "x86-64, AVX2", "oneDNN 2.6.3, aarch64, NEON"], lines)


def measured(results):
    return "\n".join(f"* {run['date']}, {run['machine']}: `{run['command']}`" + (f" ({run['note']})" if run.get("note") else "") for run in results["measured"])


# A table's name on the page, the file of its rows, and what makes it.
TABLES = {"resnet18": ("runtime.json", lambda of: ways(of, "resnet18")), "step-times": ("runtime.json", step_times),
          "inside": ("runtime.json", inside), "runs": ("runtime.json", measured), "peaks": ("costs.json", peaks),
          "firmware": ("firmware.json", firmware), "baselines": ("papers.json", baselines), "port": ("engines.json", port), "streams": ("streams.json", streams), "network-in-slices": ("streams.json", network_in_slices),
          "single-ops": ("streams.json", single_ops), "aarch64": ("aarch64.json", instructions)}


def page(text, read):
    """The text with each of its tables made anew; `read` gives the results of a file by its name. A table whose file is not there stays."""
    def anew(match):
        name, make = TABLES[match.group(1)]
        try:
            return f"<!-- {match.group(1)} -->\n\n{make(read(name))}\n\n<!-- end {match.group(1)} -->"
        except rows.Missing:
            return match.group()

    return re.sub(rf"<!-- ({'|'.join(TABLES)}) -->.*?<!-- end \1 -->", anew, text, flags=re.DOTALL)


def write(folder, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    made = page(text, lambda name: rows.read(folder, name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)
