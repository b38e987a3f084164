#!/usr/bin/env bash
# Parts two classes of points, from a model file of NNTrainer, which names its data and its optimizer too.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/classes.ini" "$out/classes.ini"
cd "$out"  # the paths of [train_set] and [valid_set] begin in the working folder
"$pantoum" train classes.ini --ram 3KiB --metrics mae --effort 20 --kernels portable --log run.jsonl --plan-out plan.json --report report.html \
  -o trained.safetensors
"$python" "$here/../check.py" "run.jsonl" test_loss "<=" 0.2
