#!/usr/bin/env bash
# Runs the checks of .clang-tidy over every C++ file of src/ that is no test. usage: tidy.sh BUILD JOBS
set -euo pipefail
build=$1 jobs=$2
cd "$(dirname "$0")/../.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
git ls-files 'src/*.cc' | grep -v -e '_test\.cc$' -e '^src/kernels/onednn/' > "$log.files"
trap 'rm -f "$log" "$log.files"' EXIT
if xargs -P "$jobs" -n 8 clang-tidy -p "$build" --quiet < "$log.files" > "$log" 2> /dev/null; then
  printf 'clang-tidy: %d files, clean\n' "$(wc -l < "$log.files")"
else
  grep -E 'warning:|error:' "$log" | sort -u
  exit 1
fi
