#!/usr/bin/env bash
# Tells broken machines from a vibration and a setting: a network with two inputs.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/machine.ini" "$out"
cd "$out"  # the paths of [train_set] and [valid_set] begin in the working folder
"$pantoum" train machine.ini --ram 148KiB --no-paging --effort 20 --kernels portable --threads 1 --log run.jsonl --plan-out plan.json --report report.html \
  -o trained.safetensors
"$python" "$here/../check.py" "run.jsonl" test_loss "<=" 0.2
