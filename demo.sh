#!/usr/bin/env bash
# A benchmark that looks valid and is not, without a GPU: a simulated vLLM is asked for 32 requests
# at once, its KV cache holds 11, and it throws some of those out again. The load client reports no
# error. This records the run, judges it, and exits 1 as `inferlint-analyze check` does on it.
# Leaves demo.ilb (the evidence) and demo.html (the page).
set -euo pipefail
cd "$(dirname "$0")"

cargo build --locked --quiet -p inferlint-recorder -p inferlint-analyzer -p inferlint-fixtures
bin=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Under this name the simulator stands for vLLM's two commands.
ln -s "$bin/inferlint-sim" "$scratch/vllm"
PATH="$scratch:$PATH"
for port in $(seq 18100 18199) none; do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>"$scratch/closed" || break
done

# The simulated server uses no GPU, whatever this machine has.
export CUDA_VISIBLE_DEVICES=
status=0
"$bin/inferlint-record" xray -o demo.ilb --force --interval 250ms \
  --serve "vllm serve --port $port --max-num-seqs 64 --block-size 128 --num-gpu-blocks-override 60 --boot-s 0.3" \
  -- vllm bench serve --port "$port" --random-input-len 600 --random-output-len 160 \
  --num-prompts 64 --max-concurrency 32 --ignore-eos --disable-tqdm || status=$?
[ "$status" -eq 1 ] && [ -s demo.html ] || { echo "demo: ended with $status, not 1" >&2; exit 2; }

"$bin/inferlint-analyze" check demo.ilb --format json >"$scratch/verdicts.json" || true
for code in T1 T8; do
  verdict=$(awk -F'"' -v code="$code" \
    '$2 == "tripwire" { here = $4 == code } here && $2 == "status" { print $4; exit }' \
    "$scratch/verdicts.json")
  [ "$verdict" = fail ] || { echo "demo: $code is '$verdict', not 'fail'" >&2; exit 2; }
done
printf '\npage:   %s/demo.html\nbundle: %s/demo.ilb\n' "$PWD" "$PWD"
exit 1
