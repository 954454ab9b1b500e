//! Results of load tools, saved or printed: one file a tool.
//!
//! Python writers leave bare `Infinity` and `NaN` in their JSON, and several append one document
//! after another to the same file. Both are read; what was done about them is kept.

mod aiperf;
mod genai_bench;
mod guidellm;
mod inference_perf;
mod printed;
mod sglang;
mod trtllm;
mod vllm;

pub use printed::{Table, tables};

use crate::boot::pyrepr;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a load tool says it did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientResult {
    /// The tool, e.g. `vllm bench serve`.
    pub tool: &'static str,
    /// Requests that succeeded.
    pub completed: u64,
    /// Requests that failed. `None`: the file does not say.
    pub failed: Option<u64>,
    /// Requests that were to be sent. `None`: the file does not say.
    pub num_prompts: Option<u64>,
    /// Prompt tokens of the requests that succeeded.
    pub input_tokens: Option<u64>,
    /// Output tokens of the requests that succeeded.
    pub output_tokens: Option<u64>,
    /// Output tokens as the tool counts them itself from the text.
    pub retokenized: Option<u64>,
    /// Output tokens that its rates are of, where it counts the text itself although the server tells.
    pub rated_tokens: Option<u64>,
    /// Requests outside its figures, where the result tells.
    pub told_untimed: Option<Untimed>,
    /// The tool's own duration in seconds.
    pub duration_s: Option<f64>,
    /// Output tokens a second, as the tool says.
    pub output_throughput: Option<f64>,
    /// Requests a second, as the tool says.
    pub request_throughput: Option<f64>,
    /// Prompt and output tokens a second, as the tool says.
    pub total_throughput: Option<f64>,
    /// Requests at once that were asked for. `None`: unlimited, or the file does not say.
    pub max_concurrency: Option<f64>,
    /// Requests a second that were asked for. `None`: unlimited, or the file does not say.
    pub rate: Option<f64>,
    /// Output tokens asked for a request. `None`: the file does not say.
    pub output_len: Option<u64>,
    /// Requests that the tool sent beside the load to probe the server, and got an answer to.
    pub probes: u64,
    /// Most requests open at once, by the tool's own count of those that succeeded; at least so many
    /// as were, because it counts by the second.
    pub most_open: Option<f64>,
    /// Latency figures in ms by the tool's own key, e.g. `median_ttft_ms`.
    pub latencies: BTreeMap<String, f64>,
    /// Documents in the file; this is the last.
    pub documents: usize,
    /// Bare `NaN` and `Infinity` that were read as absent.
    pub not_finite: usize,
    /// Where the tool printed it, e.g. `load stdout, line 57`. `None`: it saved it to a file.
    pub printed: Option<String>,
}

/// What a load tool's arguments ask for, by the names that phases use. The three engines' own tools
/// share these flags.
const FLAGS: &[(&str, &[&str])] = &[
    ("concurrency", &["--max-concurrency"]),
    ("rate", &["--request-rate"]),
    ("num_prompts", &["--num-prompts"]),
    ("input_len", &["--random-input-len", "--random-input", "--input-len"]),
    ("output_len", &["--random-output-len", "--random-output", "--output-len"]),
    ("prefix_len", &["--random-prefix-len"]),
    ("range_ratio", &["--random-range-ratio"]),
    ("dataset", &["--dataset-name"]),
    ("seed", &["--seed"]),
    ("warmups", &["--num-warmups", "--warmup-requests"]),
];

/// The parameters that a load tool's arguments name, as `--flag value` or `--flag=value`.
pub fn params(argv: &[String]) -> BTreeMap<String, String> {
    let mut params = BTreeMap::new();
    for (i, argument) in argv.iter().enumerate() {
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (argument.as_str(), argv.get(i + 1).map(String::as_str)),
        };
        let known = FLAGS.iter().find(|(_, flags)| flags.contains(&flag));
        if let (Some((name, _)), Some(value)) = (known, value) {
            params.insert((*name).to_owned(), value.to_owned());
        }
    }
    params
}

/// The parameters that a load tool's output names: the three engines' own tools print all their
/// arguments, defaults too, as `Namespace(…)`.
pub fn printed_params(output: &str) -> BTreeMap<String, String> {
    let printed = output.lines().find_map(|line| line.get(line.find("Namespace(")?..));
    let pairs: BTreeMap<String, String> = pyrepr::pairs(printed.unwrap_or_default())
        .into_iter()
        .filter(|(_, value)| value != "None")
        .collect();
    // The lengths of random data have defaults that other data sets do not follow.
    let random = pairs.get("dataset_name").is_some_and(|name| name.starts_with("random"));
    let mut params = BTreeMap::new();
    for (name, flags) in FLAGS {
        let own = |flag: &&&str| random || !flag.starts_with("--random");
        let value = flags
            .iter()
            .rev()
            .filter(own)
            .find_map(|flag| pairs.get(&flag.trim_start_matches('-').replace('-', "_")));
        if let Some(value) = value {
            params.insert((*name).to_owned(), value.clone());
        }
    }
    params
}

/// Requests that a load tool sends and leaves out of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Untimed {
    /// So many at most, by the tool's output, flags or defaults.
    pub known: u64,
    /// So many more that some versions of the tool send and nothing recorded tells.
    pub perhaps: u64,
}

/// A load tool's result format.
struct Format {
    recognise: fn(&Map<String, Value>) -> bool,
    parse: fn(&Map<String, Value>) -> Option<ClientResult>,
}

/// Most specific first: the formats share most keys.
static FORMATS: &[Format] = &[
    aiperf::PROFILE,
    guidellm::BENCHMARKS,
    inference_perf::LIFECYCLE,
    genai_bench::SCENARIO,
    trtllm::BENCH,
    sglang::SERVING,
    trtllm::SERVING,
    vllm::SERVE,
];

impl ClientResult {
    /// The requests the tool sent outside its clock: by the result, else by its output, else by its
    /// flags, else by its defaults.
    pub fn untimed(&self, output: Option<&str>, params: &BTreeMap<String, String>) -> Untimed {
        if let Some(told) = self.told_untimed {
            return told;
        }
        let known = output.map_or(0, announced);
        if output.is_some_and(shows_the_start) {
            return Untimed { known, perhaps: 0 };
        }
        // An output whose beginning was not kept announces what it still can.
        let unseen = self.unseen(params);
        Untimed { known: known.max(unseen.known), perhaps: unseen.perhaps }
    }

    /// The same without an output that shows its start.
    fn unseen(&self, params: &BTreeMap<String, String>) -> Untimed {
        let warmups = params.get("warmups").and_then(|n| n.parse().ok());
        match self.tool {
            sglang::TOOL => Untimed { known: warmups.unwrap_or(sglang::WARMUPS), perhaps: 0 },
            trtllm::BENCH_TOOL => Untimed { known: 0, perhaps: 0 },
            // One test request unless `--no-test-input`.
            trtllm::TOOL => Untimed { known: 1, perhaps: 0 },
            _ => Untimed { known: warmups.unwrap_or(0), perhaps: 1 },
        }
    }

    /// Whether the tool is SGLang's: its random lengths reach down to their range ratio.
    pub fn is_sglang(&self) -> bool {
        self.tool == sglang::TOOL
    }

    /// Whether the tool runs the engine itself, so that there is no server to hold against it.
    pub fn is_without_server(&self) -> bool {
        self.tool == trtllm::BENCH_TOOL
    }

    /// By how much a figure may be off that is shown with two decimals: 0 in a file.
    pub fn rounding(&self) -> f64 {
        if self.printed.is_some() { 0.005 } else { 0.0 }
    }

    /// What the table that the tool printed says otherwise, in words.
    pub fn unlike(&self, printed: &Self) -> Vec<String> {
        let count = |n: Option<u64>| n.map(|n| n as f64);
        let mut figures = vec![
            ("completed", Some(self.completed as f64), Some(printed.completed as f64)),
            ("failed", count(self.failed), count(printed.failed)),
            ("input tokens", count(self.input_tokens), count(printed.input_tokens)),
            ("output tokens", count(self.output_tokens), count(printed.output_tokens)),
            ("duration", self.duration_s, printed.duration_s),
            ("output throughput", self.output_throughput, printed.output_throughput),
        ];
        figures.extend(
            printed
                .latencies
                .iter()
                .map(|(key, value)| (key.as_str(), self.latencies.get(key).copied(), Some(*value))),
        );
        let differs = |(name, saved, printed): (&str, Option<f64>, Option<f64>)| {
            let (saved, printed) = (saved?, printed?);
            // Half of the last digit shown, and a hair for binary fractions.
            let apart = (saved - printed).abs() > 0.005 + saved.abs() * 1e-9;
            apart.then(|| format!("{name} {saved}, printed {printed}"))
        };
        figures.into_iter().filter_map(differs).collect()
    }

    fn read(map: &Map<String, Value>) -> Option<Self> {
        let format = FORMATS.iter().find(|format| (format.recognise)(map))?;
        (format.parse)(map)
    }

    /// Reads a result file: the last document of a known format, which may be the only one of a
    /// list.
    ///
    /// # Errors
    /// In words, when nothing in it is the result of a tool that is known, or a list has several.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Shells of Windows put a byte order mark before what they redirect.
        let text = text.trim_start_matches('\u{feff}');
        let (clean, not_finite) = without_bare_constants(text);
        let mut found = None;
        let mut documents = 0;
        let mut error = None;
        for document in serde_json::Deserializer::from_str(&clean).into_iter::<Value>() {
            match document {
                Ok(Value::Object(map)) => {
                    documents += 1;
                    found = Self::read(&map).or(found);
                }
                Ok(Value::Array(list)) => {
                    let maps = list.iter().filter_map(Value::as_object);
                    let mut results: Vec<Self> = maps.filter_map(Self::read).collect();
                    if results.len() > 1 {
                        // Of appended documents the last is this load's; of a list none is.
                        let count = results.len();
                        return Err(format!("a list of {count} results, of one load each"));
                    }
                    documents += results.len();
                    found = results.pop().or(found);
                }
                Ok(_) => {}
                Err(problem) => {
                    error = Some(problem);
                    break;
                }
            }
        }
        match (found, error) {
            // The document that is cut is this load's, those before it are of others.
            (Some(_), Some(problem)) if problem.is_eof() => {
                Err(format!("cut before the end of its document {}", documents + 1))
            }
            (Some(found), _) => Ok(Self { documents, not_finite, ..found }),
            (None, Some(problem)) => Err(format!("no JSON: {problem}")),
            (None, None) => Err("JSON, but of no load tool that is known".into()),
        }
    }

    /// Prompt and output tokens of the mean request. `None`: the file does not say, or says that there
    /// were no prompt tokens, as SGLang's tool does of talks of several turns.
    pub fn mean_tokens(&self) -> Option<(f64, f64)> {
        let prompts = self.input_tokens.filter(|tokens| *tokens > 0)?;
        let completed = Some(self.completed as f64).filter(|n| *n > 0.0)?;
        Some((prompts as f64 / completed, self.output_tokens? as f64 / completed))
    }
}

/// True for text that ends inside a JSON value, or holds none.
pub(crate) fn is_cut(text: &str) -> bool {
    let (clean, _) = without_bare_constants(text.trim_start_matches('\u{feff}'));
    let mut documents =
        serde_json::Deserializer::from_str(&clean).into_iter::<serde::de::IgnoredAny>();
    clean.trim().is_empty() || documents.any(|document| document.is_err_and(|error| error.is_eof()))
}

/// Whether a tool's output goes back to before its load: its arguments, or what it does and says first.
fn shows_the_start(output: &str) -> bool {
    ["Namespace(", "Traffic request rate", "Starting ", "Warming up with ", "Skipping "]
        .iter()
        .any(|first| output.contains(first))
}

/// Test requests and warm-ups that a tool's output announces. The line that starts the test stands
/// there also when the test is then left out.
fn announced(output: &str) -> u64 {
    let tested = output.contains("Initial test run completed")
        || output.contains("Starting initial single prompt test run")
            && !output.contains("Skipping endpoint ready check");
    let warmups = output.lines().find_map(|line| {
        let rest = ["Warming up with ", "Starting warmup with "]
            .into_iter()
            .find_map(|words| line.trim().strip_prefix(words))?;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    u64::from(tested) + warmups.unwrap_or(0)
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings by `null`, and counts them.
pub(crate) fn without_bare_constants(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut replaced = 0;
    let mut rest = text;
    let mut in_string = false;
    while let Some(c) = rest.chars().next() {
        let constant =
            ["-Infinity", "Infinity", "NaN"].iter().find(|name| rest.starts_with(**name));
        if let Some(name) = constant.filter(|_| !in_string) {
            out.push_str("null");
            replaced += 1;
            rest = rest.get(name.len()..).unwrap_or_default();
            continue;
        }
        let mut taken = c.len_utf8();
        if in_string && c == '\\' {
            taken += rest.chars().nth(1).map_or(0, char::len_utf8);
        } else if c == '"' {
            in_string = !in_string;
        }
        out.push_str(rest.get(..taken).unwrap_or_default());
        rest = rest.get(taken..).unwrap_or_default();
    }
    (out, replaced)
}

/// A count; tools write some of them as floats, or a float a hair off.
fn count(map: &Map<String, Value>, key: &str) -> Option<u64> {
    whole(map.get(key)?.as_f64()?)
}

/// A count that was computed as a float.
fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && (value - value.round()).abs() < 0.5).then(|| value.round() as u64)
}

/// The value at the end of a path of keys.
fn at<'a>(map: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(map.get(*first)?, |value, key| value.get(key))
}

/// One latency's statistics, of which one unit is `ms` milliseconds, by the keys that vLLM's tool gives
/// them: `mean_ttft_ms`, `median_ttft_ms`, `p99.9_ttft_ms`.
fn latencies(values: Option<&Map<String, Value>>, name: &str, ms: f64) -> BTreeMap<String, f64> {
    let nested = values.and_then(|values| values.get("percentiles")?.as_object());
    let all = values.into_iter().chain(nested).flatten();
    let found = all.filter_map(|(key, value)| {
        let statistic = match key.as_str() {
            "avg" | "mean" => "mean",
            "median" | "p50" => "median",
            "std" | "stddev" | "std_dev" => "std",
            // guidellm's tenths of a percent.
            "p001" if nested.is_some() => "p0.1",
            "p999" if nested.is_some() => "p99.9",
            rank if rank.strip_prefix('p')?.parse::<f64>().is_ok() => rank,
            _ => return None,
        };
        let value = Some(value.as_f64()? * ms).filter(|value| value.is_finite())?;
        Some((format!("{statistic}_{name}_ms"), value))
    });
    found.collect()
}

/// A finite number.
fn number(map: &Map<String, Value>, key: &str) -> Option<f64> {
    map.get(key)?.as_f64().filter(|value| value.is_finite())
}

/// Requests sent, by the lists that `--save-detailed` adds: one entry a request, also of one that
/// failed.
fn listed(map: &Map<String, Value>) -> Option<u64> {
    let lists = ["errors", "output_lens", "input_lens"];
    let mut lengths = lists.iter().filter_map(|key| Some(map.get(*key)?.as_array()?.len() as u64));
    lengths.find(|length| *length > 0)
}

/// The keys that three tools share: `completed`, `total_output_tokens`, `*_ttft_ms`…
fn common(tool: &'static str, map: &Map<String, Value>) -> Option<ClientResult> {
    let latencies = map
        .iter()
        .filter(|(key, _)| key.ends_with("_ms"))
        .filter_map(|(key, value)| Some((key.clone(), value.as_f64()?)))
        .collect();
    Some(ClientResult {
        tool,
        completed: count(map, "completed")?,
        failed: count(map, "failed"),
        num_prompts: count(map, "num_prompts"),
        input_tokens: count(map, "total_input_tokens"),
        output_tokens: count(map, "total_output_tokens"),
        duration_s: number(map, "duration"),
        output_throughput: number(map, "output_throughput"),
        request_throughput: number(map, "request_throughput"),
        total_throughput: number(map, "total_token_throughput")
            .or_else(|| number(map, "total_throughput")),
        max_concurrency: number(map, "max_concurrency"),
        rate: number(map, "request_rate"),
        probes: count(map, "probe_completed").unwrap_or(0),
        most_open: number(map, "max_concurrent_requests"),
        latencies,
        ..ClientResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_appended_documents_counts() {
        let text = concat!(
            r#"{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":9}"#,
            "\n",
            r#"{"backend":"vllm","num_prompts":8,"completed":7,"total_output_tokens":11}"#
        );
        let result = ClientResult::parse(text).unwrap();
        assert_eq!((result.completed, result.documents), (7, 2));
    }

    #[test]
    fn a_document_that_is_cut_is_not_made_up_for_by_the_one_before_it() {
        let one = r#"{"backend":"sglang","request_rate":Infinity,"completed":4,
            "total_output_tokens_retokenized":9}"#;
        let cut = format!("{one}\n{}", &one[..60]);
        assert_eq!(ClientResult::parse(&cut).unwrap_err(), "cut before the end of its document 2");
        assert!(is_cut(&cut) && is_cut(&one[..60]) && is_cut(" \n"));
        let ended = format!("{one}\nsaved.\n");
        assert_eq!(ClientResult::parse(&ended).unwrap().documents, 1);
        assert!(!is_cut(one) && !is_cut(&ended) && !is_cut("<html>"));
    }

    #[test]
    fn a_request_without_a_prompt_has_no_mean() {
        let mean = |prompts, completed| {
            let result = ClientResult {
                completed,
                input_tokens: Some(prompts),
                output_tokens: Some(80),
                ..ClientResult::default()
            };
            result.mean_tokens()
        };
        assert_eq!(mean(40, 4), Some((10.0, 20.0)));
        assert_eq!((mean(0, 4), mean(40, 0)), (None, None));
    }

    #[test]
    fn a_list_is_read_when_it_has_one_result() {
        let one = r#"{"backend":"vllm","num_prompts":4,"completed":4}"#;
        let other = r#"{"name":"notes"}"#;
        let list = |items: &[&str]| ClientResult::parse(&format!("[{}]", items.join(",\n")));
        assert_eq!(list(&[other, one]).unwrap().completed, 4);
        assert_eq!(list(&[one]).unwrap().documents, 1);
        assert!(list(&[one, one, one]).unwrap_err().contains("list of 3 results"));
        assert!(list(&[other]).unwrap_err().contains("no load tool"));
        assert!(list(&[]).is_err());
    }

    #[test]
    fn bare_constants_are_absent_and_strings_are_left_alone() {
        let (clean, replaced) =
            without_bare_constants(r#"{"a": -Infinity, "b": "NaN \" Infinity", "c": [NaN]}"#);
        assert_eq!(clean, r#"{"a": null, "b": "NaN \" Infinity", "c": [null]}"#);
        assert_eq!(replaced, 2);
    }

    #[test]
    fn what_is_no_result_is_said_to_be_none() {
        assert!(ClientResult::parse("<html>").unwrap_err().starts_with("no JSON"));
        assert!(ClientResult::parse("").is_err());
        assert!(ClientResult::parse(r#"{"a":1}"#).unwrap_err().contains("no load tool"));
    }

    #[test]
    fn arguments_name_what_was_asked() {
        let argv = "vllm bench serve --max-concurrency 32 --num-prompts=48 --save-result";
        let argv: Vec<String> = argv.split(' ').map(str::to_owned).collect();
        let params: Vec<_> = params(&argv).into_iter().collect();
        assert_eq!(
            params,
            [("concurrency".into(), "32".into()), ("num_prompts".into(), "48".into())]
        );
    }

    #[test]
    fn the_output_names_what_was_asked() {
        let output = |dataset: &str| {
            let lengths = "input_len=None, random_input_len=88, random_output_len=1000";
            format!("INFO x\nNamespace(dataset_name='{dataset}', max_concurrency=32, {lengths})\n")
        };
        let random = printed_params(&output("random"));
        let of = |key: &str| random.get(key).map(String::as_str);
        assert_eq!((of("concurrency"), of("output_len")), (Some("32"), Some("1000")));
        assert_eq!(of("num_prompts"), None);
        let other = printed_params(&output("sharegpt"));
        assert_eq!((other.get("output_len"), other.len()), (None, 2));
        assert!(printed_params("nothing here").is_empty());
    }

    #[test]
    fn an_output_without_its_beginning_hides_a_test_request() {
        let run = |tool| ClientResult { tool, ..ClientResult::default() };
        let warmups = BTreeMap::from([("warmups".to_owned(), "8".to_owned())]);
        let table = "============ Serving Benchmark Result ============\n";
        let whole = format!("Traffic request rate: inf\n{table}");
        for (tool, output, params, known, perhaps) in [
            ("vllm bench serve", table, BTreeMap::new(), 0, 1),
            ("vllm bench serve", &whole, BTreeMap::new(), 0, 0),
            ("vllm bench serve", table, warmups.clone(), 8, 1),
            (sglang::TOOL, table, BTreeMap::new(), 1, 0),
            (sglang::TOOL, "Starting warmup with 0 sequences...\n", warmups, 0, 0),
        ] {
            let found = run(tool).untimed(Some(output), &params);
            assert_eq!(found, Untimed { known, perhaps }, "{tool}: {output}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_result() {
        let text = "\u{feff}{\"backend\":\"vllm\",\"num_prompts\":4,\"completed\":4}";
        assert_eq!(ClientResult::parse(text).unwrap().completed, 4);
    }

    #[test]
    fn the_output_announces_what_is_not_timed() {
        for (output, requests) in [
            ("Starting initial single prompt test run...\nInitial test run completed.", 1),
            ("Starting initial single prompt test run...\nSkipping endpoint ready check.", 0),
            ("Warming up with 3 requests...\n", 3),
            ("Starting warmup with 1 sequences...\n", 1),
            ("Traffic request rate: inf\n", 0),
        ] {
            assert_eq!(announced(output), requests, "{output}");
        }
    }
}
