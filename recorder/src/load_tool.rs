//! Load points told from command lines: a known load tool runs as the load command or below it.
//!
//! A tool is recognised by the structure of its argv (program, module, sub-command), never by a
//! word somewhere in it. What it was asked for becomes the phase's parameters, as written; what was
//! left to the tool's defaults stays absent. One entry in [`TOOLS`] is all a tool needs.

use inferlint_schema::record::Text;
use std::collections::BTreeMap;

/// How a tool is asked to save its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saves {
    /// Only with `--save-result` (or `--append-result`); folder and name have flags of their own.
    /// vLLM 0.8 to 0.33 `benchmarks/serve.py`, TensorRT-LLM 1.x `benchmark_serving.py`.
    OnRequest,
    /// Always, by appending to the file this flag names, else to a name it makes up in the current
    /// folder. SGLang 0.4.6 to 0.5.23 `bench_serving`.
    Always(&'static str),
    /// Only to the file that this flag names. `trtllm-bench`.
    Report(&'static str),
    /// In a way of its own; `--result` says where.
    Elsewhere,
}

/// A load tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its name, the parameter `tool`.
    pub(crate) name: &'static str,
    is: fn(&Command<'_>) -> bool,
    flags: &'static [(&'static str, &'static [&'static str])],
    pub(crate) saves: Saves,
}

/// The flags of `vllm bench serve`, which SGLang's and TensorRT-LLM's clients were made from.
const VLLM_FLAGS: &[(&str, &[&str])] = &[
    ("concurrency", &["max-concurrency"]),
    ("rate", &["request-rate"]),
    ("num_prompts", &["num-prompts", "num-prompt"]),
    ("input_len", &["random-input-len", "input-len", "sonnet-input-len"]),
    (
        "output_len",
        &[
            "random-output-len",
            "output-len",
            "sharegpt-output-len",
            "custom-output-len",
            "hf-output-len",
            "sonnet-output-len",
        ],
    ),
    ("range_ratio", &["random-range-ratio"]),
    ("prefix_len", &["random-prefix-len", "sonnet-prefix-len"]),
    ("seed", &["seed"]),
    ("dataset", &["dataset-name"]),
    ("dataset_path", &["dataset-path"]),
    ("warmups", &["num-warmups", "warmup-requests"]),
    ("ready_check_s", &["ready-check-timeout-sec"]),
    ("burstiness", &["burstiness"]),
    ("backend", &["backend"]),
    ("model", &["model"]),
];

/// The flags of AIPerf, which was made from GenAI-Perf and keeps its names.
const AIPERF_FLAGS: &[(&str, &[&str])] = &[
    ("concurrency", &["concurrency"]),
    ("rate", &["request-rate"]),
    ("num_prompts", &["request-count", "num-requests"]),
    ("input_len", &["isl", "synthetic-input-tokens-mean"]),
    ("output_len", &["osl", "output-tokens-mean"]),
    ("seed", &["random-seed"]),
    ("warmups", &["warmup-request-count", "num-warmup-requests"]),
    ("duration_s", &["benchmark-duration"]),
    ("dataset_path", &["input-file"]),
    ("model", &["model"]),
];

/// Every load tool that is recognised. Sources: the tools' own command lines in the versions that
/// are named with each result format in `docs/engines.md`.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "vllm bench serve",
        is: |c| c.runs("vllm", "vllm.entrypoints.cli.main", &["bench", "serve"]),
        flags: VLLM_FLAGS,
        saves: Saves::OnRequest,
    },
    Tool {
        name: "tensorrt_llm benchmark_serving",
        is: |c| {
            c.module == Some("tensorrt_llm.serve.scripts.benchmark_serving")
                || c.path.ends_with("tensorrt_llm/serve/scripts/benchmark_serving.py")
        },
        flags: VLLM_FLAGS,
        saves: Saves::OnRequest,
    },
    Tool {
        name: "vllm benchmark_serving.py",
        is: |c| c.program == "benchmark_serving.py",
        flags: VLLM_FLAGS,
        saves: Saves::OnRequest,
    },
    Tool {
        name: "sglang bench_serving",
        is: |c| {
            matches!(c.module, Some("sglang.bench_serving" | "sglang.benchmark.serving"))
                || c.program == "bench_serving.py"
        },
        flags: VLLM_FLAGS,
        saves: Saves::Always("output-file"),
    },
    Tool {
        name: "trtllm-bench",
        is: |c| c.program == "trtllm-bench" && c.has_word(&["throughput", "latency"]),
        flags: &[
            ("concurrency", &["concurrency"]),
            ("num_prompts", &["num-requests"]),
            ("dataset_path", &["dataset"]),
            ("warmups", &["warmup"]),
            ("model", &["model"]),
        ],
        saves: Saves::Report("report-json"),
    },
    Tool {
        name: "aiperf",
        is: |c| c.runs("aiperf", "aiperf", &["profile"]),
        flags: AIPERF_FLAGS,
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "genai-perf",
        is: |c| c.runs("genai-perf", "genai_perf.main", &["profile"]),
        flags: AIPERF_FLAGS,
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "guidellm",
        is: |c| {
            c.runs("guidellm", "guidellm", &["run"])
                || (c.runs("guidellm", "guidellm", &["benchmark"]) && !c.has_word(&["from-file"]))
        },
        flags: &[
            ("rate", &["rate"]),
            ("rate_type", &["rate-type"]),
            ("profile", &["profile"]),
            ("constraint", &["constraint"]),
            ("num_prompts", &["max-requests"]),
            ("duration_s", &["max-seconds"]),
            ("dataset", &["data"]),
            ("seed", &["random-seed"]),
        ],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "inference-perf",
        is: |c| c.program == "inference-perf",
        flags: &[("config", &["config-file", "c"])],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "llmperf",
        is: |c| c.program == "token_benchmark_ray.py",
        flags: &[
            ("concurrency", &["num-concurrent-requests"]),
            ("num_prompts", &["max-num-completed-requests"]),
            ("input_len", &["mean-input-tokens"]),
            ("output_len", &["mean-output-tokens"]),
            ("model", &["model"]),
        ],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "inference-benchmarker",
        is: |c| c.program == "inference-benchmarker",
        flags: &[
            ("concurrency", &["max-vus"]),
            ("rate", &["rates"]),
            ("duration_s", &["duration"]),
            ("profile", &["profile"]),
        ],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "genai-bench",
        is: |c| c.runs("genai-bench", "genai_bench", &["benchmark"]),
        flags: &[
            ("concurrency", &["num-concurrency"]),
            ("num_prompts", &["max-requests-per-run"]),
            ("dataset_path", &["dataset-path"]),
        ],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "evalscope perf",
        is: |c| c.runs("evalscope", "evalscope.cli.cli", &["perf"]),
        flags: &[
            ("concurrency", &["parallel"]),
            ("rate", &["rate"]),
            ("num_prompts", &["number", "n"]),
            ("dataset", &["dataset"]),
            ("dataset_path", &["dataset-path"]),
            ("seed", &["seed"]),
            ("output_len", &["max-tokens"]),
        ],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "oha",
        is: |c| c.program == "oha",
        flags: &[("concurrency", &["c"]), ("rate", &["q"]), ("num_prompts", &["n"])],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "wrk",
        is: |c| c.program == "wrk",
        flags: &[("concurrency", &["c", "connections"]), ("duration", &["d", "duration"])],
        saves: Saves::Elsewhere,
    },
    Tool {
        name: "k6",
        is: |c| c.runs("k6", "", &["run"]),
        flags: &[("concurrency", &["vus", "u"]), ("num_prompts", &["iterations", "i"])],
        saves: Saves::Elsewhere,
    },
];

/// Programs that run another one, named in their arguments, in their own place or below them.
const WRAPPERS: &[&str] = &[
    "env",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "numactl",
    "stdbuf",
    "timeout",
    "time",
    "nohup",
    "setsid",
    "uv",
    "poetry",
    "conda",
    "micromamba",
];
/// Words of a wrapper's own that are looked past.
const WRAPPER_WORDS: usize = 16;

/// A command line, taken apart.
#[derive(Debug, Clone, Copy)]
struct Command<'a> {
    /// The script or program as written.
    path: &'a str,
    /// Its last part.
    program: &'a str,
    /// What `python -m` runs.
    module: Option<&'a str>,
    /// The arguments behind it.
    rest: &'a [&'a str],
}

impl<'a> Command<'a> {
    /// Looks past a Python interpreter and its options.
    fn of(argv: &'a [&'a str]) -> Option<Self> {
        let (first, mut rest) = argv.split_first()?;
        let whole = |path: &'a str, rest| Self { path, program: base(path), module: None, rest };
        if !base(first).starts_with("python") {
            return Some(whole(first, rest));
        }
        loop {
            let (word, after) = rest.split_first()?;
            rest = after;
            match *word {
                "-m" => {
                    let (module, rest) = rest.split_first()?;
                    return Some(Self { path: "", program: "", module: Some(module), rest });
                }
                "-X" | "-W" => rest = rest.get(1..)?,
                "-c" | "-" => return None,
                flag if flag.starts_with('-') => {}
                script => return Some(whole(script, rest)),
            }
        }
    }

    /// True for `program SUB…` and `python -m module SUB…`.
    fn runs(&self, program: &str, module: &str, sub: &[&str]) -> bool {
        (self.program == program || (self.module == Some(module) && !module.is_empty()))
            && self.rest.starts_with(sub)
    }

    fn has_word(&self, words: &[&str]) -> bool {
        self.rest.iter().any(|word| words.contains(word))
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A load tool at work, as its command line tells.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: &'static Tool,
    /// Flags without dashes, `_` written as `-`, and their values; the last one given wins.
    options: BTreeMap<String, Option<String>>,
}

/// The load tool that this command line runs, if it is one.
pub(crate) fn recognise(argv: &[impl AsRef<[u8]>]) -> Option<Call> {
    let words: Vec<&str> =
        argv.iter().map(|word| std::str::from_utf8(word.as_ref()).unwrap_or("\u{fffd}")).collect();
    let wrapped = words.first().is_some_and(|first| WRAPPERS.contains(&base(first)));
    let looks = if wrapped { WRAPPER_WORDS } else { 1 };
    (0..words.len().min(looks)).find_map(|from| {
        let command = Command::of(words.get(from..)?)?;
        let tool = TOOLS.iter().find(|tool| (tool.is)(&command))?;
        Some(Call { tool, options: options(command.rest) })
    })
}

fn options(words: &[&str]) -> BTreeMap<String, Option<String>> {
    let mut options = BTreeMap::new();
    for (at, word) in words.iter().enumerate() {
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => {
                (flag, words.get(at + 1).filter(|next| is_value(next)).map(|v| (*v).to_owned()))
            }
        };
        if !name.is_empty() {
            options.insert(name.replace('_', "-"), value);
        }
    }
    options
}

/// A negative number is a value, another word with a dash is an option.
fn is_value(word: &str) -> bool {
    !word.starts_with('-') || word.parse::<f64>().is_ok()
}

impl Call {
    /// The value of a flag. `None`: not given, or given without a value.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.options.get(flag)?.as_deref()
    }

    /// True if the flag was given, with or without a value.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.options.contains_key(flag)
    }

    /// What the load was asked to be, as written.
    pub(crate) fn params(&self) -> BTreeMap<String, Text> {
        let mut params = BTreeMap::from([("tool".to_owned(), Text::from(self.tool.name))]);
        for (key, flags) in self.tool.flags {
            if let Some(value) = flags.iter().find_map(|flag| self.value(flag)) {
                params.insert((*key).to_owned(), Text::from(value));
            }
        }
        if self.has("ignore-eos") {
            params.insert("ignore_eos".to_owned(), Text::from("true"));
        }
        self.guidellm(&mut params);
        params
    }

    /// guidellm's `--rate` is the concurrency when the rate type is `concurrent` (0.6 and before);
    /// later the profile says `kind=concurrent,streams=4` and a constraint `count=30`.
    fn guidellm(&self, params: &mut BTreeMap<String, Text>) {
        let part = |option: &str, key: &str| {
            let pairs = self.value(option)?.split(',').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(k, _)| *k == key).map(|(_, value)| Text::from(value)).next()
        };
        if self.tool.name != "guidellm" {
            return;
        }
        if self.value("rate-type") == Some("concurrent") {
            params.remove("rate").map(|rate| params.insert("concurrency".to_owned(), rate));
        }
        for (option, key, name) in [
            ("profile", "streams", "concurrency"),
            ("profile", "rate", "rate"),
            ("constraint", "count", "num_prompts"),
            ("constraint", "seconds", "duration_s"),
        ] {
            if let Some(value) = part(option, key) {
                params.insert(name.to_owned(), value);
            }
        }
    }
}

/// Names a point after what was asked: `c=32`, `rate=4`, `c=32,rate=4`, else `load`.
pub(crate) fn point_name(params: &BTreeMap<String, Text>) -> String {
    let part = |key: &str, short: &str| {
        let value = params.get(key)?.lossy();
        let open = ["inf", "Infinity", "-1", "0"].contains(&value.as_ref());
        (!open).then(|| format!("{short}={value}"))
    };
    let parts: Vec<String> =
        [part("concurrency", "c"), part("rate", "rate")].into_iter().flatten().collect();
    if parts.is_empty() { "load".to_owned() } else { parts.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Option<Call> {
        recognise(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn load_tools_are_told_by_structure() {
        for (line, name) in [
            ("vllm bench serve --model m", "vllm bench serve"),
            ("/v/bin/python3 /v/bin/vllm bench serve", "vllm bench serve"),
            ("python -u -X dev -m vllm.entrypoints.cli.main bench serve", "vllm bench serve"),
            ("timeout -k 5 600 vllm bench serve", "vllm bench serve"),
            ("env A=1 nice -n 5 python -m sglang.bench_serving", "sglang bench_serving"),
            ("python3.12 -m sglang.benchmark.serving --backend vllm", "sglang bench_serving"),
            (
                "python -m tensorrt_llm.serve.scripts.benchmark_serving --model m",
                "tensorrt_llm benchmark_serving",
            ),
            (
                "python /x/tensorrt_llm/serve/scripts/benchmark_serving.py",
                "tensorrt_llm benchmark_serving",
            ),
            ("python benchmarks/benchmark_serving.py", "vllm benchmark_serving.py"),
            ("trtllm-bench --model m throughput --dataset d", "trtllm-bench"),
            ("aiperf profile -m x", "aiperf"),
            ("guidellm benchmark --target http://127.0.0.1", "guidellm"),
            ("guidellm run", "guidellm"),
            ("uv run genai-perf profile", "genai-perf"),
            ("wrk -c 4 http://127.0.0.1", "wrk"),
        ] {
            assert_eq!(run(line).map(|run| run.tool.name), Some(name), "{line}");
        }
        for line in [
            "vllm serve model",
            "vllm bench throughput",
            "bash -c vllm bench serve",
            "grep vllm bench serve",
            "python -c import vllm bench serve",
            "python",
            "guidellm benchmark from-file x",
            "vim benchmark_serving.py",
            "",
        ] {
            assert!(run(line).is_none(), "{line}");
        }
    }

    #[test]
    fn parameters_are_as_written_and_the_last_one_wins() {
        let run =
            run("vllm bench serve --max-concurrency=8 --max_concurrency 32 --request-rate inf \
             --num-prompts 48 --random-input-len 88 --random-output-len 300 --seed 1 --ignore-eos \
             --dataset-name random --temperature -1")
            .unwrap();
        let params = run.params();
        let get = |key: &str| params.get(key).map(|value| value.lossy().into_owned());
        for (key, value) in [
            ("tool", Some("vllm bench serve")),
            ("concurrency", Some("32")),
            ("rate", Some("inf")),
            ("num_prompts", Some("48")),
            ("input_len", Some("88")),
            ("output_len", Some("300")),
            ("seed", Some("1")),
            ("dataset", Some("random")),
            ("ignore_eos", Some("true")),
            ("warmups", None),
        ] {
            assert_eq!(get(key).as_deref(), value, "{key}");
        }
        assert_eq!(run.value("temperature"), Some("-1"));
        assert!(run.has("ignore-eos") && run.value("ignore-eos").is_none());
    }

    #[test]
    fn guidellm_says_concurrency_in_two_ways() {
        for line in [
            "guidellm benchmark --rate-type concurrent --rate 4",
            "guidellm run --profile kind=concurrent,streams=4 --constraint kind=max_requests,count=30",
        ] {
            let params = run(line).unwrap().params();
            assert_eq!(params.get("concurrency"), Some(&Text::from("4")), "{line}");
            assert!(!params.contains_key("rate"));
        }
    }

    #[test]
    fn aiperf_and_what_it_was_made_from_share_their_flags() {
        let flags = "profile -m m --concurrency 4 --isl 128 --random-seed 7";
        for (line, tool) in [
            (format!("aiperf {flags} --warmup-request-count 2"), "aiperf"),
            (format!("genai-perf {flags} --num-warmup-requests 2"), "genai-perf"),
        ] {
            let params = run(&line).unwrap().params();
            for (key, value) in
                [("tool", tool), ("concurrency", "4"), ("input_len", "128"), ("warmups", "2")]
            {
                assert_eq!(params.get(key), Some(&Text::from(value)), "{line} {key}");
            }
        }
    }

    #[test]
    fn points_are_named_after_what_was_asked() {
        let name = |pairs: &[(&str, &str)]| {
            point_name(&pairs.iter().map(|(k, v)| ((*k).to_owned(), Text::from(*v))).collect())
        };
        assert_eq!(name(&[("concurrency", "4"), ("rate", "inf")]), "c=4");
        assert_eq!(name(&[("rate", "2")]), "rate=2");
        assert_eq!(name(&[("concurrency", "4"), ("rate", "2")]), "c=4,rate=2");
        assert_eq!(name(&[("concurrency", "-1")]), "load");
        assert_eq!(name(&[]), "load");
    }
}
