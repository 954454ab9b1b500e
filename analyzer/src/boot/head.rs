//! What a launcher or shipper that no layer knows puts in front of every line.
//!
//! Month names of other languages, a pod's or a stream's name, a supervisor's words: there is no list
//! of them. But where a server's own beginning of a line follows, all before it is such a head. It is
//! taken off every line that has it, those of a traceback too, which have no beginning of their own.

use crate::pattern::Pattern;

/// A longer text before a line's own beginning is no prefix.
const MAX_HEAD_BYTES: usize = 200;
/// Heads kept: one a writer.
const MAX_HEADS: usize = 16;

/// How the lines of the servers known begin: a process's tag, vLLM's level and time, uvicorn's level,
/// SGLang's time, TensorRT-LLM's tags, a rank, glog's letter, TGI's time and level, a record of JSON
/// (see `line.rs`, which reads them).
static BEGINNING: Pattern = Pattern::new(concat!(
    r"\([A-Z]\w*(?: \w+)? (?:rank=\d+ )?pid=\d+[^)]{0,60}\)",
    r"|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d ",
    r"|(?:INFO: {5}|WARNING: {2}|ERROR: {4})\S",
    r"|\[(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: [A-Z0-9 ]+)?\] ",
    r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] |\[TRT-LLM\] |\[TensorRT-LLM\]",
    r"|\[rank\d+\]:|\[[IWEF]\d{4} \d\d:\d\d:\d\d",
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z +(?:INFO|WARN|ERROR|DEBUG) ",
    r#"|\{"(?:levelname|asctime|timestamp|level|time|ts|log)":"#,
));

/// One of these stands in each beginning: most lines have none, and the pattern is not needed.
const WORDS: [&str; 9] =
    ["pid=", "INFO", "WARN", "ERROR", "DEBUG", "CRITICAL", "] ", "[rank", "{\""];

/// The heads one log's lines had so far.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// The shape of each, and whether it is one: a single line may quote another.
    known: Vec<(String, bool)>,
    /// A line began with the server's own words: lines with a head are the exception here.
    plain: bool,
}

impl Heads {
    /// What follows the head of `text`, when it has one.
    pub(super) fn behind<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let learnt = || self.known.iter().filter(|(_, sure)| *sure);
        if let Some(rest) = learnt().find_map(|(shape, _)| after(text, shape)) {
            return Some(rest);
        }
        let end = text.len().min(MAX_HEAD_BYTES);
        let searched = (0..4).find_map(|less| text.get(..end.saturating_sub(less)))?;
        if !WORDS.iter().any(|word| searched.contains(word)) {
            return None;
        }
        let at = BEGINNING.find(searched)?.span().start;
        let (head, rest) = (text.get(..at)?, text.get(at..)?);
        // A bar that its writer did not end: the next line stands behind it.
        if head.ends_with("it/s]") || head.ends_with("s/it]") {
            return Some(rest);
        }
        let ends = head.ends_with(|c: char| c.is_whitespace() || "|:>]\"'".contains(c));
        (ends && self.is_learnt(head)).then_some(rest)
    }

    /// A line had none.
    pub(super) fn saw_none(&mut self) {
        self.plain = true;
    }

    /// Remembers `head`; true when another line had it before, or no line was without one.
    fn is_learnt(&mut self, head: &str) -> bool {
        let shape = shape(head);
        if let Some(known) = self.known.iter_mut().find(|(known, _)| *known == shape) {
            known.1 = true;
            return true;
        }
        if self.known.len() < MAX_HEADS {
            self.known.push((shape, !self.plain));
        }
        !self.plain
    }
}

/// The head with each run of digits as one `0`: times and process ids differ from line to line.
fn shape(head: &str) -> String {
    let mut shape = String::with_capacity(head.len());
    for c in head.chars() {
        match c.is_ascii_digit() {
            true if shape.ends_with('0') => {}
            true => shape.push('0'),
            false => shape.push(c),
        }
    }
    shape
}

/// What is after a head of this shape.
fn after<'t>(text: &'t str, shape: &str) -> Option<&'t str> {
    let mut rest = text;
    for c in shape.chars() {
        rest = if c == '0' {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            (after.len() < rest.len()).then_some(after)?
        } else {
            rest.strip_prefix(c)?
        };
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::line::Line;

    /// Heads as journald, stern, CloudWatch, `ts`, supervisord and pm2 write them.
    const HEADS: &[&str] = &[
        "\u{430}\u{432}\u{433} 18 14:14:59 llm python3[28148]: ",
        "Dez 03 04:05:06 gpu-01 vllm[77]: ",
        "2026-01-01T10:00:00+0100 gpu-01 vllm[77]: ",
        "vllm-7d9f8b6c5-x2x4z vllm ",
        "2026-01-01T10:00:00.1+00:00 vllm/vllm/9f8e01 ",
        "Jan 01 10:00:00 ",
        "2026-01-01 10:00:00,123 DEBG 'vllm' stderr output: ",
        "0|vllm  | ",
        "[vllm-0 vllm] ",
        "2026-01-01 10:00:00 - ",
    ];

    fn texts(log: &[String]) -> Vec<(String, String)> {
        let mut heads = Heads::default();
        log.iter()
            .map(|raw| Line::strip_behind(1, raw.as_bytes(), &mut heads))
            .map(|line| (line.process.clone(), line.text.into_owned()))
            .collect()
    }

    #[test]
    fn a_head_that_no_layer_knows_is_taken_off_every_line() {
        let log = [
            "(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1348] Traceback (most recent call last):",
            "(EngineCore pid=7) ERROR 09-05 11:20:17 [core.py:1348]   File \"x\", line 3, in f",
            "  File \"y\", line 4, in g",
            "ValueError: no",
        ];
        let bare = texts(&log.map(str::to_owned));
        for head in HEADS {
            assert_eq!(texts(&log.map(|line| format!("{head}{line}"))), bare, "{head}");
        }
        assert_eq!(bare[2].1, "  File \"y\", line 4, in g");
    }

    #[test]
    fn times_and_process_ids_may_differ_from_line_to_line() {
        let log = [
            "aug. 9 08:59:59 llm vllm[7]: [2026-01-01 08:59:59 TP0] Scheduler hit an exception: x",
            "aug. 10 14:15:00 llm vllm[28148]:   File \"x\", line 3, in f",
        ];
        assert_eq!(texts(&log.map(str::to_owned))[1].1, "  File \"x\", line 3, in f");
    }

    #[test]
    fn a_line_that_quotes_another_teaches_nothing() {
        let log = [
            "INFO 01-01 10:00:00 [a.py:1] started",
            "he asked: why ERROR 01-01 10:00:00 [core.py:1] boom",
            "he asked: ValueError: no",
        ];
        let read = texts(&log.map(str::to_owned));
        assert_eq!(read[1].1, log[1]);
        assert_eq!(read[2].1, log[2]);
    }

    #[test]
    fn a_record_behind_a_progress_bar_is_read() {
        let log = [
            "(APIServer pid=1) INFO 01-01 10:00:00 [a.py:1] started",
            "Capturing CUDA graphs (decode, FULL):   0%|   | 0/67 [00:00<?, ?it/s](EngineCore pid=9) INFO 03-03 19:38:35 [backends.py:218] Compiling",
        ];
        let read = texts(&log.map(str::to_owned));
        assert_eq!(read[1], ("EngineCore pid=9".to_owned(), "Compiling".to_owned()));
    }
}
