#!/usr/bin/env bash
# Runs what tools/pack-cuda.mjs packed, on a machine with PyTorch and a C++ compiler.
#
#   run.sh test [ARGUMENTS OF VITEST]   the GPU suite
#   run.sh bench SCRIPT [ARGUMENTS]     a bench: bench/rollout/cuda.mjs
#   run.sh compare [ARGUMENTS]          bench/compare.mjs against the checkout that was packed with --before
#   run.sh node [ARGUMENTS]             anything else, in the checkout
#
# It unpacks and builds the bridge when it is first called. WHETSTONE_PACK_DIR: where to (default /tmp/whetstone-pack).
# WHETSTONE_TEST_DEVICE=cpu runs the suite without a GPU. What is printed also goes to $OUT, where that is a folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${WHETSTONE_PACK_DIR:-/tmp/whetstone-pack}
verb=${1:-}
[ $# -gt 0 ] && shift

usage() {
  sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
case "$verb" in test | bench | compare | node) ;; *) usage ;; esac

decompress() {
  if command -v xz >/dev/null; then
    xz -dc "$1"
  else
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"
  fi
}

# A pack that changed is unpacked over the old one; what was built stays, and setup sees whether it still fits.
stamp=$(cat "$here"/*.xz | cksum)
if [ "$(cat "$work/stamp" 2>/dev/null)" != "$stamp" ]; then
  mkdir -p "$work/bin"
  rm -rf "$work/after/dist" "$work/after/src" "$work/after/test" "$work/before/dist"
  decompress "$here"/tree.tar.xz | tar -C "$work" -xf -
  # A pack made with --beside has no checkout of its own: it lies in one.
  if [ ! -e "$work/after/package.json" ] || [ -e "$work/beside" ]; then
    touch "$work/beside"
    tar -C "$here/.." --exclude=./.git --exclude=./.cuda-pack --exclude=./node_modules --exclude=./dist --exclude=./build -cf - . |
      tar -C "$work/after" -xf -
  fi
  decompress "$here"/node-*.xz >"$work/bin/node"
  chmod +x "$work/bin/node"
  for checkout in after before; do
    if [ -d "$work/$checkout" ]; then
      ln -sfn ../node_modules "$work/$checkout/node_modules"
      (cd "$work/$checkout" && PATH="$work/bin:$PATH" node install/whetstone.mjs setup)
    fi
  done
  echo "$stamp" >"$work/stamp"
fi

export PATH="$work/bin:$PATH"
cd "$work/after"
run() {
  if [ -n "${OUT:-}" ] && [ -d "${OUT:-}" ]; then "$@" 2>&1 | tee -a "$OUT/$verb.log"; else "$@"; fi
}
case "$verb" in
  test) run node node_modules/vitest/vitest.mjs run --config vitest.cuda.config.ts "$@" ;;
  bench) run node "$@" ;;
  compare) run node bench/compare.mjs ../before "$@" ;;
  node) run node "$@" ;;
esac
