#!/usr/bin/env python3
"""Does recording slow a server? Windows with and without the recorder, within one load.

usage: throughput.py RECORDER URL COUNTER ROUNDS SECONDS

First start a load against URL that outlasts it. COUNTER is the exposition's counter of generated
tokens, e.g. vllm:generation_tokens_total. A round has six windows of SECONDS seconds: no recorder,
1 Hz, 4 Hz, 4 Hz, 1 Hz, no recorder, so that a steady drift of the machine's speed favours nobody.
A window begins when its recorder has been at work for 1.5 s. Printed: tokens per second at 1 Hz and
at 4 Hz as a ratio to those without in the same round, as geometric mean with the 95 % interval of
Student's t over the rounds; and the same for the second window without to the first, which should
be 1. Standard library only.
"""

import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

INTERVALS = {"off": None, "1 Hz": "1s", "4 Hz": "250ms"}
ORDER = [*INTERVALS, *reversed(INTERVALS)]
SETTLING = 1.5


def tokens(url, counter):
    """The counter's sum over its series, and when it was read."""
    with urllib.request.urlopen(url + "/metrics", timeout=30) as reply:
        text = reply.read().decode()
    found = re.findall(rf"^{re.escape(counter)}(?:{{.*}})? (\S+)", text, re.MULTILINE)
    return sum(map(float, found)), time.monotonic()


def window(interval, recorder, url, counter, seconds, bundle):
    """Tokens per second of one window."""
    command = ["sleep", str(seconds + SETTLING + 0.5)]
    if interval:
        xray = [recorder, "xray", "--quiet", "--force", "--no-analyze", "-o", bundle]
        command = [*xray, "--interval", interval, "--url", url, "--", *command]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as recording:
        time.sleep(SETTLING)
        before, began = tokens(url, counter)
        time.sleep(seconds)
        after, ended = tokens(url, counter)
        assert recording.wait() == 0, f"{command} failed"
    return (after - before) / (ended - began)


def student(freedom):
    """Two-sided 95 % point of Student's t: Fisher's expansion, good to 0.2 % from 5 on."""
    z = 1.959964
    a = (z**3 + z) / 4
    b = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    c = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + a / freedom + b / freedom**2 + c / freedom**3


def main():
    recorder, url, counter, rounds, seconds = sys.argv[1:]
    ratios = {"1 Hz": [], "4 Hz": [], "off": []}
    with tempfile.TemporaryDirectory() as folder:
        bundle = str(Path(folder) / "run.ilb")
        for k in range(int(rounds)):
            logs = [
                math.log(window(INTERVALS[name], recorder, url, counter, float(seconds), bundle))
                for name in ORDER
            ]
            off = (logs[0] + logs[5]) / 2
            ratios["1 Hz"].append((logs[1] + logs[4]) / 2 - off)
            ratios["4 Hz"].append((logs[2] + logs[3]) / 2 - off)
            ratios["off"].append(logs[5] - logs[0])
            print(k + 1, [f"{name} {math.exp(log):.0f}" for name, log in zip(ORDER, logs)], flush=True)
    for name, logs in ratios.items():
        mean, n = statistics.fmean(logs), len(logs)
        half = student(n - 1) * statistics.stdev(logs) / math.sqrt(n)
        low, mid, high = (math.exp(x) for x in (mean - half, mean, mean + half))
        print(f"{name} to off: {mid:.4f}, 95 % interval {low:.4f} to {high:.4f}, {n} rounds")


if __name__ == "__main__":
    main()
