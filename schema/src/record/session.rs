//! Kind `session`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// The first record of every segment: what was recorded, by what, from when.
    /// It repeats the header frame, for readers that only decompressed the file.
    "session" Session {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// Major format version.
        format: u32,
        /// Minor format version.
        minor: u32,
        /// Program and version, e.g. `inferlint-record 0.1.0`.
        writer: String,
        /// Build of the writer: target and commit. Absent: unknown.
        build: Option<String>,
        /// Random id of this bundle, 32 hex digits.
        bundle_id: String,
        /// Name of the run, `[A-Za-z0-9._-]{1,64}`; equal on all hosts of one run.
        run_id: String,
        /// 0 for the recording, 1 and up for what was appended after a seal.
        segment: u32,
        /// Subcommand: `watch`, `snapshot`, `xray`, `attach`, `import`…
        command: String,
        /// The writer's arguments, masked.
        argv: Vec<Text>,
        /// Wall clock at `t` = 0, Unix time in ns.
        wall_ns: u64,
        /// CLOCK_MONOTONIC at `t` = 0, in ns; comparable with a Python client's `perf_counter` on this host.
        mono_ns: u64,
        /// Identity of the kernel's boot. Absent: could not be read.
        boot_id: Option<String>,
        /// Time zone of the host, e.g. `Europe/Berlin` or `+02:00`. Absent: could not be read.
        tz: Option<String>,
        /// Offset of local time from UTC in seconds. Absent: could not be read.
        tz_offset_s: Option<i64>,
        /// Sampling interval per collector, in ns. Absent: nothing was sampled.
        intervals_ns: Option<BTreeMap<String, u64>>,
        /// `standard` or `strict`. Absent: standard.
        privacy: Option<String>,
        /// What this recorder could do here (`metrics`, `nvml`, `procfs`…). Absent: not looked at.
        abilities: Option<BTreeMap<String, bool>>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
