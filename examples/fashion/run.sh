#!/usr/bin/env bash
# The main job: trains cnn.onnx on Fashion-MNIST in two thirds of the RAM that the step would take, paging to a real file. The plan's times
# are measured on this machine first, for a few seconds.
# usage: run.sh PANTOUM DATA_FOLDER [EPOCHS]
set -euo pipefail
pantoum=$1 data=$2 epochs=${3:-3}
here=$(cd "$(dirname "$0")" && pwd)
out=${PANTOUM_OUT:-out}
mkdir -p "$out"
exec "$pantoum" train "$here/cnn.onnx" --data "$data" --device host --ram 9.5MiB --batch 128 --epochs "$epochs" \
  --optimizer sgd,momentum=0.9 --lr 0.05 --weight-decay 1e-4 --normalize 0.2860,0.3530 --seed 1 --effort 200 --measure missing --threads 2 \
  --kernels portable -o "$out/trained.safetensors" --plan-out "$out/plan.json" --log "$out/run.jsonl" --report "$out/report.html"
