#!/usr/bin/env bash
# install.sh vllm|sglang [DIRECTORY]
#
# A virtual environment with a server for ordinary x86-64 CPUs, for the suites that need a real one: 2 minutes and 1.5 GB.
# Default directory: engines/<name>-<version> in Whetstone's cache. What is installed is recognised and left alone; the
# directory is the only line on standard output. Needs python3 (3.11 or 3.12), gcc and binutils.
#
# Exit code 75: the package index is not reachable, so nothing was installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
type=${1:-}
[ -f "$here/$type/recipe.sh" ] || { echo "usage: install.sh vllm|sglang [DIRECTORY]" >&2; exit 2; }
# Sets label, version, revision and index_probe; defines install_packages and check_import.
. "$here/$type/recipe.sh"

cache=${WHETSTONE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/whetstone}
directory=${2:-$cache/engines/$type-$version}
marker=$directory/.whetstone-engine
complete="$type $version revision $revision"

fail() { echo "$label $version: $1" >&2; exit "${2:-1}"; }
is_complete() { [ "$(cat "$marker" 2>/dev/null)" = "$complete" ]; }

mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
python=$directory/bin/python
pip() { "$python" -m pip --disable-pip-version-check --quiet "$@"; }
site_packages() { "$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }

# One installation at a time; a second one finds the first one's work done.
exec 9>"$directory/.lock"
flock 9
if ! is_complete; then
  for program in python3 gcc nm; do
    command -v "$program" >/dev/null || fail "$program is not installed, which the installation needs"
  done
  rm -f "$marker"
  [ -x "$python" ] || python3 -m venv "$directory"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  pip download --no-deps --no-cache-dir --timeout 10 --retries 1 --dest "$scratch" "$index_probe" 2>"$scratch/why" ||
    fail "the package index is not reachable, so it was not installed" 75
  echo "installing $label $version into $directory (about 2 minutes, 1.5 GB)" >&2
  install_packages
  check_import || fail 'it was installed, but cannot be imported'
  echo "$complete" >"$marker"
fi
echo "$directory"
