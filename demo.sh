#!/usr/bin/env bash
# A benchmark that looks valid and is not, without a GPU: a simulated vLLM is asked for 32 requests
# at once, its KV cache holds 11, and it throws some of those out again. The load client reports no
# error. This records the run, judges it, and exits 1 as `inferlint-analyze check` does on it.
# Leaves demo.ilb (the evidence) and, once the analyzer has `report`, demo.html (the page).
set -euo pipefail
cd "$(dirname "$0")"

cargo build --locked --quiet -p inferlint-recorder -p inferlint-analyzer -p inferlint-fixtures
bin=${CARGO_TARGET_DIR:-target}/debug
scratch=$(mktemp -d)
server='' recorder=''
# Ends what was started here, by its own process id.
finish() {
  for pid in $recorder $server; do kill "$pid" 2>"$scratch/gone" || true; done
  wait
  rm -rf "$scratch"
}
trap finish EXIT

"$bin/inferlint-sim" serve --max-num-seqs 64 --block-size 128 --num-gpu-blocks-override 60 \
  --boot-s 0.3 --port 0 --ready-file "$scratch/ready" >"$scratch/server.log" 2>&1 &
server=$!
for _ in $(seq 200); do [ -s "$scratch/ready" ] && break; sleep 0.05; done
[ -s "$scratch/ready" ] || { cat "$scratch/server.log" >&2; exit 2; }
address=$(cat "$scratch/ready")

"$bin/inferlint-record" watch --url "http://$address" --interval 250ms --force \
  --marks "$scratch/marks" -o demo.ilb >"$scratch/watch.log" 2>&1 &
recorder=$!
for _ in $(seq 200); do [ -e "$scratch/marks" ] && break; sleep 0.05; done
sleep 0.5
echo 'begin c=32 concurrency=32 prompts=64' >>"$scratch/marks"
"$bin/inferlint-sim" bench --port "${address##*:}" --random-input-len 600 --random-output-len 160 \
  --num-prompts 64 --max-concurrency 32 --ignore-eos --disable-tqdm | sed -n '/=== /,$p'
echo 'end c=32' >>"$scratch/marks"
sleep 1
kill "$recorder"
wait "$recorder" || { cat "$scratch/watch.log" >&2; exit 2; }
recorder=''

echo
"$bin/inferlint-analyze" check demo.ilb || true
"$bin/inferlint-analyze" check demo.ilb --format json >"$scratch/verdicts.json" || true
for code in T1 T8; do
  status=$(awk -F'"' -v code="$code" \
    '$2 == "tripwire" { here = $4 == code } here && $2 == "status" { print $4; exit }' \
    "$scratch/verdicts.json")
  [ "$status" = fail ] || { echo "demo: $code is '$status', not 'fail'" >&2; exit 2; }
done
if "$bin/inferlint-analyze" report --help >"$scratch/help" 2>&1; then
  "$bin/inferlint-analyze" report demo.ilb -o demo.html --force >"$scratch/report.log" 2>&1 || true
  [ -s demo.html ] || { cat "$scratch/report.log" >&2; exit 2; }
  echo; echo "page: $PWD/demo.html"
fi
echo "bundle: $PWD/demo.ilb"
exit 1
