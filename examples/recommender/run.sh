#!/usr/bin/env bash
# Learns who likes which film from ratings. Tables and optimizer state stay in storage: 160 KiB of RAM.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
# For comparison: what a step takes that keeps all of it in RAM.
"$pantoum" plan "$here/model.onnx" --loss mse --train mean --ram 1GiB --batch 64 --optimizer adam --kernels portable --measure off \
  --format json -o "$out/whole.plan.json" > "$out/whole.json"
"$pantoum" train "$here/model.onnx" --data "$out/ratings.npz" --loss mse --metrics mae --train mean --params-in aux --page-file "$out" \
  --ram 160KiB --batch 64 --epochs 3 --optimizer adam --lr 0.01 --effort 20 --kernels portable --log "$out/run.jsonl" \
  --plan-out "$out/plan.json" --report "$out/report.html" -o "$out/trained.safetensors"
"$python" "$here/../check.py" "$out/run.jsonl" test_mae "<=" 0.4 "$out/whole.json"
