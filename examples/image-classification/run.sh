#!/usr/bin/env bash
# Trains a small residual network on Fashion-MNIST in 4 MiB.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
"$pantoum" train "$here/model.onnx" --data "$out/clothes.npz" --ram 4MiB --batch 64 --epochs 4 --optimizer adamw --lr 0.005 \
  --schedule cosine,warmup=5% --augment flip --effort 20 --kernels portable --log "$out/run.jsonl" --plan-out "$out/plan.json" \
  --report "$out/report.html" -o "$out/trained.safetensors"
"$python" "$here/../check.py" "$out/run.jsonl" test_accuracy ">=" 0.80
