#!/bin/bash
# sysroot.sh ARCHITECTURE TRIPLET FOLDER PACKAGES...
#
# Lays out Debian's packages of another architecture, with all that they depend on, in FOLDER: a sysroot for a cross compiler and for QEMU.
# apt works in a folder of its own, with the system's sources and keys; the system's own packages, and its list of architectures, stay as they
# are. No root is needed. Nothing is fetched where FOLDER holds these packages already. A package is a name, or the path of a .deb, which begins
# with / and is unpacked with what apt finds that it depends on. FOLDER/var/lib/dpkg is a database for dpkg-shlibdeps: what each library's package
# says of dependencies, by the library's path here. Exit status: 0 it is there, 75 (EX_TEMPFAIL) the packages cannot be fetched (why: FOLDER.log), 1
# anything else.
set -eu -o pipefail
architecture=$1 triplet=$2 folder=$3
shift 3
wanted="$architecture $(printf '%s\n' "$@" | sort | tr '\n' ' ') with its database"
[ "$(cat "$folder/packages" 2> /dev/null)" = "$wanted" ] && exit 0

work=$(realpath -m "$folder").apt
rm -rf "$work" "$folder.new"
mkdir -p "$work"/{state/lists/partial,cache/archives/partial} "$folder.new"
: > "$work/status"
trap 'rm -rf "$work" "$folder.new"' EXIT
apt=(apt-get -qq -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::State::extended_states="$work/extended_states"
  -o Dir::Cache="$work/cache" -o Dir::Log="$work" -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User=
  -o Acquire::Languages=none -o APT::Install-Recommends=false -o Debug::NoLocking=true
  -o APT::Update::Post-Invoke-Success= -o APT::Update::Post-Invoke= -o DPkg::Post-Invoke=)
echo "set-up: fetching Debian's packages for $architecture into $folder"
if ! { "${apt[@]}" update && "${apt[@]}" install --download-only --yes "$@"; } > "$folder.log" 2>&1; then
  tail -5 "$folder.log"
  exit 75
fi
own=()
for package in "$@"; do
  [[ $package != /* ]] || own+=("$package")
done
database=$folder.new/var/lib/dpkg
mkdir -p "$database"/{info,updates}
printf '%s\n' "$(dpkg --print-architecture)" "$architecture" > "$database/arch"
echo 1 > "$database/info/format"
for package in "$work"/cache/archives/*.deb "${own[@]}"; do
  dpkg-deb -x "$package" "$folder.new"
  name=$(dpkg-deb -f "$package" Package)
  ! dpkg-deb -f "$package" Multi-Arch | grep -q same || name=$name:$architecture
  rm -rf "$work/control"
  dpkg-deb -e "$package" "$work/control"
  for file in shlibs symbols; do
    [ ! -e "$work/control/$file" ] || cp "$work/control/$file" "$database/info/$name.$file"
  done
  dpkg-deb --fsys-tarfile "$package" | tar t | sed -n "s|^\./\(.*[^/]\)\$|$(realpath -m "$folder")/\1|p" > "$database/info/$name.list"
  { dpkg-deb -f "$package" Package Version Architecture Multi-Arch Maintainer Description; printf 'Status: install ok installed\n\n'; } >> "$database/status"
done

# What the packages' scripts and the linker's cache would do: alternatives of BLAS and LAPACK, and links that stay inside the folder.
libraries=$folder.new/usr/lib/$triplet
for library in blas/libblas lapack/liblapack; do
  for file in "$libraries/$library".so*; do
    [ ! -e "$file" ] || ln -sf "$(dirname "$library")/$(basename "$file")" "$libraries/$(basename "$file")"
  done
done
find "$folder.new" -type l -lname '/*' -printf '%p\n' | while read -r link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$folder.new$(readlink "$link")")" "$link"
done
printf '%s' "$wanted" > "$folder.new/packages"
rm -rf "$folder"
mv "$folder.new" "$folder"
