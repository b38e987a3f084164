#!/usr/bin/env bash
# Learns what users think of products, from a model file of NNTrainer, which names its data and its optimizer too.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/ratings.ini" "$out/ratings.ini"
cd "$out"  # the paths of [train_set] and [valid_set] begin in the working folder
"$pantoum" train ratings.ini --ram 64KiB --params-in aux --page-file . --metrics mae --effort 20 --kernels portable --log run.jsonl \
  --plan-out plan.json --report report.html -o trained.safetensors
"$pantoum" export ratings.ini --weights trained.safetensors -o trained.bin
"$python" "$here/../check.py" "run.jsonl" test_mae "<=" 0.25
