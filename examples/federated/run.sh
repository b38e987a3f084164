#!/usr/bin/env bash
# Ten clients with ten RAM budgets, in Flower's simulation engine on this machine.
# usage: run.sh [NAME=VALUE ...]     settings of pyproject.toml, as rounds=2 or 'ram="12MiB"'; PYTHON names the Python that has pantoum[flower]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(dirname "$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')")
export FLWR_HOME=${FLWR_HOME:-$(mktemp -d)} FLWR_TELEMETRY_ENABLED=${FLWR_TELEMETRY_ENABLED:-0} PATH=$bin:$PATH
mkdir -p "$FLWR_HOME"
[ -e "$FLWR_HOME/config.toml" ] || printf '[superlink]\ndefault = "local"\n[superlink.local]\naddress = ":local:"\n' > "$FLWR_HOME/config.toml"
clients=10 settings=("model=\"$here/../fashion/cnn.onnx\"")
for setting in "$@"; do
  settings+=("$setting")
  case $setting in clients=*) clients=${setting#clients=} ;; esac
done
# Ray gives up where its programs take long to load: they are read first.
"${PYTHON:-python3}" -c 'import importlib.util, pathlib
for path in pathlib.Path(importlib.util.find_spec("ray").origin).parent.glob("core/src/ray/*/*"):
    path.is_file() and path.read_bytes()'
# Flower starts a server in the background for simulations; it ends with this run.
stop() { pkill -TERM -f -- "--log-file $FLWR_HOME/local-superlink/" || true; }
trap stop EXIT
flwr run "$here" local --stream --federation-config "num-supernodes=$clients" --run-config "${settings[*]}"
