"""What plans and programs say of themselves. Standard library only."""
import json
import subprocess


def static_bytes(elf):
    """name -> bytes of the sections that lie in RAM."""
    text = subprocess.run(["arm-none-eabi-size", "-A", elf], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[0] in (".stack", ".data", ".bss", ".arena")}


def unplanned_bytes(peak, static):
    """RAM without a plan: the network's peak, and the stack and the tables beside it."""
    return peak + sum(size for section, size in static.items() if section != ".arena")


def paged_kinds(plan_path, graph_path):
    """Kinds of the tensors that the plan's instructions write to storage."""
    with open(plan_path) as file:
        plan = json.load(file)
    with open(graph_path) as file:
        tensors = {tensor["id"]: tensor for tensor in json.load(file)["tensors"]}
    successors = {tensor.get("next") for tensor in tensors.values()}

    def kind(tensor):
        if tensor["name"].startswith("optim."):
            return "optimizer state"
        return "parameters" if tensor["id"] in successors or tensor.get("start") == "aux" else "activations"
    return {kind(tensors[each["tensor"]]) for each in plan["instructions"] if each["do"] == "page_out"}
