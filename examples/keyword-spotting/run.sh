#!/usr/bin/env bash
# Trains a keyword spotter on a Cortex-M4F with 52 KiB of RAM, in QEMU.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
"$pantoum" plan "$here/model.onnx" --batch 4 --device m4 --ram 52KiB --reserve 6.5KiB --params-in aux --optimizer adam --lr 0.003 \
  --effort 10 -o "$out/step.plan.json"
"$pantoum" emit "$out/step.plan.json" --target cortex-m4f --data "$out/keywords.npz" --normalize 0.54,0.10 --test-samples 128 --steps 480 \
  -o "$out/firmware"
"$pantoum" run-firmware "$out/firmware" --fresh --log "$out/run.jsonl"
"$pantoum" report "$out/step.plan.json" "$out/run.jsonl" -o "$out/report.html"
"$python" "$here/../check.py" "$out/run.jsonl" test_accuracy ">=" 0.95
