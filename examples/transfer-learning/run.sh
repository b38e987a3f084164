#!/usr/bin/env bash
# Trains a backbone on six kinds of clothing, then a new head for four others, from 200 images and in 320 KiB.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
# 1. The backbone, once: as one would do it on a large machine, or take it from others.
"$pantoum" train "$here/known.onnx" --data "$out/known.npz" --ram 16MiB --batch 64 --epochs 2 --optimizer sgd,momentum=0.9 --lr 0.05 \
  --effort 10 --kernels portable -o "$out/known.safetensors"
# 2. For comparison: what a step of the whole network would take.
"$pantoum" plan "$here/model.onnx" --ram 1GiB --batch 4 --optimizer adam --effort 10 --kernels portable --measure off --format json \
  -o "$out/whole.plan.json" > "$out/whole.json"
# 3. The head, on the small machine: the backbone is frozen, its statistics too, and what it gives for an image is computed once.
"$pantoum" train "$here/model.onnx" --data "$out/new.npz" --weights "$out/known.safetensors" --keep-init 'head.*' \
  --freeze 'backbone.*' --freeze-stats '*' --feature-cache 2MiB --ram 320KiB --batch 4 --epochs 10 --optimizer adam --lr 0.001 \
  --effort 10 --kernels portable --log "$out/run.jsonl" --plan-out "$out/plan.json" --report "$out/report.html" -o "$out/trained.safetensors"
"$python" "$here/../check.py" "$out/run.jsonl" test_accuracy ">=" 0.90 "$out/whole.json"
