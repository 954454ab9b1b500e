//! llama.cpp server: recognised, its log and failures are read; its metrics carry nothing that the
//! checks ask for.

use super::Engine;

pub(super) static LLAMACPP: Engine = Engine {
    name: "llamacpp",
    packages: &[],
    replica_label: None,
    total_label: None,
    gauges_lag: None,
    gauges_stay: false,
    gauges_setting: "start the server with --metrics",
    usage_rounding: 0.0,
    made_at_start: &[],
    running_limit_option: "--parallel",
    preemption: "preemption",
    metrics: &[],
};
