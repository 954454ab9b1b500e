#!/usr/bin/env python3
"""Does recording change a benchmark's throughput? Paired runs of one load on one running server.

usage: throughput.py RECORDER URL ROUNDS -- LOAD…     ({result} in LOAD becomes the result file)

A round is the load without the recorder, recorded at 1 Hz and recorded at 4 Hz, in an order that
turns from round to round. Printed: for each rate and for a second look at "off" the ratio of output
tokens per second to the same round's run without the recorder, as geometric mean with the 95 %
interval of Student's t over the rounds. Standard library only.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ARMS = ["off", "1 Hz", "4 Hz", "off again"]
INTERVAL = {"1 Hz": "1s", "4 Hz": "250ms"}
# Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom.
T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
       2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
       2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def run(arm, recorder, url, load, folder):
    """Output tokens per second of one run, as the load tool gives them."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    command = [arg.replace("{result}", str(result)) for arg in load]
    if arm in INTERVAL:
        bundle = str(folder / "run.ilb")
        xray = [recorder, "xray", "--quiet", "--force", "--no-analyze", "-o", bundle]
        command = [*xray, "--interval", INTERVAL[arm], "--url", url, "--", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(result.read_text())["output_throughput"]


def main():
    recorder, url, rounds, dashes, *load = sys.argv[1:]
    assert dashes == "--", __doc__
    logs = {arm: [] for arm in ARMS[1:]}
    with tempfile.TemporaryDirectory() as folder:
        for k in range(int(rounds)):
            order = ARMS[k % len(ARMS):] + ARMS[: k % len(ARMS)]
            seen = {arm: run(arm, recorder, url, load, Path(folder)) for arm in order}
            print(k + 1, {arm: round(seen[arm], 1) for arm in ARMS}, flush=True)
            for arm, ratios in logs.items():
                ratios.append(math.log(seen[arm] / seen["off"]))
    for arm, ratios in logs.items():
        mean, n = statistics.fmean(ratios), len(ratios)
        half = T95[n - 2] * statistics.stdev(ratios) / math.sqrt(n)
        low, mid, high = (math.exp(x) for x in (mean - half, mean, mean + half))
        print(f"{arm}: {mid:.4f} of off, 95 % interval {low:.4f} to {high:.4f}, {n} rounds")


if __name__ == "__main__":
    main()
