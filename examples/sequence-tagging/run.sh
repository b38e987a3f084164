#!/usr/bin/env bash
# Trains an LSTM that tags every word of a message, in 700 KiB.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
"$pantoum" train "$here/model.onnx" --data "$out/messages.npz" --loss cross_entropy,classes_last --ram 700KiB --batch 32 --epochs 4 \
  --optimizer adam --lr 0.01 --effort 20 --kernels portable --log "$out/run.jsonl" --plan-out "$out/plan.json" \
  --report "$out/report.html" -o "$out/trained.safetensors"
"$python" "$here/../check.py" "$out/run.jsonl" test_accuracy ">=" 0.93
