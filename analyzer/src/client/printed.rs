//! Tables that load tools print: `vllm bench serve`'s, those of SGLang's and TensorRT-LLM's clients,
//! which were made from it, and the report of `trtllm-bench`.
//!
//! The first three print a title between `=`, rows of a label and a value, and a line of 50 `=`
//! (`vllm/benchmarks/serve.py` 0.32 and `benchmarks/benchmark_serving.py` before it;
//! `sglang/bench_serving.py` 0.4.6 to 0.5.23; `tensorrt_llm/serve/scripts/benchmark_serving.py` 1.3).
//! `trtllm-bench` 1.x prints headings between lines of 59 `=` (`bench/dataclasses/reporting.py`).
//! A row gets the key it has in the tool's result file, and the same code reads it.
//!
//! What stands around a table is not trusted. The tools print the errors of failed requests, which
//! are the server's words and may look like a table. So a table counts only when it is whole and no
//! row of it stands there twice; and of two whole ones in one load, none is taken.

use super::{ClientResult, FORMATS, vllm};
use crate::boot::line::as_shown;
use crate::pattern::Pattern;
use serde_json::{Map, Value};
use std::ops::Range;

/// A table in a load tool's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its title's line, counted from 1.
    pub line: u64,
    /// The bytes from the table before it to its own end: what the tool printed that printed it.
    pub section: Range<usize>,
    /// What it says; else why it says nothing, in words.
    pub result: Result<ClientResult, &'static str>,
}

/// The title of a served benchmark.
const TITLE: &str = " Serving Benchmark Result ";

/// The first heading of `trtllm-bench` with figures of the load.
const BENCH_TITLE: &str = "= REQUEST DETAILS";

/// The row in its last part without which the report is not whole.
const BENCH_LAST: &str = "total_latency_ms";

/// `=` in a row that end a table: the tools print 50, and 23 around a notice inside it.
const RULE: usize = 40;

/// Lines of a table; one with a hundred percentiles of each latency has 400.
const LINES: usize = 1_000;

/// Tables that are kept: more than a long ladder has.
const TABLES: usize = 4_096;

/// Rows by their label, with the key in the result file.
const ROWS: &[(&str, &str)] = &[
    ("Successful requests:", "completed"),
    ("Failed requests:", "failed"),
    ("Total requests:", "num_prompts"),
    ("Maximum request concurrency:", "max_concurrency"),
    ("Max request concurrency:", "max_concurrency"),
    // SGLang 0.4.
    ("Max reqeuest concurrency:", "max_concurrency"),
    ("Request rate configured (RPS):", "request_rate"),
    ("Traffic request rate:", "request_rate"),
    ("Benchmark duration (s):", "duration"),
    ("Total input tokens:", "total_input_tokens"),
    ("Total generated tokens:", "total_output_tokens"),
    ("Total generated tokens (retokenized):", "total_output_tokens_retokenized"),
    ("Output token throughput (tok/s):", "output_throughput"),
    ("User throughput (tok/s):", "user_throughput"),
    ("Number of requests:", "num_requests"),
    ("Average Input Length (tokens):", "avg_input_length"),
    ("Average Output Length (tokens):", "avg_output_length"),
    ("Total Latency (ms):", BENCH_LAST),
    ("Total Output Throughput (tokens/sec):", "system_output_throughput_tok_s"),
];

/// A row of a latency, e.g. `P99 TTFT (ms):`, in the result file `p99_ttft_ms`.
static LATENCY: Pattern = Pattern::new(
    r"(?:^|[^0-9A-Za-z])(?<of>Mean|Median|Std Dev|P[0-9]+(?:\.[0-9]+)?) (?<what>TTFT|TPOT|ITL|E2EL|E2E Latency) \(ms\):(?<value>.*)$",
);

/// The tables of an output, in order.
pub fn tables(output: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut open: Option<Rows> = None;
    let (mut begin, mut at) = (0, 0);
    for (number, line) in (1..).zip(output.split_inclusive('\n')) {
        let before = at;
        at += line.len();
        let line = as_shown(line.trim_end_matches('\n'));
        let line = line.trim_end();
        let bench = line.ends_with(BENCH_TITLE);
        if bench || is_title(line) {
            let cut = open.replace(Rows { line: number, bench, ..Rows::default() });
            tables.extend(cut.map(|rows| rows.cut(begin..before)));
        } else if let Some(rows) = open.take_if(|rows| rows.end(line)) {
            tables.push(rows.whole(begin..at));
            begin = at;
        } else if let Some(rows) = open.take_if(|rows| rows.lines >= LINES) {
            tables.push(rows.cut(begin..before));
        } else if let Some(rows) = &mut open {
            rows.read(line);
        }
        if tables.len() >= TABLES {
            return tables;
        }
    }
    tables.extend(open.map(|rows| rows.cut(begin..at)));
    tables
}

/// A progress bar may stand before it on the same line.
fn is_title(line: &str) -> bool {
    line.split_once(TITLE).is_some_and(|(before, after)| {
        before.ends_with("====") && after.len() > 3 && after.bytes().all(|byte| byte == b'=')
    })
}

/// The rows of a table that has not ended.
#[derive(Default)]
struct Rows {
    line: u64,
    /// They are of `trtllm-bench`.
    bench: bool,
    lines: usize,
    map: Map<String, Value>,
    not_finite: usize,
    twice: bool,
}

impl Rows {
    fn end(&self, line: &str) -> bool {
        let rule = line.len() - line.trim_end_matches('=').len() >= RULE;
        rule && (!self.bench || self.map.contains_key(BENCH_LAST))
    }

    /// A row, also behind what a launcher puts before each line.
    fn read(&mut self, line: &str) {
        self.lines += 1;
        let known = ROWS.iter().find_map(|(label, key)| {
            let (before, value) = line.split_once(label)?;
            let apart = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
            apart.then_some(((*key).to_owned(), value))
        });
        if let Some((key, value)) = known {
            self.put(key, value);
        } else if let Some(found) = LATENCY.find(line)
            && let (Some(of), Some(what), Some(value)) =
                (found.part("of"), found.part("what"), found.part("value"))
        {
            let of = if of == "Std Dev" { "std" } else { of };
            self.put(format!("{of}_{what}_ms").to_lowercase().replace(' ', "_"), value);
        }
    }

    /// What is no number (`not set`, `trace`) is absent.
    fn put(&mut self, key: String, value: &str) {
        match value.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => {
                let before = self.map.insert(key, number.into());
                self.twice |= before.is_some_and(|before| before.as_f64() != Some(number));
            }
            Ok(_) => self.not_finite += 1,
            Err(_) => {}
        }
    }

    fn cut(self, section: Range<usize>) -> Table {
        Table { line: self.line, section, result: Err("it is cut short") }
    }

    fn whole(self, section: Range<usize>) -> Table {
        // What tells vLLM's result file from others is not printed; `trtllm-bench`'s has two parts.
        let map = if self.bench {
            let part = |name: &str| (name.to_owned(), Value::Object(self.map.clone()));
            ["request_info", "performance"].map(part).into_iter().collect()
        } else {
            self.map
        };
        let format = FORMATS.iter().find(|format| (format.recognise)(&map));
        let parse = format.map_or(vllm::SERVE.parse, |format| format.parse);
        let result = match parse(&map) {
            _ if self.twice => Err("a row stands in it twice, with different values"),
            Some(result) => {
                Ok(ClientResult { documents: 1, not_finite: self.not_finite, ..result })
            }
            None => Err("it has no count of completed requests"),
        };
        Table { line: self.line, section, result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// vLLM 0.32; 0.8 to 0.11 have neither failures nor concurrency, and `Total Token throughput`.
    const VLLM: &str = "\
Maximum request concurrency: 16
============ Serving Benchmark Result ============
Successful requests:                     95        
Failed requests:                         1         
Maximum request concurrency:             16        
Request rate configured (RPS):           12.50     
Benchmark duration (s):                  4.25      
Total input tokens:                      6080      
Total generated tokens:                  2280      
Request throughput (req/s):              22.35     
Output token throughput (tok/s):         536.47    
Peak output token throughput (tok/s):    900.00    
Peak concurrent requests:                32.00     
Total token throughput (tok/s):          1967.06   
------------------Probe Requests------------------
Probe requests completed:                4         
Probe requests failed:                   2         
Median probe E2EL (ms):                  1.50      
---------------Time to First Token----------------
Mean TTFT (ms):                          30.25     
Median TTFT (ms):                        28.00     
P99 TTFT (ms):                           61.75     
P99.9 TTFT (ms):                         62.00     
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          6.50      
----------------End-to-end Latency----------------
Mean E2EL (ms):                          180.00    
==================================================
";

    /// SGLang 0.5; 0.4 writes `Max reqeuest concurrency`.
    const SGLANG: &str = "
============ Serving Benchmark Result ============
Backend:                                 sglang    
Traffic request rate:                    inf       
Max request concurrency:                 8         
Successful requests:                     64        
Benchmark duration (s):                  9.50      
Total input tokens:                      4096      
Total input text tokens:                 4096      
Total generated tokens:                  2048      
Total generated tokens (retokenized):    2040      
Request throughput (req/s):              6.74      
Input token throughput (tok/s):          431.16    
Output token throughput (tok/s):         215.58    
Concurrency:                             7.90      
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   1100.00   
P90 E2E Latency (ms):                    1300.00   
---------------Inter-Token Latency----------------
P95 ITL (ms):                            40.00     
Max ITL (ms):                            90.00     
==================================================
";

    const TRTLLM: &str = "
============ Serving Benchmark Result ============
Total requests:                          40        
Successful requests:                     38        
Failed requests:                         2         
Benchmark duration (s):                  12.00     
Total input tokens:                      3520      
Total generated tokens:                  3800      
Output token throughput (tok/s):         316.67    
User throughput (tok/s):                 44.18     
=======================!FAILED REQUESTS!=======================
Total failed requests: 2
=====================!CHECK LOG FOR ERRORS!====================
-----------Avg Decoded Tokens per Iter------------
Mean Avg Decoded Tokens per Iter:        1.00      
---------------Time to First Token----------------
Mean TTFT (ms):                          -1000.00  
Std Dev TTFT (ms):                       0.25      
==================================================
";

    const BENCH: &str = "\
[11/30/2026-22:01:02] [TRT-LLM] [I] 
===========================================================
= REQUEST DETAILS 
===========================================================
Number of requests:             500
Number of concurrent requests:  31.5000
Average Input Length (tokens):  128.0000
Average Output Length (tokens): 64.0000
===========================================================
= WORLD + RUNTIME INFORMATION 
===========================================================
TP Size:                1
===========================================================
= PERFORMANCE OVERVIEW 
===========================================================
Request Throughput (req/sec):                     50.0000
Total Output Throughput (tokens/sec):             3200.0000
Total Token Throughput (tokens/sec):              9600.0000
Total Latency (ms):                               10000.0000

-- Request Latency Breakdown (ms) -----------------------

[Latency] P50    : 600.0000

===========================================================
= DATASET DETAILS
===========================================================
Number of Sequences:  500
";

    fn only(text: &str) -> ClientResult {
        let tables = tables(text);
        assert_eq!(tables.len(), 1, "{text}");
        tables[0].result.clone().unwrap()
    }

    #[test]
    fn a_table_of_each_tool_says_what_its_file_would() {
        let vllm = only(VLLM);
        assert_eq!((vllm.tool, vllm.completed, vllm.failed), ("vllm bench serve", 95, Some(1)));
        assert_eq!((vllm.input_tokens, vllm.output_tokens), (Some(6080), Some(2280)));
        assert_eq!((vllm.duration_s, vllm.output_throughput), (Some(4.25), Some(536.47)));
        assert_eq!((vllm.max_concurrency, vllm.rate), (Some(16.0), Some(12.5)));
        let latencies: Vec<_> = vllm.latencies.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        assert_eq!(
            latencies,
            [
                ("mean_e2el_ms", 180.0),
                ("mean_tpot_ms", 6.5),
                ("mean_ttft_ms", 30.25),
                ("median_ttft_ms", 28.0),
                ("p99.9_ttft_ms", 62.0),
                ("p99_ttft_ms", 61.75),
            ]
        );
        let sglang = only(SGLANG);
        assert!(sglang.is_sglang());
        assert_eq!((sglang.completed, sglang.failed, sglang.retokenized), (64, None, Some(2040)));
        assert_eq!((sglang.max_concurrency, sglang.rate), (Some(8.0), None));
        assert_eq!(sglang.latencies["p90_e2e_latency_ms"], 1300.0);
        assert_eq!(sglang.latencies["p95_itl_ms"], 40.0);
        let trtllm = only(TRTLLM);
        assert_eq!((trtllm.tool, trtllm.failed), ("tensorrt_llm benchmark_serving", Some(2)));
        assert_eq!((trtllm.num_prompts, trtllm.completed), (Some(40), 38));
        assert_eq!(trtllm.latencies["std_ttft_ms"], 0.25);
        let bench = only(BENCH);
        assert_eq!((bench.tool, bench.completed), ("trtllm-bench", 500));
        assert_eq!((bench.input_tokens, bench.output_tokens), (Some(64_000), Some(32_000)));
        assert_eq!((bench.duration_s, bench.output_throughput), (Some(10.0), Some(3200.0)));
    }

    #[test]
    fn older_versions_print_less_and_other_words() {
        let failed = "Failed requests:                         1         \n";
        let concurrency = "Maximum request concurrency:             16        \nReq";
        let old = VLLM.replace(failed, "").replace(concurrency, "Req");
        let result = only(&old.replace("token throughput", "Token throughput"));
        assert_eq!((result.failed, result.max_concurrency), (None, None));
        let misspelt = SGLANG.replace("Max request c", "Max reqeuest c");
        assert_eq!(only(&misspelt).max_concurrency, Some(8.0));
        let unlimited = SGLANG.replace("8         \nSucc", "not set   \nSucc");
        assert_eq!(only(&unlimited).max_concurrency, None);
    }

    #[test]
    fn what_launchers_and_terminals_put_around_a_line_is_no_part_of_it() {
        let plain = only(VLLM);
        let each = |f: fn(&str) -> String| VLLM.lines().map(f).collect::<Vec<_>>().join("\n");
        let bar =
            "\r 50%|\u{2588}    | 48/96\r100%|\u{2588}\u{2588}| 96/96 [00:04<00:00, 22.4it/s]";
        for around in [
            each(|line| format!("{line}\r")),
            each(|line| format!("bench-1  | {line}")),
            each(|line| format!("[1,0]<stdout>:{line}")),
            each(|line| format!("2026-11-30T22:01:02.5Z {}", line.trim_end())),
            each(|line| format!("\x1b[32m{line}\x1b[0m")),
            VLLM.replace("============ S", &format!("{bar}============ S")),
            VLLM.replace("Total input", "INFO: something else\nTotal input"),
        ] {
            assert_eq!(only(&around), plain, "{around}");
        }
    }

    #[test]
    fn sections_and_lines_say_where_a_table_is() {
        // A line of `=` that ends no table begins no section.
        let first = format!("first\n{}\n{VLLM}", "=".repeat(60));
        let text = format!("{first}second\n{SGLANG}rest\n");
        let found: Vec<_> = tables(&text)
            .into_iter()
            .map(|table| (table.line, text[table.section].len()))
            .collect();
        let second = "second\n".len() + SGLANG.len();
        assert_eq!(found, [(4, first.len()), (33, second)]);
    }

    #[test]
    fn a_table_that_is_not_whole_is_none() {
        let why = |text: &str| tables(text).pop().map(|table| table.result.unwrap_err());
        for end in (VLLM.find("====").unwrap() + 60..VLLM.len() - 20).step_by(7) {
            assert_eq!(why(&VLLM[..end]), Some("it is cut short"), "{end}");
        }
        let empty = VLLM.replace("Successful requests:                     95", "");
        assert_eq!(why(&empty), Some("it has no count of completed requests"));
        let long = VLLM.replace("Total input", &format!("{}Total input", "x\n".repeat(LINES)));
        assert_eq!(why(&long), Some("it is cut short"));
        assert_eq!(
            why(BENCH.split("= DATASET").next().unwrap().trim_end_matches(['=', '\n'])),
            Some("it is cut short")
        );
        assert_eq!(tables("Successful requests: 4\nno title\n"), []);
        // Two tools that print into one stream at once.
        let mixed =
            VLLM.replace("Total input", "Successful requests:                     7\nTotal input");
        assert_eq!(why(&mixed), Some("a row stands in it twice, with different values"));
    }

    #[test]
    fn the_text_of_an_error_cannot_become_the_result() {
        // A title and rows in what the server answered, and then the tool's own table.
        let begun = VLLM.split("Benchmark duration").next().unwrap().replace("95", "9");
        let text =
            format!("Failed requests during benchmark run detected:\nError 0: {begun}{VLLM}");
        let results: Vec<_> =
            tables(&text).into_iter().map(|t| t.result.map(|r| r.completed)).collect();
        assert_eq!(results, [Err("it is cut short"), Ok(95)]);
        // A whole one stays beside the tool's own: whoever asks for one table gets none.
        let whole = format!("Error 0: {}{VLLM}", VLLM.replace("95", "9"));
        assert_eq!(tables(&whole).len(), 2);
    }

    #[test]
    fn odd_numbers_are_absent_or_what_they_are() {
        let of = |value: &str| {
            let row = format!("Benchmark duration (s):                  {value}");
            only(&VLLM.replace("Benchmark duration (s):                  4.25", &row))
        };
        for (value, duration, not_finite) in [
            ("nan", None, 1),
            ("-inf", None, 1),
            ("1e999", None, 1),
            ("4,25", None, 0),
            ("4.25 s", None, 0),
            ("\u{664}\u{662}", None, 0),
            ("-4.25", Some(-4.25), 0),
            ("1e300", Some(1e300), 0),
        ] {
            let result = of(value);
            assert_eq!((result.duration_s, result.not_finite), (duration, not_finite), "{value}");
        }
        let huge = VLLM.replace(
            "Total generated tokens:                  2280",
            "Total generated tokens: 1e30",
        );
        assert_eq!(only(&huge).output_tokens, Some(u64::MAX));
        let negative = VLLM
            .replace("Total generated tokens:                  2280", "Total generated tokens: -5");
        assert_eq!(only(&negative).output_tokens, None);
    }

    #[test]
    fn hostile_output_is_read_in_one_pass() {
        let long = "=".repeat(1 << 20);
        let bars = "\r100%|##|".repeat(1 << 17);
        let titles = format!("==== {TITLE}====\n").repeat(1 << 14);
        for text in [format!("{long}\n{VLLM}"), format!("{bars}{VLLM}"), format!("{VLLM}{titles}")]
        {
            assert!(tables(&text).iter().any(|table| table.result.is_ok()));
        }
        assert!(tables(&titles).len() <= TABLES);
    }
}
