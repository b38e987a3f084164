"""What each substitution and each algorithm of the portable kernels brings on networks, planned, and what substitutions keep on random graphs, by their tests.

usage: substitutions.py --pantoum BINARY [--only NETWORK,..] [--keep]
Standard library only. Every network of NETWORKS is planned with plenty of RAM, for every question of QUESTIONS: with all substitutions, with none, and without each
one that its plan uses. Of algorithms, the cost graph is planned with all of them and without each one, in plenty of RAM and in TIGHT of the unplanned peak. Seconds and
joules are modelled and the effort is fixed, so the answers are the same on every machine.
--keep writes docs/results/substitutions.json and the tables of docs/substitutions.md.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "compare"), os.path.dirname(HERE)]
import models  # noqa: E402

RULES = "Substitutions/EveryRule"
RESULTS, PAGE = (os.path.join(ROOT, "docs", *path) for path in (("results", "substitutions.json"), ("substitutions.md",)))
WORTH = .01  # of time, energy or peak: what a substitution brings on some network, to stay
NUMBERS = ("--loss", "mse")  # of networks that give no classes

# Folder and names of tests/, the small ones first.
NETWORKS = [("values", name) for name in "mlp cnn transformer lstm gru tacotron2".split()] + [("networks", name) for name in (
    "masked_mean highway cf espcn fasttext siren dcgan nerf kan autoencoder gcn lenet5 siamese wide_deep dlrm experts deepfm c3d sampler message_passing mmoe "
    "convlstm shared_head gated_experts normalized vgg16 mixer resnet18 vae pointnet r2plus1d gru_tagger tcn retinanet unet3d deeplab convnext seq2seq "
    "layernorm_lstm wavenet mamba mobilenetv3 senet bidirectional efficientnet unet crnn transformer_xl conformer diffusion shufflenetv2 ft_transformer llama t5 "
    "perceiver vit gpt2 gpt_fused swin translator mobilenetv2 bert squeezenet inceptionv3").split()]
M4, ORIN, HOST = "--device m4 --objective energy --rom 0B", "--device jetson-orin --objective time", "--device host --objective time --threads 1 --measure off"
ANY_BITS = " --allow-numerics-change"
QUESTIONS = {"m4, training": M4, "m4, training, any bits": M4 + ANY_BITS, "m4, inference, any bits": M4 + ANY_BITS + " --inference", "jetson-orin, training": ORIN,
             "jetson-orin, training, any bits": ORIN + ANY_BITS, "host, training": HOST, "host, training, any bits": HOST + ANY_BITS}
# Algorithms: folder and names of networks; a question's words, and what its plans are compared by.
ALGORITHM_NETWORKS = [("values", "lstm"), ("values", "transformer")] + [("networks", name) for name in "unet vgg16 mobilenetv2 c3d".split()]
ALGORITHM_QUESTIONS = {"m4": (M4, "energy"), "jetson-orin": (ORIN, "time"), "host, portable kernels": (HOST + " --kernels portable", "time")}
TIGHT = .7
MEASURES = {"time": "time_s", "energy": "energy_j", "peak": "peak_bytes"}


class Planner:
    def __init__(self, pantoum, folder, effort):
        self.pantoum, self.folder, self.effort, self.loss = pantoum, folder, effort, {}

    def ask(self, network, words):
        """What `pantoum plan` tells, and the substitutions that its plan uses."""
        path = os.path.join(self.folder, *network, "net.onnx")
        loss = self.loss.get(network, ()) if "--inference" not in words else ()
        with tempfile.NamedTemporaryFile(suffix=".plan.json") as out:
            done = subprocess.run([self.pantoum, "plan", path, "--ram", "64GiB", "--effort", str(self.effort), *words, *loss, "--format", "json", "-o", out.name],
                                  capture_output=True, text=True)
            if "E0403" in done.stdout + done.stderr and not loss:
                self.loss[network] = NUMBERS
                return self.ask(network, words)
            if done.returncode:
                raise RuntimeError(f"{network[1]} {' '.join(words)}: {(done.stdout + done.stderr)[:300]}")
            told = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])
            return told, {made["rule"] for made in told.get("substitutions") or ()}

    def gains(self, network, question):
        """(rule, measure, the share of it that the rule saves) of each rule that the plan uses: over the better one of the plan without it and of that without any. Remaking of
        activations is off: in plenty of RAM it changes the peak alone, and by more than any rule."""
        words = (*QUESTIONS[question].split(), "--disable", "remaking")
        told, used = self.ask(network, words)
        none = self.ask(network, (*words, "--disable", "rewriting"))[0] if used else {}
        for rule in sorted(used):
            without, _ = self.ask(network, (*words, "--disable", rule))
            for measure, key in MEASURES.items():
                other = min(without[key], none[key])
                yield rule, measure, 1 - told[key] / other if other else 0.0


    def algorithm_gains(self, network, question):
        """(algorithm, measure, the share of it that it saves, whether in little RAM) of each algorithm that is no op's only one."""
        words, measure = ALGORITHM_QUESTIONS[question]
        objective = ("--objective", measure, "--allow-numerics-change")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            told, _ = self.ask(network, (*words.split(), "--allow-numerics-change", "--disable", "rewriting", "--disable", "remaking", "--costgraph-out", path))
            with open(path, encoding="utf-8") as file:
                graph = json.load(file)

            def cost(without, ram):
                less = {**graph, "ops": [{**op, "choices": [way for way in op["choices"] if kind(way) != without]} for op in graph["ops"]]}
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(less, file)
                done = subprocess.run([self.pantoum, "plan", "--costgraph", path, "--ram", f"{ram}B", "--effort", str(self.effort), *objective, "--format", "json"],
                                      capture_output=True, text=True)
                return json.loads(done.stdout.splitlines()[-1])[MEASURES[measure]] if done.returncode == 0 else None

            kinds = [{kind(way) for way in op["choices"]} for op in graph["ops"]]
            only_ways = set().union(*(of_op for of_op in kinds if len(of_op) == 1))
            for share in (2, TIGHT):
                ram = int(told["unplanned_peak_bytes"] * share)
                all_of_them = cost("", ram)
                for each in sorted(set().union(*kinds) - only_ways):
                    without = cost(each, ram)
                    if all_of_them and without:
                        yield each, measure, 1 - all_of_them / without, share < 1


def kind(choice):
    """Of an algorithm at a clock level: the algorithm."""
    return choice["algorithm"].split("@")[0]


def largest(rows):
    """Of each rule the row with the largest gain, the largest gain first."""
    best = {}
    for row in rows:
        if row["rule"] not in best or row["gain"] > best[row["rule"]]["gain"]:
            best[row["rule"]] = row
    return sorted(best.values(), key=lambda row: (-row["gain"], row["rule"]))


def measured(pantoum, networks=NETWORKS, effort=4):
    """Rows of `largest`, of all networks and questions: of substitutions, and of algorithms."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        planner = Planner(pantoum, folder, effort)
        for network in networks:
            models.model(*network, os.path.join(folder, *network))

        def rows(asked):
            network, question = asked
            return [{"rule": rule, "gain": round(gain, 4), "of": measure, "network": network[1], "question": question}
                    for rule, measure, gain in planner.gains(network, question)]

        def algorithm_rows(asked):
            network, question = asked
            return [{"rule": name, "gain": round(gain, 4), "of": measure, "network": network[1], "question": question + (f", {TIGHT:.0%} of the unplanned peak" if tight else "")}
                    for name, measure, gain, tight in planner.algorithm_gains(network, question)]

        asked = [(network, question) for network in networks for question in QUESTIONS]
        of_algorithms = [(network, question) for network in ALGORITHM_NETWORKS if network in networks for question in ALGORITHM_QUESTIONS]
        return largest(row for found in pool.map(rows, asked) for row in found), largest(row for found in pool.map(algorithm_rows, of_algorithms) for row in found)


def cell(row):
    return f"{row['gain']:.1%} {row['of']}, {row['network']} ({row['question']})"


def page(text, rows, algorithms):
    """The page with its columns "gain" made anew."""
    cells = {row["rule"]: cell(row) for row in rows + algorithms}
    text = re.sub(r"^(\| \*\*([\w-]+)\*\* \| [^|]+ \| [^|]+ \|)[^|\n]*\|$", lambda of: f"{of.group(1)} {cells.get(of.group(2), 'none')} |", text, flags=re.MULTILINE)
    return re.sub(r"^(\| `([\w-]+)` \| (?:[^|]|\|\w+\|)+ \| [^|]+ \| [^|]+ \|)[^|\n]*\|", lambda of: f"{of.group(1)} {cells.get(of.group(2), 'none')} |", text, flags=re.MULTILINE)


def keep(rows, algorithms, networks):
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump({"command": "python3 bench/costs/substitutions.py --pantoum build/release/bin/pantoum --keep", "date": datetime.date.today().isoformat(),
                   "questions": QUESTIONS, "networks": [name for _, name in networks], "rows": rows, "algorithms": algorithms}, file, indent=1)
        file.write("\n")
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page(text, rows, algorithms))


def run(bench, pantoum, test):
    """Rows of the benchmark: the gains of some small networks, and the tests of every rule."""
    for row in measured(pantoum, NETWORKS[:12])[0]:
        bench.table.add(f"substitution gain {row['rule']}", row["gain"], f"of {row['of']}", "reported", True, f"{row['network']} ({row['question']}), modelled")
    out = os.path.join(bench.folder, "rewrite.json")
    subprocess.run([test, f"--gtest_output=json:{out}", f"--gtest_filter={RULES}.*:*Fus*:CompactActivations.*"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    with open(out) as file:
        suites = json.load(file)["testsuites"]
    rules = {}
    for suite in suites:
        for case in suite["testsuite"]:
            of_rule = suite["name"] == RULES
            name = case["name"].split("/")[-1].replace("_", "-") if of_rule else f"fusion {suite['name']}"
            rules.setdefault(name, []).append(not case.get("failures"))
    for rule, passed in sorted(rules.items()):
        bench.table.add(f"substitution {rule}", sum(passed) / len(passed), "of tests", "1", all(passed), f"{len(passed)} tests on random graphs: forward, gradients, where it does not fit")
    if not rules:
        bench.table.skip("substitution", f"{test} has no test for a rule")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--only", default="", help="names of networks, with commas")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    networks = [network for network in NETWORKS if not options.only or network[1] in options.only.split(",")]
    rows, algorithms = measured(options.pantoum, networks)
    for row in rows + algorithms:
        print(f"{row['rule']:28} {cell(row)}{'' if row['gain'] >= WORTH else '  LESS THAN 1%'}")
    if options.keep:
        keep(rows, algorithms, networks)


if __name__ == "__main__":
    main()
