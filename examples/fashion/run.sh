#!/usr/bin/env bash
# The main job: trains cnn.onnx on Fashion-MNIST in three quarters of the RAM that the step would take, paging to a real file.
# usage: run.sh PANTOUM DATA_FOLDER
set -euo pipefail
pantoum=$1 data=$2
here=$(cd "$(dirname "$0")" && pwd)
out=${PANTOUM_OUT:-out}
mkdir -p "$out"
exec "$pantoum" train "$here/cnn.onnx" --data "$data" --device host --ram 10MiB --batch 128 --epochs 3 \
  --optimizer sgd,momentum=0.9 --lr 0.05 --weight-decay 1e-4 --normalize 0.2860,0.3530 --seed 1 --effort 200 --measure off --threads 2 --kernels portable \
  -o "$out/trained.safetensors" --plan-out "$out/plan.json" --log "$out/run.jsonl" --report "$out/report.html"
