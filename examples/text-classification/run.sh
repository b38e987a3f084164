#!/usr/bin/env bash
# Trains a small transformer that tells good reviews from bad ones, in 1.5 MiB.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
"$pantoum" train "$here/model.onnx" --data "$out/reviews.npz" --ram 1536KiB --batch 32 --epochs 5 --optimizer adamw --lr 0.003 \
  --schedule cosine,warmup=5% --train place --effort 20 --kernels portable --log "$out/run.jsonl" --plan-out "$out/plan.json" \
  --report "$out/report.html" -o "$out/trained.safetensors"
"$python" "$here/../check.py" "$out/run.jsonl" test_accuracy ">=" 0.95
