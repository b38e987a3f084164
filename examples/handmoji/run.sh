#!/usr/bin/env bash
# Learns two drawn symbols from five drawings of each, in front of a network that stays as it is.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/handmoji.ini" "$here/backbone.onnx" "$out"
cd "$out"  # the paths of [train_set] and [valid_set] begin in the working folder
# For comparison: what a step takes without a plan that trains the backbone, too.
sed 's/trainable = false/trainable = true/' handmoji.ini > whole.ini
"$pantoum" plan whole.ini --ram 1GiB --kernels portable --measure off --format json -o whole.plan.json > whole.json
"$pantoum" train handmoji.ini --ram 304KiB --feature-cache 16KiB --effort 20 --kernels portable --threads 1 --log run.jsonl --plan-out plan.json \
  --report report.html -o trained.safetensors
"$pantoum" predict handmoji.ini --weights trained.safetensors --data later_drawings.f32 -o probabilities.npy
"$python" "$here/score.py" .
"$python" "$here/../check.py" "run.jsonl" test_loss "<=" 0.2 whole.json
