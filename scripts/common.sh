# Shared by the scripts of this folder, which source it: the download folder, and messages.

# The same folder as in cmake/Cache.cmake.
cache=${ATTEND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/attend}

say() { echo "$(basename "$0"): $*" >&2; }
fail() {
  say "$@"
  exit 1
}

# make_folder FOLDER COMMAND...: calls COMMAND with an empty folder to fill and renames it to FOLDER if COMMAND
# succeeds. So FOLDER is complete or absent, even after an interrupt. (bash ignores `set -e` inside COMMAND, so it needs
# `|| return` itself.)
make_folder() {
  local folder=$1 partial
  shift
  mkdir -p "$(dirname "$folder")"
  find "$(dirname "$folder")" -maxdepth 1 -name '*.partial.*' -mmin +600 -exec rm -rf {} +
  partial=$(mktemp -d "$folder.partial.XXXXXX")
  # shellcheck disable=SC2064  # expand the folder now
  trap "rm -rf '$partial'" EXIT
  "$@" "$partial" || return
  chmod 755 "$partial"
  # A parallel run may have created the same folder first.
  mv -T "$partial" "$folder" 2>/dev/null || [ -d "$folder" ] || fail "cannot write $folder"
  rm -rf "$partial"
  trap - EXIT
}

# fetch_package FOLDER REQUIREMENT SHA256 [PIP OPTION...]: downloads a requirement with pip
# into FOLDER and prints the file name. Uses the machine's pip configuration (indexes, proxies, certificates).
fetch_package() {
  local folder=$1 requirement=$2 sha256=$3 package
  shift 3
  local pip=(python3 -m pip download --disable-pip-version-check --no-deps --dest "$folder" "$@")
  # With the checksum here, pip verifies a source package before it runs any of its code.
  echo "$requirement${sha256:+ --hash=sha256:$sha256}" >"$folder/requirement"
  pip+=(--requirement "$folder/requirement")
  if [ ! -t 2 ]; then pip+=(--quiet); fi
  # First with a short timeout: one unreachable index among several would cost a minute.
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
