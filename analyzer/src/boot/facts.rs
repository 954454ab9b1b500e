//! What a server's log says of its start. Every fact keeps the line it was read from.

use serde::Serialize;

/// A value and where it stands in the log, counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact<T> {
    /// What was read.
    pub value: T,
    /// The line it was read from.
    pub line: u64,
}

/// Which work an attention backend was chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendRole {
    /// The served model.
    Model,
    /// The draft model of speculative decoding.
    Draft,
    /// Prefill only (SGLang's hybrid backends).
    Prefill,
    /// Decode only (SGLang's hybrid backends).
    Decode,
}

/// One choice of an attention backend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backend {
    /// As the engine's option takes it.
    pub name: String,
    /// What it was chosen for.
    pub role: BackendRole,
}

/// Whether the start compiled its kernels. Drives the memory a start has left for the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compile {
    /// Compiled from scratch.
    Cold,
    /// Loaded from a cache of an earlier start.
    Warm,
    /// Not compiled at all.
    Off,
}

/// A value of one engine process: data and pipeline parallel engines each print their own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfProcess<T> {
    /// The process, as its log prefix names it, without the pid.
    pub process: String,
    /// What it printed.
    pub value: T,
    /// Where.
    pub line: u64,
}

/// A named part of the card's memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryPart {
    /// The engine's own name of it: `weights`, `peak activation`, `CUDA graphs`, …
    pub part: String,
    /// Its size.
    pub gib: f64,
    /// The line it was read from.
    pub line: u64,
}

/// The arguments a server printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arguments {
    /// Only arguments that differ from their defaults are listed (vLLM 0.9 on).
    pub only_changed: bool,
    /// Names and values in the order printed.
    pub values: Vec<(String, String)>,
    /// The line they stand on.
    pub line: u64,
}

impl Arguments {
    /// The printed arguments; the value of one that is a secret by its name is not kept.
    pub fn new(values: Vec<(String, String)>, only_changed: bool, line: u64) -> Self {
        let kept = |(name, value): (String, String)| {
            let secret = is_secret(&name) && value != "None";
            let value = if secret { "***".to_owned() } else { value };
            (name, value)
        };
        Self { only_changed, values: values.into_iter().map(kept).collect(), line }
    }

    /// The value as printed. `None` and absent are the same: nothing was asked for.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.values.iter().find(|(n, _)| n == name)?;
        (value != "None").then_some(value.as_str())
    }

    /// The value as a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// vLLM prints its API key in clear before 0.30, SGLang in every release read.
fn is_secret(name: &str) -> bool {
    ["api_key", "api_keys", "password", "secret", "_token"].iter().any(|end| name.ends_with(end))
}

/// Lines that matter while the server serves. Counts since it became ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServingLines {
    /// TensorRT-LLM's `request ID N -> pause`: the only trace of a pause (1.3.0rc29).
    pub pauses: u64,
    /// Requests retracted, as SGLang's retraction lines count them.
    pub retracted: u64,
    /// Requests refused for a full queue: vLLM 0.30 and 0.31 write a line each at INFO (since 0.32 at
    /// DEBUG, where a counter has them), SGLang one with `--max-queued-requests`.
    pub rejected: u64,
    /// Lines about a preemption, which vLLM writes with its V0 engine only (to 0.10).
    pub preempted: u64,
    /// Readings of its metrics that it answered, by its access lines.
    pub scrapes: u64,
    /// Kernels compiled while serving (vLLM's JIT monitor, 0.22 on).
    pub jit_compilations: u64,
    /// The line of the first of them.
    pub first_line: Option<u64>,
}

/// All that one start's log said of the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BootFacts {
    /// `vllm`, `sglang`, `trtllm`, `llamacpp` or `tgi`; absent when no line told.
    pub engine: Option<&'static str>,
    /// The engine's version. SGLang's log has none.
    pub version: Option<Fact<String>>,
    /// The model's name or path.
    pub model: Option<Fact<String>>,
    /// The arguments the server printed.
    pub arguments: Option<Arguments>,
    /// What was asked for, when something was.
    pub requested_backend: Option<Fact<String>>,
    /// Every choice the log shows, in order.
    pub backends: Vec<Fact<Backend>>,
    /// Tokens per KV block that were asked for.
    pub block_size_asked: Option<Fact<u64>>,
    /// Tokens per KV block, forced by the engine above what was asked for.
    pub block_size_forced: Option<Fact<u64>>,
    /// Tokens per KV block, as the log states it.
    pub block_size: Option<Fact<u64>>,
    /// Tokens the KV cache holds: the last figure each engine process printed.
    pub pools: Vec<OfProcess<u64>>,
    /// Blocks the KV cache of one replica holds.
    pub pool_blocks: Option<Fact<u64>>,
    /// Memory for the KV cache, GiB: the last figure each engine process printed.
    pub kv_memory_gib: Vec<OfProcess<f64>>,
    /// How the card's memory was split at the start.
    pub memory: Vec<MemoryPart>,
    /// The most requests the server runs at once.
    pub running_limit: Option<Fact<u64>>,
    /// The limit that was asked for.
    pub running_limit_asked: Option<Fact<u64>>,
    /// Why the limit is lower than asked, in the engine's words.
    pub running_limit_reason: Option<Fact<String>>,
    /// What schedules requests into the KV cache, where the log names it (TensorRT-LLM's V2).
    pub scheduler: Option<Fact<String>>,
    /// The longest request, tokens.
    pub max_model_len: Option<Fact<u64>>,
    /// Ranks a layer is split over.
    pub tensor_parallel: Option<Fact<u64>>,
    /// Ranks the layers are split over.
    pub pipeline_parallel: Option<Fact<u64>>,
    /// Replicas behind one server.
    pub data_parallel: Option<Fact<u64>>,
    /// Front-end processes.
    pub api_servers: Option<Fact<u64>>,
    /// The word the engine uses for its device: `GPU`, `CPU`, `XPU`, `TPU`.
    pub device: Option<Fact<String>>,
    /// Whether kernels were compiled.
    pub compile: Option<Fact<Compile>>,
    /// Seconds the compiler took, in the process where it took longest.
    pub compile_seconds: Option<Fact<f64>>,
    /// Seconds the compiler took in each process.
    #[serde(skip)]
    pub compiled: Vec<OfProcess<f64>>,
    /// Seconds the weights took to load.
    pub load_seconds: Option<Fact<f64>>,
    /// Seconds the engine took to come up after loading.
    pub init_seconds: Option<Fact<f64>>,
    /// Where it listens.
    pub address: Option<Fact<String>>,
    /// The first and the last time the log gives before it says that the server is ready.
    pub started_at: Option<Fact<String>>,
    /// The last time before the ready line.
    pub ready_at: Option<Fact<String>>,
    /// Seconds between the two: none when the log's times cannot be subtracted.
    pub seconds_to_ready: Option<f64>,
    /// The line that said the server serves.
    pub ready_line: Option<u64>,
    /// What was counted after it was ready.
    pub serving: ServingLines,
    /// Lines that hold a fact's words in a form no known release writes.
    pub unparsed: Vec<Fact<String>>,
    /// Said of a version that none of the grammar's forms was checked against.
    pub untested_version: bool,
    /// Lines in the log.
    pub lines: u64,
}

impl BootFacts {
    /// Tokens the KV cache of one replica holds. Replicas that differ give the smallest.
    pub fn pool_tokens(&self) -> Option<u64> {
        self.pools.iter().map(|pool| pool.value).min()
    }

    /// Memory for the KV cache of one process, GiB. Processes that differ give the smallest: the
    /// pool is cut to what the tightest one can hold.
    pub fn kv_gib(&self) -> Option<f64> {
        self.kv_memory_gib.iter().map(|m| m.value).min_by(f64::total_cmp)
    }

    /// GiB of a named part of the card's memory; where several lines give it, the last.
    pub fn memory_part(&self, part: &str) -> Option<f64> {
        self.memory.iter().rev().find(|m| m.part == part).map(|m| m.gib)
    }

    /// The value of a printed argument.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.as_ref()?.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_key_is_not_kept() {
        let listed = [
            ("api_key", "['sk-1']"),
            ("hf_token", "None"),
            ("max_num_batched_tokens", "8"),
            ("tokenizer", "/m"),
        ];
        let values = listed.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        let arguments = Arguments::new(values, true, 1);
        assert_eq!(arguments.get("api_key"), Some("***"));
        assert_eq!(arguments.get("hf_token"), None);
        assert_eq!(arguments.number("max_num_batched_tokens"), Some(8));
        assert_eq!(arguments.get("tokenizer"), Some("/m"));
    }
}
