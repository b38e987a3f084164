#!/usr/bin/env bash
# Learns to balance a pole on a cart: one C program that predicts and trains. Needs cc, and libpantoum beside the program or installed.
# usage: run.sh [PANTOUM [OUT]]
set -eu
pantoum=${1:-pantoum} out=${2:-out}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

root=$(dirname "$(dirname "$(readlink -f "$(command -v "$pantoum")")")")  # PREFIX of PREFIX/bin/pantoum
include=$root/include
[ -e "$include/pantoum/compile.h" ] || include=$here/../../include
"${CC:-cc}" -std=c99 -O2 "$here/cart_pole.c" -I "$include" -L "$root/lib" -Wl,-rpath,"$root/lib" -lpantoum -lm -o "$out/cart_pole"
cp "$here/cart_pole.ini" "$out"
"$out/cart_pole" "$out/cart_pole.ini" 92KiB "$out/trained.safetensors" 300 | tee "$out/said.txt"
# 195 of 200 moments in a row count as solved.
awk '/^the pole stands/ { sub(/,/, ""); good = $5 >= 195; print "moments " $5 ", >= 195 asked for: " (good ? "good" : "MISSED") } END { exit !good }' "$out/said.txt"
