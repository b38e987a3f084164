#!/usr/bin/env bash
# Learns two words of one voice from eight sounds of each, on features that were learned from other words and voices.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/"*.ini "$out"
cd "$out"  # the paths of [train_set] and [valid_set] begin in the working folder
# 1. The features, once: as one would do it on a large machine.
"$pantoum" train words.ini --ram 4MiB --effort 10 --kernels portable --threads 1 -o words.safetensors
# 2. For comparison: what a step of the whole network would take.
sed 's/trainable = false/trainable = true/' personal.ini > whole.ini
"$pantoum" plan whole.ini --ram 1GiB --kernels portable --measure off --format json -o whole.plan.json > whole.json
# 3. One's own words: the last layer alone, on features that are computed once.
"$pantoum" train personal.ini --weights words.safetensors --feature-cache 64KiB --ram 124KiB --effort 20 --kernels portable --threads 1 --log run.jsonl \
  --plan-out plan.json --report report.html -o trained.safetensors
"$python" "$here/../check.py" "run.jsonl" test_loss "<=" 0.35 whole.json
