#!/usr/bin/env bash
# Tests the Debian packages on an otherwise empty system: makes a root with the smallest Debian of this
# machine's release, installs the packages and their dependencies there with apt, compiles and runs the
# examples against libattend-dev, calls `attend embed`, `attend train` and `attend serve`, and checks that no
# program or library contains torch.
#   make package && sudo tests/packages_test.sh build/release/packages
# Not part of `make test`: it needs root, and downloads 100 MB from Debian's servers (plus debootstrap, if it
# is not installed).
# ATTEND_MIRROR=URL      Debian's archive; default: the source of this machine's apt
# ATTEND_ROOT=FOLDER     the root is made there and kept; default: a folder that is removed
set -euo pipefail
packages=$(realpath "${1:?usage: tests/packages_test.sh FOLDER-OF-PACKAGES}")
cd "$(dirname "$0")/.."
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=${ATTEND_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" | head -n 1)}
work=$(mktemp -d)
root=${ATTEND_ROOT:-$work/root}
trap 'umount -q "$root/proc" || true; rm -rf "$work"' EXIT

heading() { printf '\n== %s\n' "$*"; }
fail() {
  echo "FAILED: $*"
  exit 1
}
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root "$@"; }
package() { echo "/packages/$(basename "$packages/$1"_*.deb)"; }
# Without apt's own lists and downloads.
disk() { du -sk --exclude="$root/proc" --exclude="$root/var" "$root" | cut -f 1; }
install_packages() {
  local before
  before=$(disk)
  inside DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "$@" >"$work/apt" 2>&1 ||
    { cat "$work/apt"; fail "apt cannot install $*"; }
  sed -n 's/^Setting up \([^ :]*\).*/\1/p' "$work/apt" | paste -sd ' '
  echo "$((($(disk) - before) / 1024)) MB on the disk"
}

# no_torch FILE...: all libraries that the linker would load with each exist, and none is torch's.
no_torch() {
  local file
  for file in "$@"; do
    inside ldd "$file" >"$work/ldd"
    if grep 'not found' "$work/ldd"; then fail "$file needs what is not there"; fi
    if grep -iE 'torch|libc10|gomp' "$work/ldd"; then fail "$file loads torch"; fi
    echo "$file: $(wc -l <"$work/ldd") libraries, no torch"
  done
}

[ -n "$mirror" ] || fail "apt knows no archive of $release: set ATTEND_MIRROR"
[ "$(id -u)" = 0 ] || fail "this must be root, for the root of its own"
heading "Debian $release, the smallest there is"
mkdir -p "$root"
debootstrap=(debootstrap)
if ! command -v debootstrap >/dev/null; then
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download debootstrap >/dev/null && dpkg -x debootstrap_*.deb unpacked)
  debootstrap=(env "DEBOOTSTRAP_DIR=$work/unpacked/usr/share/debootstrap" "$work/unpacked/usr/sbin/debootstrap")
fi
"${debootstrap[@]}" --variant=minbase "$release" "$root" "$mirror" >"$work/log" 2>&1 || { tail "$work/log"; fail "debootstrap"; }
cp /etc/resolv.conf "$root/etc/"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
inside dpkg --get-selections | wc -l | sed 's/$/ packages/'
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
cp -r examples "$root/examples"
cp -r tests/data/models "$root/models"

heading "attend"
inside apt-get -qq update
install_packages "$(package attend)"
inside attend --version
cp -r "$root/models/bert-model" "$root/embedder"
cp examples/tests/tokenizer.json "$root/embedder"
inside attend embed /embedder --search /examples/tests/sentences.txt --top 1 "fish swims in water" | tee "$work/found"
grep --quiet '^1.0000  fish swims in water' "$work/found" || fail "the sentence itself is not the nearest"
inside attend init bert /fresh --tokenizer /embedder --set preset=tiny
inside attend train --objective classification --model /fresh --train /examples/tests/train.tsv --output /tuned --steps 2
mapfile -t installed < <(inside dpkg -L attend | grep -E '/bin/attend$|\.so')
no_torch "${installed[@]}"
inside ldconfig --print-cache | grep libattend || fail "the linker does not know the libraries"

heading "libattend-dev, and the examples compiled against it"
install_packages "$(package libattend-dev)"
install_packages g++ cmake make
inside cmake -S /examples -B /build -DCMAKE_BUILD_TYPE=Release -DEXAMPLE_MODELS=/models
inside cmake --build /build
inside ctest --test-dir /build --output-on-failure --no-tests=error
no_torch /build/{tokens,search,classify,chat,translate,fine_tune}
if find "$root" -xdev -name 'libtorch*' -o -name 'libc10*' | grep .; then fail "there is torch"; fi
echo "there is no torch in the whole root"

heading "attend serve"
inside sh -c 'attend serve /embedder --port 8765 2>/said & echo $! >/pid && wait $!' &
for _ in {1..50}; do
  if exec 3<>/dev/tcp/127.0.0.1/8765; then break; fi 2>/dev/null
  sleep 0.1
done
printf 'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3
grep --quiet '"id":"embedder"' <&3 || fail "the server does not name its model: $(cat "$root/said")"
inside sh -c 'kill "$(cat /pid)"'
wait $! || fail "the server ended with $?"

heading "passed"
