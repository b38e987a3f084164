"""The tables of docs/results/papers.json in Markdown, from the rows of the figures. Standard library only."""
OWN = ("pantoum", "pantoum-paging-only", "pantoum-remat-only")


def markdown(head, rows):
    """A table with its first column's and its other columns' heads."""
    lines = ["| " + " | ".join(map(str, head)) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def percent(value):
    return "-" if value is None else f"{value:.2f}"


def by_planner(rows, column, value):
    """Rows (device, planner) -> one value per point of `column`, in the order in which they came."""
    lines = {}
    for row in rows:
        lines.setdefault((row["device"], row["planner"]), []).append((row[column], row[value]))
    return lines


def energy_over_ram(rows, model, planners=OWN):
    own = [row for row in rows if row["model"] == model and row["planner"] in planners]
    lines = by_planner([row for row in own if row["ram_percent"] < 99.9], "ram_percent", "energy_overhead_percent")
    if not lines:
        return ""
    points = [round(at) for at, _ in next(iter(lines.values()))]
    return markdown([model, f"RAM, % of the peak: {points[0]}", *points[1:]],
                    [[f"{device}, {planner}", *(percent(value) for _, value in line)] for (device, planner), line in lines.items()])


def proved_gap(rows, model):
    """What is not proved of the joint plans: percentage points of the unplanned energy between plan and bound."""
    lines = by_planner([{**row, "open": row["energy_overhead_percent"] - row["bound_overhead_percent"]} for row in rows
                        if row["model"] == model and row["planner"] == "pantoum" and row["ram_percent"] < 99.9
                        and row["energy_overhead_percent"] is not None and row["bound_overhead_percent"] is not None], "ram_percent", "open")
    return "\n".join(f"* {model} on {device}: at most {max(value for _, value in line):.3f} percentage points between plan and bound"
                     for (device, _), line in lines.items())


def against_ablations(rows):
    """Points at which the joint search ends above one of its own ablations."""
    best = {}
    for row in rows:
        if row["planner"] in OWN and row["energy_overhead_percent"] is not None:
            best.setdefault((row["model"], row["device"], row["ram_bytes"]), {})[row["planner"]] = row["energy_overhead_percent"]
    worse = [(*key, values) for key, values in best.items()
             if min(values.values()) < values.get("pantoum", float("inf")) - 1e-6]
    return f"{len(worse)} of {len(best)} points have an ablation below the joint plan" + "".join(f"\n* {line}" for line in worse)


def energy_over_deadline(rows):
    lines = by_planner(rows, "slack_percent", "energy_overhead_percent")
    if not lines:
        return ""
    points = [at for at, _ in next(iter(lines.values()))]
    return markdown(["vgg16", f"slack, %: {points[0]}", *points[1:]],
                    [[f"{device}, {planner}", *(percent(value) for _, value in line)] for (device, planner), line in lines.items()])


def fastest(rows):
    return markdown(["RAM, % of the peak", "time of a step", "over the unplanned step"],
                    [[f"{row['ram_percent']:.3g}", f"{1000 * row['time_s']:.2f} ms", f"+{row['time_overhead_percent']:.2f}%"]
                     for row in sorted(rows, key=lambda row: -row["ram_percent"])])


def literature(rows, planners):
    """Worst and best overhead of a baseline over the joint plan of the same budget, in percent of that plan's energy."""
    joint = {(row["model"], row["device"], row["ram_bytes"]): row["energy_overhead_percent"] for row in rows if row["planner"] == "pantoum"}
    table = []
    for planner in planners:
        if planner == "pantoum":
            continue
        own = [row for row in rows if row["planner"] == planner]
        found = [(100 + row["energy_overhead_percent"]) / (100 + joint[row["model"], row["device"], row["ram_bytes"]]) for row in own
                 if row["energy_overhead_percent"] is not None and joint.get((row["model"], row["device"], row["ram_bytes"])) is not None]
        table.append([planner, f"{len(found)} of {len(own)}", f"{min(found):.4f}" if found else "-", f"{max(found):.4f}" if found else "-"])
    return markdown(["planner", "budgets with a plan", "least energy over the joint plan's", "most"], table)


def page(document):
    """All tables, for a reader of the run."""
    rows = document["figure3"]
    models = list(dict.fromkeys(row["model"] for row in rows))
    parts = ["## Figure 3\n", *(energy_over_ram(rows, model) for model in models), *(proved_gap(rows, model) + "\n" for model in models),
             against_ablations(rows) + "\n", literature(rows, document["planners"]), "## Figure 4\n", energy_over_deadline(document["figure4"])]
    if document["table3"]:
        parts += ["## Table 3\n", fastest(document["table3"])]
    return "\n".join(parts)
