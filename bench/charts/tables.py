"""The tables of docs/benchmarks.md that stand between <!-- NAME --> and <!-- end NAME -->, from the benches' JSON. Standard library only."""
import re

import rows


def table(head, lines):
    return "\n".join(["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines]])


def ways(results, network):
    return table(["way", "peak memory", "a step", "over PyTorch's"],
                 [[way.label + (" (another machine)" if way.elsewhere else ""), f"{way.mib:.1f} MiB", f"{way.seconds * 1e3:.4g} ms", f"{way.ratio:.2f}"]
                  for way in rows.side_by_side(results, network)])


def step_times(results):
    return table(["network", "a step over PyTorch's", "memory over PyTorch's", "step times", "memory"],
                 [[f"{row.network}, batch {row.batch}", f"{row.time:.2f}", f"{row.memory:.2f}", row.times, row.memories] for row in rows.step_times(results, 1)])


def table_4(results):
    return table(["case", "the paper's ideal, KiB", "planned, all retained", "least, with recomputing and paging"],
                 [[row.case, f"{row.paper:.0f}", f"{row.kept:.0f}", f"{row.least:.0f}"] for row in rows.table_4(results)])


def measured(results):
    return "\n".join(f"* {run['date']}, {run['machine']}: `{run['command']}`" + (f" ({run['note']})" if run.get("note") else "") for run in results["measured"])


TABLES = {"resnet18": lambda of: ways(of, "resnet18"), "vgg16": lambda of: ways(of, "vgg16"), "lenet5": lambda of: ways(of, "lenet5"),
          "step-times": step_times, "table-4": table_4, "runs": measured}


def page(text, results):
    """The text with each of its tables made anew."""
    def anew(match):
        return f"<!-- {match.group(1)} -->\n\n{TABLES[match.group(1)](results)}\n\n<!-- end {match.group(1)} -->"

    return re.sub(rf"<!-- ({'|'.join(TABLES)}) -->.*?<!-- end \1 -->", anew, text, flags=re.DOTALL)


def write(folder, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(text, rows.read(folder, "runtime.json")))
