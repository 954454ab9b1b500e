//! Text Generation Inference: recognised, its log and failures are read; its metrics carry nothing
//! that the checks ask for.

use super::Engine;

pub(super) static TGI: Engine = Engine {
    name: "tgi",
    packages: &["text_generation_server"],
    replica_label: None,
    total_label: None,
    gauges_lag: None,
    gauges_stay: false,
    gauges_setting: "its metrics are always on",
    usage_rounding: 0.0,
    made_at_start: &[],
    running_limit_option: "--max-concurrent-requests",
    preemption: "preemption",
    metrics: &[],
};
