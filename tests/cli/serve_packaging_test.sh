#!/usr/bin/env bash
# The files in packaging/ for attend serve: their options and paths exist, and their formats are valid.
set -euo pipefail
attend=$(realpath "${ATTEND:-build/release/attend}")
cd packaging
"$attend" serve --help >/tmp/help.$$
trap 'rm -f /tmp/help.$$' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

options=$(grep -v '^#' attend.service Dockerfile kubernetes.yaml | grep -E 'serve|args:|ENTRYPOINT' | grep -oE -e '--[a-z]+(-[a-z]+)*' | sort -u)
options+=$(sed -nE 's/^([a-z-]+) =.*/ --\1/p' serve.toml | grep -v -e '--model$' | tr '\n' ' ')
[ "$(wc -w <<<"$options")" -gt 6 ] || fail "no options found: $options"
for option in $options; do
  grep -q -e "$option" /tmp/help.$$ || fail "attend serve has no $option"
done
grep -q "path: /ready" kubernetes.yaml && grep -q "path: /health" kubernetes.yaml || fail "probes"
python3 - <<'PYTHON'
import re, tomllib
tomllib.load(open("serve.toml", "rb"))
seconds = lambda text, pattern: int(re.search(pattern, text).group(1))
kubernetes, unit, options = (open(name).read() for name in ("kubernetes.yaml", "attend.service", "serve.toml"))
assert seconds(kubernetes, r"terminationGracePeriodSeconds: (\d+)") > seconds(kubernetes, r'--drain-seconds, "(\d+)"') + 5
assert seconds(unit, r"TimeoutStopSec=(\d+)") > seconds(options, r"drain-seconds = (\d+)")
try:
    import yaml
except ImportError:
    print("no yaml module: kubernetes.yaml was not read")
else:
    kinds = [document["kind"] for document in yaml.safe_load_all(kubernetes)]
    assert kinds == ["Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"], kinds
PYTHON
if command -v systemd-analyze >/dev/null; then
  # systemd-analyze also checks that the program is installed, which it need not be here.
  systemd-analyze verify ./attend.service 2>&1 | grep -v -e "is not executable" -e "not found" | grep . && fail "the unit"
fi
echo "all well"
