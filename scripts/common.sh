# Shared by the scripts of this folder, which source it: where downloads are kept, and how they talk.

# The same folder as in cmake/Cache.cmake.
cache=${ATTEND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/attend}

say() { echo "$(basename "$0"): $*" >&2; }
fail() {
  say "$@"
  exit 1
}

# make_folder FOLDER COMMAND...: calls COMMAND with an empty folder to fill, which becomes FOLDER only when
# COMMAND has succeeded: interrupted at any moment, FOLDER is complete or not there. (COMMAND runs where bash
# ignores `set -e`, so it says `|| return` itself.)
make_folder() {
  local folder=$1 partial
  shift
  mkdir -p "$(dirname "$folder")"
  find "$(dirname "$folder")" -maxdepth 1 -name '*.partial.*' -mmin +600 -exec rm -rf {} +
  partial=$(mktemp -d "$folder.partial.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$partial'" EXIT
  "$@" "$partial" || return
  chmod 755 "$partial"
  # Another run may have been quicker; its folder is as good.
  mv -T "$partial" "$folder" 2>/dev/null || [ -d "$folder" ] || fail "cannot write $folder"
  rm -rf "$partial"
  trap - EXIT
}

# fetch_package FOLDER REQUIREMENT SHA256 [PIP OPTION...]: what pip downloads for a requirement, as a file in
# FOLDER whose name is printed. The machine's own pip configuration (indexes, proxies, certificates) is respected.
fetch_package() {
  local folder=$1 requirement=$2 sha256=$3 package
  shift 3
  local pip=(python3 -m pip download --disable-pip-version-check --no-deps --dest "$folder" "$@")
  # With the sum in it, pip compares before it runs anything of a source package.
  echo "$requirement${sha256:+ --hash=sha256:$sha256}" >"$folder/requirement"
  pip+=(--requirement "$folder/requirement")
  if [ ! -t 2 ]; then pip+=(--quiet); fi
  # At first without patience: of several indexes, one that cannot be reached would cost a minute.
  "${pip[@]}" --retries 0 --timeout 5 >&2 2>/dev/null || "${pip[@]}" >&2 ||
    fail "pip could not download $requirement: the lines above say why"
  rm "$folder/requirement"
  package=$(find "$folder" -maxdepth 1 -type f)
  if [ -n "$sha256" ]; then
    echo "$sha256  $package" | sha256sum --check --status ||
      fail "$requirement: the download is not the file we expect (sha256 $(sha256sum "$package" | cut -c1-64)," \
        "expected $sha256)"
  fi
  echo "$package"
}
