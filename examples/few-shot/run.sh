#!/usr/bin/env bash
# Tells five symbols of which it saw one drawing, or five: by the features of a network that stays as it is.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out} python=${PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

"$python" "$here/data.py" "$out"
cp "$here/features.ini" "$here/../handmoji/backbone.onnx" "$out"
for name in known new; do
  "$pantoum" predict "$out/features.ini" --data "$out/$name.f32" --ram 768KiB --kernels portable -o "$out/${name}_features.npy"
done
"$python" "$here/classify.py" "$out"
