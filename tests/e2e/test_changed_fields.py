"""Every field of an input file, changed in many ways: the program ends as it says, never with an error of its own (E0001) or a signal."""
import copy
import json
import unittest

from house import House, m4_costgraph, some

VALUES = (None, -1, 0, 1, 2**63, 1e30, "x", [], [0])


def cost(**more):
    return {"engine": "cpu", "time_s": 1e-6, "energy_j": 1e-6, "numerics": "a", **more}


def graph():
    """Choices that read and write some positions, of two numerics; a tensor that is updated in place."""
    tensors = [{"id": 0, "bytes": 512, "start": "ram"}, {"id": 1, "bytes": 512}, {"id": 2, "bytes": 512}, {"id": 3, "bytes": 512, "end": "ram"},
               {"id": 4, "bytes": 512, "start": "ram", "pinned": True, "next": 5}, {"id": 5, "bytes": 512}]
    ops = [{"id": 0, "inputs": [0], "outputs": [1, 2], "choices": [cost(writes=[0]), cost(writes=[1]), cost()]},
           {"id": 1, "inputs": [1, 2, 0], "outputs": [3], "choices": [cost(reads=[0, 1]), cost(numerics="b", reads=[1, 2], overwrites=[[0, 1]])]},
           {"id": 2, "inputs": [4, 3], "outputs": [5], "choices": [cost(overwrites=[[0, 0]], workspace_bytes=64)]}]
    return tensors, ops


def places(value, place=()):
    """Each field once: of lists the first three elements."""
    yield place
    for key in value if isinstance(value, dict) else range(min(len(value), 3)) if isinstance(value, list) else ():
        yield from places(value[key], (*place, key))


def changed(document, place, value):
    made = copy.deepcopy(document)
    at = made
    for key in place[:-1]:
        at = at[key]
    if value is VALUES:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return made


class ChangedFields(House):
    def try_all(self, document, path, *words):
        changes = [(place, value) for place in places(document) if place for value in (*VALUES, VALUES)]
        for place, value in some(changes, 400):
            with open(path, "w") as file:
                json.dump(changed(document, place, value), file)
            done = self.run_cli(*words, timeout=60)
            if done.returncode == 1 or "E0001" in done.stderr:
                self.fail(f"{place} = {'(left out)' if value is VALUES else value!r}\n{done.stderr}")

    def setUp(self):
        with open(m4_costgraph(self.folder)[0]) as file:
            self.document = json.load(file)
        tensors, ops = graph()
        self.document |= {"tensors": tensors, "ops": ops, "order": [0, 1, 2]}
        self.document["device"]["engines"] = ["cpu"]

    def test_fields_of_a_cost_graph(self):
        path = self.path("changed.json")
        self.try_all(self.document, path, "plan", "--costgraph", path, "--ram", "1MiB", "--effort", 1, "-o", self.path("out.json"))

    def test_fields_of_a_plan(self):
        source, plan, path = self.path("whole.json"), self.path("plan.json"), self.path("changed.plan.json")
        with open(source, "w") as file:
            json.dump(self.document, file)
        self.succeed("plan", "--costgraph", source, "--ram", "3KiB", "--effort", 1, "-o", plan)
        with open(plan) as file:
            self.try_all(json.load(file), path, "verify", path, "--costgraph", source)

    def test_sizes_and_numerics_that_no_plan_can_follow(self):
        path = self.path("wrong.json")
        for place, value, text in ((("tensors", 5, "bytes"), 513, "its next, tensor 5, has 513"), (("ops", 0, "choices"), [cost(writes=[0]), cost(numerics="b")], "writes all outputs")):
            with open(path, "w") as file:
                json.dump(changed(self.document, place, value), file)
            self.refuse(3, "E0221", "plan", "--costgraph", path, "--ram", "1MiB", "-o", self.path("out.json"))
            self.assertIn(text, self.run_cli("plan", "--costgraph", path, "--ram", "1MiB").stderr)


if __name__ == "__main__":
    unittest.main()
