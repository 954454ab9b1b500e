//! What an inference engine calls the things that checks speak of.
//!
//! A check asks for a [`Signal`]; the engine's table says under which metric names it is exported,
//! which series of a metric may be added, and which sibling proves that an absent series reads 0.
//! One file an engine.

#[cfg(test)]
mod page;

use inferlint_schema::engine as identity;

/// Something a server exports, whatever the engine calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Requests being worked on now.
    Running,
    /// Requests that wait to be worked on now.
    Waiting,
    /// Share of the KV cache in use, 0..1.
    KvUsage,
    /// Requests thrown out of the KV cache to be computed again (vLLM: preempted, SGLang: retracted).
    Preemptions,
    /// Requests paused now.
    Paused,
    /// Prompt tokens of requests, cached ones included.
    PromptTokens,
    /// Prompt tokens that came from a cache.
    CachedPromptTokens,
    /// Prompt tokens by where they came from (label `source` or `mode`).
    PromptTokensBySource,
    /// Tokens looked up in the prefix cache.
    PrefixQueries,
    /// Tokens found in the prefix cache.
    PrefixHits,
    /// Prompt tokens computed in prefill, those computed again after a preemption included.
    PrefillTokens,
    /// Generated tokens.
    GenerationTokens,
    /// Finished requests, by reason where the engine tells it.
    Finished,
    /// Generated tokens of finished requests.
    FinishedTokens,
    /// Output tokens that finished requests were limited to.
    AskedTokens,
    /// Finished requests that had such a limit.
    AskedRequests,
    /// Requests the server refused to queue.
    Rejections,
    /// Requests the server aborted.
    Aborts,
    /// Requests answered with an error.
    Errors,
    /// Requests that got a first token.
    FirstTokens,
    /// Sum of the times to first token, in seconds.
    FirstTokenSeconds,
    /// Requests that ended, as the end-to-end latency histogram counts them.
    Ended,
    /// Sum of end-to-end latencies, in seconds.
    EndedSeconds,
    /// Requests whose time in the queue was counted.
    Queued,
    /// Sum of times in the queue, in seconds.
    QueueSeconds,
    /// Sum of prefill times, in seconds.
    PrefillSeconds,
    /// Sum of decode times, in seconds.
    DecodeSeconds,
    /// Preemptions of finished requests, as the per-request histogram counts them.
    PreemptionsPerRequest,
    /// HTTP responses by handler and status.
    HttpResponses,
    /// Most requests the server runs at once.
    RunningLimit,
    /// Forward passes by mode.
    Passes,
}

impl Signal {
    /// A figure of the moment. The engines set these together: one that is there while another is
    /// not says that the other is not exported, not that it is 0.
    pub fn is_gauge(self) -> bool {
        Self::GAUGES.contains(&self)
    }

    const GAUGES: [Self; 3] = [Self::Running, Self::Waiting, Self::KvUsage];

    /// Whether the signal can have this value at all.
    pub fn allows(self, value: f64) -> bool {
        // Rounding may carry a full cache a step above 1.
        let most = if self == Self::KvUsage { 1.01 } else { f64::MAX };
        (0.0..=most).contains(&value)
    }
}

/// Which series of a metric are added to one figure per replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// All of them.
    All,
    /// Of series that differ in these labels only the lowest: ranks that export the same figure.
    LowestOf(&'static [&'static str]),
    /// Of series that differ in this label only the highest: a process that replaced another.
    HighestOf(&'static str),
}

/// How one signal is exported.
#[derive(Debug)]
pub struct Metric {
    /// What it is.
    pub signal: Signal,
    /// Metric names, the newest first; older names follow.
    pub names: &'static [&'static str],
    /// Metrics of the same writer that are there from the start. One of them present while the
    /// signal is absent: the signal reads 0. Empty: an absent series is unknown.
    pub witnesses: &'static [&'static str],
    /// Which series are added.
    pub pick: Pick,
    /// The releases that do not have it: there its absence is no 0, whatever the witnesses say.
    pub not_in: Option<Release>,
}

/// Releases, told by what their exposition has and lacks.
#[derive(Debug)]
pub struct Release {
    /// A metric that they and later ones export.
    pub has: &'static str,
    /// Metrics of which later ones export at least one.
    pub lacks: &'static [&'static str],
}

/// One inference engine.
#[derive(Debug)]
pub struct Engine {
    /// Short name, as in its identity.
    pub name: &'static str,
    /// Python distributions that carry its version.
    pub packages: &'static [&'static str],
    /// The label that tells replicas behind one address apart.
    pub replica_label: Option<&'static str>,
    /// A label with which a metric also has a total: the series where it is empty.
    pub total_label: Option<&'static str>,
    /// Why gauges do not show the moment they are read at, for engines where they do not.
    pub gauges_lag: Option<&'static str>,
    /// Gauges may keep their last values for a while after the last request, whose tokens are counted
    /// as it ends.
    pub gauges_stay: bool,
    /// What to set when the gauges are missing.
    pub gauges_setting: &'static str,
    /// Half of the step to which the KV gauge is rounded, 0 when it is exact.
    pub usage_rounding: f64,
    /// Counters of which every label's series is there from the server's start.
    pub made_at_start: &'static [Signal],
    /// The option that sets how many requests run at once.
    pub running_limit_option: &'static str,
    /// What the engine calls a preemption.
    pub preemption: &'static str,
    /// The signals it exports.
    pub metrics: &'static [Metric],
}

/// Lists the engines once, in the order of their identities.
macro_rules! engines {
    ($($module:ident $name:ident),* $(,)?) => {
        $( mod $module; )*

        /// Every engine.
        pub static ENGINES: &[&Engine] = &[$( &$module::$name ),*];
    };
}

engines! {
    vllm VLLM,
    sglang SGLANG,
    trtllm TRTLLM,
    llamacpp LLAMACPP,
    tgi TGI,
}

impl Engine {
    /// The engine of that short name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENGINES.iter().copied().find(|engine| engine.name == name)
    }

    /// The engine whose metrics these are. A router's or another program's metrics are none.
    pub fn of_metrics<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'static Self> {
        identity::of_series(names).and_then(|engine| Self::named(engine.name))
    }

    /// Name for people.
    pub fn title(&self) -> &'static str {
        identity::by_name(self.name).map_or(self.name, |engine| engine.title)
    }

    /// The gauges besides `signal` that are set together with it.
    pub fn set_together(&self, signal: Signal) -> impl Iterator<Item = &'static str> + '_ {
        let others = Signal::GAUGES.into_iter().filter(move |s| signal.is_gauge() && *s != signal);
        others.filter_map(|other| self.metric(other)).flat_map(|metric| metric.names).copied()
    }

    /// How `signal` is exported; `None` when the engine has nothing like it.
    pub fn metric(&self, signal: Signal) -> Option<&'static Metric> {
        self.metrics.iter().find(|metric| metric.signal == signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_carries_its_engines_prefix_or_is_a_web_frameworks() {
        for engine in ENGINES {
            for metric in engine.metrics {
                assert!(!metric.names.is_empty());
                for name in metric.names.iter().chain(metric.witnesses) {
                    let prefixes = identity::by_name(engine.name).unwrap().prefixes;
                    let own = prefixes.iter().any(|prefix| name.starts_with(prefix));
                    assert!(own || name.starts_with("http_"), "{}: {name}", engine.name);
                }
            }
        }
    }

    #[test]
    fn a_signal_is_declared_once_an_engine() {
        for engine in ENGINES {
            let signals: BTreeSet<_> = engine.metrics.iter().map(|m| m.signal).collect();
            assert_eq!(signals.len(), engine.metrics.len(), "{}", engine.name);
        }
    }

    #[test]
    fn every_identity_has_an_engine() {
        let identities: Vec<_> = identity::ENGINES.iter().map(|engine| engine.name).collect();
        let engines: Vec<_> = ENGINES.iter().map(|engine| engine.name).collect();
        assert_eq!(engines, identities);
    }
}
