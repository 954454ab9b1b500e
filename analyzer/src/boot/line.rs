//! One log line without what loggers, launchers and shippers put in front of it.
//!
//! A server's line reaches a file through any stack of writers: the engine's own prefix, then a
//! launcher's, then a container runtime's, then a shipper's time. Each layer is peeled off until
//! none is left, so a rule only ever sees what the program itself said.

use std::borrow::Cow;

use super::head::Heads;

/// How loud the line's own logger called it. Absent when the line carries no level (tracebacks,
/// prints, SGLang).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

/// A line, stripped.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// What the program said. Indentation is kept: it separates a traceback's frames from its end.
    pub text: Cow<'a, str>,
    /// Which process or rank said it, as its prefix names it (`EngineCore_DP0 pid=94`, `TP3`).
    /// Empty when no layer names one.
    pub process: String,
    pub level: Option<Level>,
    /// The engine's own time, as written (`10-01 01:24:26`). Zone and often year are unknown.
    pub stamp: Option<String>,
    /// A logger's prefix was there: the line starts a record and continues none.
    pub is_record: bool,
    /// The container that wrote it, where a launcher of several names one (`docker compose`); behind
    /// it that container's own, if it is such a launcher.
    pub writers: Vec<String>,
    /// The line with the server's own prefixes, where something unknown was taken off before them.
    pub own: Option<String>,
}

impl<'a> Line<'a> {
    /// Strips `raw`, when it stands alone.
    #[cfg(test)]
    pub(crate) fn strip(number: u64, raw: &'a [u8]) -> Self {
        Self::strip_behind(number, raw, &mut Heads::default())
    }

    /// Strips `raw`, of what `heads` learnt from the lines before it, too. Bytes that are not UTF-8
    /// become replacement characters.
    pub(crate) fn strip_behind(number: u64, raw: &'a [u8], heads: &mut Heads) -> Self {
        let mut line = Line::empty(number);
        line.text = match last_overwrite(uncoloured(String::from_utf8_lossy(raw))) {
            Cow::Borrowed(text) => Cow::Borrowed(line.peel_behind(text, heads)),
            Cow::Owned(text) => Cow::Owned(line.peel_behind(&text, heads).to_owned()),
        };
        line
    }

    fn peel_behind<'t>(&mut self, text: &'t str, heads: &mut Heads) -> &'t str {
        let rest = self.peel(text);
        if self.is_record || !self.process.is_empty() {
            heads.saw_none();
            return rest;
        }
        let Some(own) = heads.behind(rest) else { return rest };
        self.own = Some(own.to_owned());
        self.peel(own)
    }

    /// A line of nothing.
    pub(crate) fn empty(number: u64) -> Self {
        Line {
            number,
            text: Cow::Borrowed(""),
            process: String::new(),
            level: None,
            stamp: None,
            is_record: false,
            writers: Vec::new(),
            own: None,
        }
    }

    fn peel<'t>(&mut self, text: &'t str) -> &'t str {
        let mut rest = text;
        for _ in 0..MAX_LAYERS {
            let Some(next) = LAYERS.iter().find_map(|layer| layer(self, rest)) else { break };
            rest = next;
        }
        rest
    }

    fn says_process(&mut self, name: &str) {
        if !self.process.is_empty() {
            self.process.push(' ');
        }
        self.process.push_str(name);
    }
}

/// More layers than this on one line is not a log, it is an attack.
const MAX_LAYERS: usize = 12;

type Layer = for<'t> fn(&mut Line<'_>, &'t str) -> Option<&'t str>;

/// Order matters only where one layer's form is a special case of another's.
const LAYERS: [Layer; 14] = [
    compose_name,
    cloud_severity,
    kubectl_pod,
    mpirun_tag,
    srun_label,
    syslog,
    iso_time,
    bracketed_time,
    trtllm_tags,
    process_tag,
    rank_tag,
    glog,
    python_level,
    relayed_output,
];

/// `name-1  | `, and the `│ ` frame terminal viewers draw.
fn compose_name<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    if let Some(rest) = text.strip_prefix("│ ") {
        return Some(rest.trim_end_matches(['│', ' ']));
    }
    // What a build server leaves of it.
    if let Some(rest) = text.strip_prefix("  | ").filter(|rest| rest.starts_with('(')) {
        return Some(rest);
    }
    let name = text.len() - text.trim_start_matches(is_name).len();
    if name == 0 || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let after = text.get(name..)?.strip_prefix(' ')?.trim_start_matches(' ');
    let rest = after.strip_prefix("| ").or_else(|| (after == "|").then_some(""))?;
    line.writers.push(text.get(..name)?.to_owned());
    Some(rest)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// `ERROR 2026-11-30T10:00:00Z `, as Google Cloud prints what it kept. The word only says which
/// stream the line came from.
fn cloud_severity<'t>(_: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let words = ["DEFAULT ", "INFO ", "NOTICE ", "WARNING ", "ERROR "];
    let rest = words.iter().find_map(|word| text.strip_prefix(word))?;
    date(rest, '-', &[4, 2, 2])?.starts_with('T').then_some(rest)
}

/// `[pod/name/container] `, as `kubectl logs --prefix` writes it.
fn kubectl_pod<'t>(_: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    text.strip_prefix("[pod/")?.split_once("] ").map(|(_, rest)| rest)
}

/// `[1,0]<stdout>:`, as `mpirun --tag-output` writes it.
fn mpirun_tag<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (tag, rest) = text.strip_prefix('[')?.split_once("]<std")?;
    let (_, rest) = rest.split_once(">:")?;
    if !tag.bytes().all(|b| b.is_ascii_digit() || b == b',') {
        return None;
    }
    line.says_process(tag);
    Some(rest)
}

/// `3: `, as `srun --label` writes it. Only before another known layer: a bare number and a colon
/// is also how C++ libraries number their messages.
fn srun_label<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (label, rest) = text.split_once(": ")?;
    let numbered = (1..=4).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_digit());
    let known = [
        "(",
        "[20",
        "[0",
        "[1",
        "[TRT",
        "[Tensor",
        "INFO",
        "ERROR",
        "WARNING",
        "Traceback",
        "  File",
    ];
    if !numbered || !known.iter().any(|k| rest.starts_with(k)) {
        return None;
    }
    line.says_process(label);
    Some(rest)
}

/// `Nov 30 10:00:00 host unit[123]: `, as journald and syslog write it.
fn syslog<'t>(_: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let month = text.get(..4)?;
    let months = [
        "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ",
        "Dec ",
    ];
    if !months.contains(&month) {
        return None;
    }
    let rest = skip_digits(text.get(4..)?.trim_start_matches(' '), 1..=2)?.strip_prefix(' ')?;
    let (_, rest) = clock(rest)?;
    let (unit, rest) = rest.strip_prefix(' ')?.split_once("]: ")?;
    let (names, pid) = unit.rsplit_once('[')?;
    let of_host = names.len() < 128 && names.matches(' ').count() == 1;
    (of_host && pid.bytes().all(|b| b.is_ascii_digit())).then_some(rest)
}

/// `2026-11-30T10:00:00.000Z `, with a zone, in brackets, or with the runtime's `stdout F `.
fn iso_time<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (open, text) = match text.strip_prefix('[') {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let rest = date(text, '-', &[4, 2, 2])?;
    let separator = rest.chars().next()?;
    // In brackets a space follows the date of SGLang's own prefix, which is read elsewhere.
    if separator != 'T' && (separator != ' ' || open) {
        return None;
    }
    let (_, rest) = clock(rest.get(1..)?)?;
    let rest = zone(rest);
    let rest = if open { rest.strip_prefix(']')? } else { rest };
    let rest = rest.strip_prefix([' ', '\t']).or_else(|| rest.is_empty().then_some(""))?;
    if let Some(inner) = loguru(line, rest) {
        return Some(inner);
    }
    for stream in ["stdout F ", "stderr F ", "stdout P ", "stderr P ", "stdout F", "stderr F"] {
        if let Some(inner) = rest.strip_prefix(stream) {
            return Some(inner);
        }
    }
    // The launcher of TGI, and Dynamo, write their level after the time.
    for (word, level) in [
        ("INFO ", Level::Info),
        ("WARN ", Level::Warning),
        ("WARNING ", Level::Warning),
        ("ERROR ", Level::Error),
        ("DEBUG ", Level::Debug),
    ] {
        if let Some(inner) = rest.trim_start_matches(' ').strip_prefix(word) {
            if date(inner, '-', &[2, 2]).is_some() {
                // vLLM's own level and date: read elsewhere.
                break;
            }
            line.level = Some(level);
            line.is_record = true;
            return Some(inner);
        }
    }
    // `- name - INFO - `, the common layout of Python programs that relay a server's lines.
    if let Some((_, levelled)) = rest.strip_prefix("- ").and_then(|named| named.split_once(" - "))
        && let Some((word, inner)) = levelled.split_once(" - ")
        && ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"].contains(&word)
    {
        return Some(inner);
    }
    Some(rest)
}

/// `| ERROR    | module:function:12 - ` after the time, and `| ERROR | stderr | ` of programs that
/// relay a server's lines.
fn loguru<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (word, rest) = text.strip_prefix("| ")?.split_once(" | ")?;
    let level = match word.trim_end() {
        "DEBUG" | "TRACE" => Level::Debug,
        "INFO" | "SUCCESS" => Level::Info,
        "WARNING" => Level::Warning,
        "ERROR" | "CRITICAL" => Level::Error,
        _ => return None,
    };
    if let Some(relayed) = ["stdout | ", "stderr | "].iter().find_map(|s| rest.strip_prefix(s)) {
        return Some(relayed);
    }
    line.level = Some(level);
    line.is_record = true;
    Some(rest.split_once(" - ").map_or(rest, |(_, said)| said))
}

/// SGLang's `[2026-10-01 01:40:36 DP0 TP3] ` and TensorRT-LLM's `[10/01/2026-01:54:18] `.
fn bracketed_time<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let inner = text.strip_prefix('[')?;
    let (rest, stamp_end) = if let Some(rest) = date(inner, '-', &[4, 2, 2]) {
        let (_, rest) = clock(rest.strip_prefix(' ')?)?;
        (rest, inner.len() - rest.len())
    } else if let Some(rest) = date(inner, '/', &[2, 2, 4]) {
        let (_, rest) = clock(rest.strip_prefix('-')?)?;
        (rest, inner.len() - rest.len())
    } else if let Some((gpu, rest)) = inner.strip_prefix("gpu").and_then(|r| r.split_once("] ")) {
        // SGLang before 0.4 numbered its processes by card: `[gpu_id=0] `.
        line.says_process(&format!("gpu{}", gpu.trim_start_matches("_id").trim_start_matches('=')));
        line.is_record = true;
        return Some(rest);
    } else {
        let (_, rest) = clock(inner)?;
        (rest, inner.len() - rest.len())
    };
    let (ranks, rest) = rest.split_once(']')?;
    if !ranks
        .split(' ')
        .all(|rank| rank.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'))
    {
        return None;
    }
    line.stamp = inner.get(..stamp_end).map(str::to_owned);
    line.is_record = true;
    let ranks = ranks.trim_start_matches(' ');
    if !ranks.is_empty() {
        line.says_process(ranks);
    }
    rest.strip_prefix(' ').or_else(|| rest.is_empty().then_some(""))
}

/// `[TRT-LLM] [RANK 1] [E] [module] ` and `[TensorRT-LLM][ERROR] `.
fn trtllm_tags<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let mut rest =
        text.strip_prefix("[TRT-LLM]").or_else(|| text.strip_prefix("[TensorRT-LLM]"))?;
    let mut module_seen = false;
    loop {
        let trimmed = rest.trim_start_matches(' ');
        let Some((tag, after)) = trimmed.strip_prefix('[').and_then(|t| t.split_once(']')) else {
            break;
        };
        match tag {
            "E" | "ERROR" | "F" | "FATAL" => line.level = Some(Level::Error),
            "W" | "WARNING" => line.level = Some(Level::Warning),
            "I" | "INFO" => line.level = Some(Level::Info),
            "V" | "D" | "B" | "VERBOSE" | "DEBUG" | "TRACE" => line.level = Some(Level::Debug),
            _ if tag.starts_with("RANK ") => line.says_process(tag),
            // The module of newer releases follows the level, once; `[startup]` after it is text.
            _ if line.level.is_some()
                && !module_seen
                && tag.trim_end().bytes().all(|b| b.is_ascii_lowercase() || b == b'_') =>
            {
                module_seen = true;
            }
            _ => break,
        }
        rest = after;
    }
    line.is_record = true;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `(EngineCore_DP0 pid=94) `, `(VllmWorker rank=0 pid=120) `, `(RayWorkerWrapper pid=7, ip=…) `.
fn process_tag<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (tag, rest) = text.trim_start_matches('\t').strip_prefix('(')?.split_once(')')?;
    if tag.len() > 120 || !(tag.contains(" pid=") || tag.contains(" rank=") || tag.contains("pid="))
    {
        return None;
    }
    if !line.process.ends_with(tag) {
        line.says_process(tag);
    }
    rest.strip_prefix(' ').or_else(|| rest.is_empty().then_some(""))
}

/// `[rank0]: ` and `[rank0]:`.
fn rank_tag<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (rank, rest) = text.strip_prefix("[rank")?.split_once("]:")?;
    if rank.is_empty() || !rank.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    line.says_process(&format!("rank{rank}"));
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// `[E1001 16:06:04.537 ProcessGroupNCCL.cpp:607] ` and `E0714 09:10:11.20 190 model.cc:692] `.
fn glog<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let inner = text.strip_prefix('[').unwrap_or(text);
    let level = match inner.chars().next()? {
        'I' => Level::Info,
        'W' => Level::Warning,
        'E' | 'F' => Level::Error,
        _ => return None,
    };
    let rest = skip_digits(inner.get(1..)?, 3..=4)?.strip_prefix(' ')?;
    let (_, rest) = clock(rest)?;
    let (place, rest) = rest.split_once(']')?;
    if place.len() > 160 || !place.contains(':') {
        return None;
    }
    line.level = Some(level);
    line.is_record = true;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// vLLM's `INFO 10-01 01:24:26 [core.py:123] ` with its older `core.py:123] `, uvicorn's
/// `INFO:     `, and Python's plain `ERROR:name:`.
fn python_level<'t>(line: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    let (level, rest) = [
        ("INFO", Level::Info),
        ("WARNING", Level::Warning),
        ("ERROR", Level::Error),
        ("DEBUG", Level::Debug),
        ("CRITICAL", Level::Error),
    ]
    .into_iter()
    .find_map(|(word, level)| text.strip_prefix(word).map(|rest| (level, rest)))?;
    let found = if let Some(rest) = rest.strip_prefix(':') {
        match rest.strip_prefix(' ') {
            Some(rest) => rest.trim_start_matches(' '),
            None => {
                rest.split_once(':')
                    .filter(|(name, _)| !name.is_empty() && name.chars().all(is_name))?
                    .1
            }
        }
    } else {
        let rest = rest.strip_prefix(' ')?;
        let dated = date(rest, '-', &[2, 2])?;
        let (_, timed) = clock(dated.strip_prefix(' ')?)?;
        line.stamp = rest.get(..rest.len() - timed.len()).map(str::to_owned);
        // The place in the source ends the prefix: `[file.py:12] `, or `file.py:12] ` before 0.8.
        match timed.split_once(']') {
            Some((place, rest)) if place.len() < 200 && place.contains(':') => {
                rest.strip_prefix(' ').unwrap_or(rest)
            }
            _ => timed.strip_prefix(' ').unwrap_or(timed),
        }
    };
    line.level = Some(level);
    line.is_record = true;
    Some(found)
}

/// `vLLM STDOUT: `, as programs that relay a server's output write it; DJL's
/// `INFO  PyProcess W-1-model-stdout: ` and TorchServe's `[INFO ] W-9000-m_1.0-stdout MODEL_LOG - `.
fn relayed_output<'t>(_: &mut Line<'_>, text: &'t str) -> Option<&'t str> {
    for (mark, end) in
        [("PyProcess ", "-stdout: "), ("PyProcess ", "-stderr: "), (" W-", " MODEL_LOG - ")]
    {
        let relayed =
            text.split_once(end).filter(|(head, _)| head.len() < 100 && head.contains(mark));
        if let Some((_, rest)) = relayed {
            return Some(rest);
        }
    }
    let at = text.find(" STDOUT: ").or_else(|| text.find(" STDERR: "))?;
    let name = text.get(..at)?;
    (!name.is_empty() && name.len() < 32 && name.chars().all(is_name))
        .then(|| text.get(at + 9..))?
}

/// What is after a date of groups of digits, or nothing.
fn date<'t>(text: &'t str, separator: char, groups: &[usize]) -> Option<&'t str> {
    let mut rest = text;
    for (i, digits) in groups.iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(separator)?;
        }
        rest = skip_digits(rest, *digits..=*digits)?;
    }
    Some(rest)
}

/// `01:24:26` with any fraction: the time as written, and what is after it.
fn clock(text: &str) -> Option<(&str, &str)> {
    let rest = skip_digits(text, 1..=2)?.strip_prefix(':')?;
    let rest = skip_digits(rest, 2..=2)?.strip_prefix(':')?;
    let mut rest = skip_digits(rest, 2..=2)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() < fraction.len() {
            rest = after;
        }
    }
    Some((text.get(..text.len() - rest.len())?, rest))
}

fn zone(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('Z').or_else(|| text.strip_prefix(" UTC")) {
        return rest;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else { return text };
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    if (4..=5).contains(&(rest.len() - after.len())) { after } else { text }
}

fn skip_digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let found = text.len() - rest.len();
    if found > *count.end() {
        // More digits than the form has: not this form.
        return None;
    }
    (found >= *count.start()).then_some(rest)
}

/// A line as a terminal shows it in the end: without colours, and without what was written over.
pub(crate) fn as_shown(line: &str) -> Cow<'_, str> {
    last_overwrite(uncoloured(Cow::Borrowed(line)))
}

/// Without ANSI escapes. vLLM 0.10.2 to 0.14.1 coloured its process prefix even into files.
fn uncoloured(text: Cow<'_, str>) -> Cow<'_, str> {
    let text = unspelled(text);
    if !text.contains('\u{1b}') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(sequence) => match sequence.find(|c: char| c.is_ascii_alphabetic()) {
                Some(end) => sequence.get(end + 1..).unwrap_or(""),
                None => "",
            },
            None => after,
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Without colours whose escape was spelled out or lost on the way: rsyslog writes control
/// characters as `#033` and `#015`, `cat -v` as `^[` and `^M`, and a page that a log was pasted into
/// drops the escape and keeps `[1;36m`.
fn unspelled(text: Cow<'_, str>) -> Cow<'_, str> {
    const ENDS: [&str; 2] = ["#015", "^M"];
    const ESCAPES: [&str; 3] = ["#033", "^[", "\u{1b}"];
    let spelled = ["#033[", "^[["].iter().any(|words| text.contains(words));
    let lost = has_lost_colour(&text);
    let end = ENDS.iter().find_map(|end| text.trim_end_matches('\r').strip_suffix(end));
    if !spelled && !lost && end.is_none() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = end.unwrap_or(text.as_ref());
    while let Some(at) = rest.find('[') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let escape = ESCAPES.iter().find(|escape| out.ends_with(**escape));
        rest = if let Some(after) = colour(from).filter(|_| lost || escape.is_some()) {
            out.truncate(out.len() - escape.map_or(0, |escape| escape.len()));
            after
        } else {
            out.push('[');
            from.get(1..).unwrap_or_default()
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A colour without its escape is told by where it stands: at the beginning, or around a process.
fn has_lost_colour(text: &str) -> bool {
    text.match_indices('[').any(|(at, _)| {
        let after = text.get(at..).and_then(colour);
        after.is_some_and(|after| at == 0 || after.starts_with('('))
    })
}

/// What is after a colour's `[1;36m`.
fn colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix('[')?;
    let after = numbers.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    let digits = numbers.len() - after.len();
    after.strip_prefix('m').filter(|_| (1..=11).contains(&digits))
}

/// What a terminal would show: a progress bar writes over its own line.
fn last_overwrite(text: Cow<'_, str>) -> Cow<'_, str> {
    let end = text.trim_end_matches('\r').len();
    let start = text.get(..end).and_then(|t| t.rfind('\r')).map_or(0, |at| at + 1);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(start..end).unwrap_or(text)),
        Cow::Owned(text) => Cow::Owned(text.get(start..end).unwrap_or(&text).to_owned()),
    }
}

/// The lines a JSON record holds: what shippers made of them, the JSON formatters of vLLM (0.31 on)
/// and TGI, and Python's `exc_info` beside the message. A launcher's prefix may stand before it.
pub(crate) fn unfold(raw: &[u8], heads: &mut Heads) -> Option<Vec<String>> {
    memchr::memmem::find(raw, b"{\"")?;
    let text = uncoloured(String::from_utf8_lossy(raw));
    let inner = Line::empty(0).peel(&text);
    let inner = if inner.starts_with("{\"") { inner } else { heads.behind(inner)? };
    if !inner.starts_with("{\"") {
        return None;
    }
    let record: serde_json::Value = serde_json::from_str(inner).ok()?;
    let text_of = |key: &str| record.get(key).and_then(serde_json::Value::as_str);
    let fields = || record.get("fields")?.get("message")?.as_str();
    let message = MESSAGES.iter().find_map(|key| text_of(key)).or_else(fields)?;
    let level = text_of("levelname").or_else(|| text_of("level")).unwrap_or_default();
    // As Python calls them: TGI, and Go programs beside a server, say `WARN` and `info`.
    let level = match level.to_ascii_uppercase().as_str() {
        "" => String::new(),
        "WARN" => "WARNING: ".to_owned(),
        level => format!("{level}: "),
    };
    let process = match (text_of("processName"), record.get("process")) {
        (Some(name), Some(pid)) if name != "MainProcess" => format!("({name} pid={pid}) "),
        _ => String::new(),
    };
    let raised = ["exc_info", "exception", "stack_trace"].into_iter().find_map(text_of);
    let lines = message.lines().chain(raised.into_iter().flat_map(str::lines));
    Some(lines.take(MAX_UNFOLDED).map(|line| format!("{process}{level}{line}")).collect())
}

/// Where a record keeps what the server wrote: docker's driver and Fluent Bit, Python's and Rust's
/// formatters, journald's export, Go's loggers, OpenTelemetry, Google Cloud, Loki.
const MESSAGES: [&str; 7] = ["log", "message", "MESSAGE", "msg", "body", "textPayload", "line"];

/// Lines read of one record: more than any traceback has.
const MAX_UNFOLDED: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn strips(raw: &str, text: &str, process: &str, level: Option<Level>) {
        let line = Line::strip(1, raw.as_bytes());
        assert_eq!(
            (line.text.as_ref(), line.process.as_str(), line.level),
            (text, process, level),
            "from {raw:?}"
        );
    }

    #[test]
    fn every_known_prefix_is_peeled() {
        let info = Some(Level::Info);
        let error = Some(Level::Error);
        let cases: &[(&str, &str, &str, Option<Level>)] = &[
            ("INFO 07-28 15:07:22 [core.py:632] Hello.", "Hello.", "", info),
            ("INFO 11-20 10:45:55 model_runner.py:680] Starting", "Starting", "", info),
            (
                "(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1348]   File \"x\"",
                "  File \"x\"",
                "EngineCore pid=7",
                error,
            ),
            (
                "(Worker pid=9) (Worker_TP1 pid=9) ERROR 03-05 09:56:09 [m.py:8] boom",
                "boom",
                "Worker pid=9 Worker_TP1 pid=9",
                error,
            ),
            (
                "(APIServer pid=1) INFO:     Application startup complete.",
                "Application startup complete.",
                "APIServer pid=1",
                info,
            ),
            ("ERROR:    [Errno 98] error", "[Errno 98] error", "", error),
            ("ERROR:root:boom", "boom", "", error),
            ("[rank0]: ValueError: x", "ValueError: x", "rank0", None),
            (
                "[rank2]:[E1001 16:06:04.537131842 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog",
                "[Rank 2] Watchdog",
                "rank2",
                error,
            ),
            (
                "E0714 09:10:11.202020 190 backend_model.cc:692] \"ERROR: no\"",
                "\"ERROR: no\"",
                "",
                error,
            ),
            ("[2025-04-11 10:01:12 TP7] Memory pool end.", "Memory pool end.", "TP7", None),
            ("[2025-04-11 10:01:12.123 DP1 TP0 EP3] x", "x", "DP1 TP0 EP3", None),
            ("[2025-04-11 10:01:12] x", "x", "", None),
            ("[gpu_id=0] max_total_num_tokens=3", "max_total_num_tokens=3", "gpu0", None),
            ("[06/11/2026-10:20:15] [TRT-LLM] [RANK 0] [E] Hang", "Hang", "RANK 0", error),
            (
                "[10/01/2026-01:54:18] [TRT-LLM] [I] [_startup] [startup][pid=7] x",
                "[startup][pid=7] x",
                "",
                info,
            ),
            (
                "[TRT-LLM] [I] [batchmgr][RANK 0] Number of tokens",
                "Number of tokens",
                "RANK 0",
                info,
            ),
            ("[05/19/2026-14:25:08] [TRT-LLM] [E] [serve   ] bad", "bad", "", error),
            ("[TensorRT-LLM][ERROR] 1: bad", "1: bad", "", error),
            ("server-1  | Killed", "Killed", "", None),
            ("server-1  | ", "", "", None),
            (
                "vllm_1 | (EngineCore pid=7) INFO 01-01 00:00:00 [a.py:1] x",
                "x",
                "EngineCore pid=7",
                info,
            ),
            ("2026-11-30T10:00:00.000000000Z [2025-04-11 10:01:12 TP7] x", "x", "TP7", None),
            ("2026-11-30T10:00:00.1+02:00 stderr F Killed", "Killed", "", None),
            (
                "[2026-02-24T20:21:58Z] (EngineCore_DP0 pid=6) ERROR 02-24 20:21:58 [c.py:1] x",
                "x",
                "EngineCore_DP0 pid=6",
                error,
            ),
            ("2026-02-24 20:21:58,123 x", "x", "", None),
            (
                "2023-07-07T17:55:43.805488Z ERROR text_generation_launcher: Webserver Crashed",
                "text_generation_launcher: Webserver Crashed",
                "",
                error,
            ),
            (
                "INFO  PyProcess W-123-m-stdout: [2,0]<stdout>:[rank1]: boom",
                "boom",
                "2,0 rank1",
                None,
            ),
            ("[WARN ] W-9000-m_1.0-stderr MODEL_LOG -   File \"a\"", "  File \"a\"", "", None),
            ("vLLM STDOUT: INFO 01-01 00:00:00 [a.py:1] x", "x", "", info),
            ("Nov 30 10:00:00 gpu7 vllm[123]: Killed", "Killed", "", None),
            ("[pod/server-0/vllm] Killed", "Killed", "", None),
            ("[1,3]<stderr>:[rank3]: boom", "boom", "1,3 rank3", None),
            ("2: (EngineCore pid=7) x", "x", "2 EngineCore pid=7", None),
            (
                "\u{1b}[1;36m(EngineCore_DP0 pid=93)\u{1b}[0;0m INFO 01-01 00:00:00 [a.py:1] x",
                "x",
                "EngineCore_DP0 pid=93",
                info,
            ),
            ("\u{1b}[0m[10/01/2026-01:54:18] [TRT-LLM] [W] x", "x", "", Some(Level::Warning)),
            // Colours as rsyslog and `cat -v` spell them, and as a paste leaves them.
            (
                "Aug 31 04:18:45 gpu7 vllm[415]: #033[1;36m(VllmWorker TP2 pid=415)#033[0;0m ERROR 08-31 04:18:45 [m.py:559] boom#015",
                "boom",
                "VllmWorker TP2 pid=415",
                error,
            ),
            (
                "^[[1;36m(APIServer pid=1)^[[0;0m ^[[1;36m(EngineCore_DP0 pid=276)^[[0;0m ERROR 09-24 13:00:49 [core.py:708] boom^M",
                "boom",
                "APIServer pid=1 EngineCore_DP0 pid=276",
                error,
            ),
            (
                "[1;36m(EngineCore_0 pid=260)[0;0m INFO 09-01 12:21:24 [kv.py:849] x [i][0m]",
                "x [i]]",
                "EngineCore_0 pid=260",
                info,
            ),
            ("[36mvllm-1  | [0m(EngineCore pid=7) x", "x", "EngineCore pid=7", None),
            (
                "waited [10m] for m(x) [model.py:3m]",
                "waited [10m] for m(x) [model.py:3m]",
                "",
                None,
            ),
            ("loading 5%\rloading 10%\r", "loading 10%", "", None),
            (
                "2025-03-07 23:50:27,531 - __main__ - INFO - [2025-03-07 23:50:27 TP0] x",
                "x",
                "TP0",
                None,
            ),
            ("ERROR 2025-04-07T19:13:52.541718006Z [2025-04-07 19:13:52 TP3] x", "x", "TP3", None),
            ("2025-04-07T19:13:52.5Z ERROR 04-01 10:00:00 [core.py:343] x", "x", "", error),
            ("2023-10-26 18:11:35 | ERROR | stderr | Traceback", "Traceback", "", None),
            ("2023-10-26 18:11:35 | ERROR | stderr |   File \"a\"", "  File \"a\"", "", None),
            ("2024-01-01 10:00:00.123 | ERROR    | a.b:run:12 - boom", "boom", "", error),
            ("2025-07-01T00:57:53+08:00\t  File \"a\"", "  File \"a\"", "", None),
            ("│   File \"a\"        │", "  File \"a\"", "", None),
            ("  | (EngineCore pid=7) x", "x", "EngineCore pid=7", None),
            // Not prefixes: they stay.
            ("   41 | #  error \"x\"", "   41 | #  error \"x\"", "", None),
            ("| tensorrt_llm | 1 |", "| tensorrt_llm | 1 |", "", None),
            ("1: [stdArchiveReader.cpp] Error", "1: [stdArchiveReader.cpp] Error", "", None),
            ("(see above) x", "(see above) x", "", None),
            ("Nov 30 10:00:00 Error [CUDA]: x", "Nov 30 10:00:00 Error [CUDA]: x", "", None),
        ];
        for (raw, text, process, level) in cases {
            strips(raw, text, process, *level);
        }
    }

    #[test]
    fn records_of_json_are_unfolded() {
        let cases: &[(&str, &[&str])] = &[
            (
                r#"{"log":"(EngineCore pid=7) boom\n","stream":"stderr"}"#,
                &["(EngineCore pid=7) boom"],
            ),
            (r#"{"levelname":"ERROR","message":"boom"}"#, &["ERROR: boom"]),
            (r#"{"timestamp":"t","level":"ERROR","fields":{"message":"boom"}}"#, &["ERROR: boom"]),
            (
                r#"server-1  | {"levelname":"ERROR","processName":"EngineCore","process":7,"message":"dead","exc_info":"Traceback:\n  File"}"#,
                &[
                    "(EngineCore pid=7) ERROR: dead",
                    "(EngineCore pid=7) ERROR: Traceback:",
                    "(EngineCore pid=7) ERROR:   File",
                ],
            ),
            (r#"{"level":"warn","message":"a\nb"}"#, &["WARNING: a", "WARNING: b"]),
            (r#"{"_PID":"7","MESSAGE":"boom"}"#, &["boom"]),
            (r#"{"ts":1.5,"level":"info","msg":"boom"}"#, &["INFO: boom"]),
            (r#"{"body":"boom","resource":{"k8s.pod.name":"v"}}"#, &["boom"]),
            (r#"{"textPayload":"boom","severity":"ERROR"}"#, &["boom"]),
            (r#"{"line":"boom","timestamp":"17"}"#, &["boom"]),
        ];
        for (raw, lines) in cases {
            assert_eq!(unfold(raw.as_bytes(), &mut Heads::default()).unwrap(), *lines);
        }
        for raw in
            [r#"got exception: {"message":"x"}"#, r#"{"error":{"code":400}}"#, "{\"", "plain"]
        {
            assert_eq!(unfold(raw.as_bytes(), &mut Heads::default()), None, "{raw}");
        }
    }

    #[test]
    fn any_bytes_are_stripped_without_a_panic() {
        for raw in [
            &b"\xff\xfe(pid="[..],
            b"[",
            b"(",
            b"[20",
            b"2026-",
            b"\x1b",
            b"\x1b[",
            b"{\"",
            b"[\xc3\xa9",
            b"Nov ",
        ] {
            let line = Line::strip(1, raw);
            assert!(line.text.len() <= 3 * raw.len());
        }
    }
}
