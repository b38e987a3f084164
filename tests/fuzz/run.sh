#!/usr/bin/env bash
# Runs every fuzzer side by side for some seconds each. usage: run.sh FOLDER_OF_FUZZERS SECONDS
set -euo pipefail
folder=$1 seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A running
for fuzzer in "$folder"/fuzz_*; do
  name=$(basename "$fuzzer")
  mkdir -p "$work/$name"
  seeds=$here/seeds/${name#fuzz_}
  [ -d "$seeds" ] || seeds=
  "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=65536 -print_final_stats=1 -artifact_prefix="$work/$name/" "$work/$name" $seeds \
    > "$work/$name.log" 2>&1 &
  running[$name]=$!
done
failed=0
for name in "${!running[@]}"; do
  if wait "${running[$name]}"; then
    printf '%-20s %s runs, no finding\n' "$name" "$(awk '/number_of_executed_units/ {print $2}' "$work/$name.log")"
  else
    failed=$((failed + 1))
    printf '%-20s FINDING\n' "$name"
    tail -40 "$work/$name.log"
  fi
done
printf '%d passed, %d failed\n' "$((${#running[@]} - failed))" "$failed"
exit $((failed > 0))
