//! Follows Python tracebacks through a log that several processes write at once.

use std::collections::{HashMap, VecDeque};

use crate::boot::line::Line;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// File name without its folders.
    pub file: String,
    pub line: String,
    pub function: String,
}

/// The end of a traceback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// The class without its path: `OutOfMemoryError`.
    pub class: String,
    pub message: String,
    /// The innermost frames, the raising one last.
    pub frames: Vec<Frame>,
    /// What was said just before `Traceback`, or on its line.
    pub header: String,
    /// It ended a thread, not a process.
    pub in_thread: bool,
    /// Exceptions of one chain ("during handling of", "direct cause of") share a number.
    pub chain: u64,
}

/// What a line was to its process's traceback.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A frame, a quoted source line or a connecting line: never a cause.
    Inside,
    /// The line that names the exception.
    End(Exception),
    /// Not of a traceback.
    Outside,
}

/// Frames kept of one traceback: the raising end is what names the place.
const MAX_FRAMES: usize = 24;
/// Processes followed at once; a forged log shall not fill memory.
const MAX_PROCESSES: usize = 256;

#[derive(Default)]
pub(crate) struct Traces {
    open: HashMap<String, Open>,
    chains: u64,
}

#[derive(Default)]
struct Open {
    frames: VecDeque<Frame>,
    header: String,
    /// The line before, which a `Traceback` line may turn into a header.
    previous: String,
    thread: bool,
    reading: bool,
    chained: bool,
    /// The line before ended a traceback: frames may follow (Ray puts the remote ones there).
    just_ended: bool,
    chain: u64,
    /// The line before was a frame without its indentation: a line of source follows.
    source_next: bool,
}

impl Traces {
    /// Whether any traceback is open: then every line is wanted.
    pub(crate) fn reading(&self) -> bool {
        self.open.values().any(|open| open.reading)
    }

    pub(crate) fn follow(&mut self, process: &str, line: &Line<'_>) -> Part {
        if !self.open.contains_key(process) && self.open.len() >= MAX_PROCESSES {
            self.open.clear();
        }
        let open = self.open.entry(process.to_owned()).or_default();
        let text = line.text.as_ref();
        if let Some(at) = text.find("Traceback (most recent call last)") {
            open.begin(text.get(..at).unwrap_or_default().trim(), &mut self.chains);
            return Part::Inside;
        }
        if text.starts_with("During handling of the above")
            || text.starts_with("The above exception was the direct cause")
        {
            open.chained = true;
            return Part::Inside;
        }
        if open.goes_on(text) {
            return Part::Inside;
        }
        open.end(text, &mut self.chains)
    }
}

impl Open {
    /// A traceback begins, behind `said` on its line.
    fn begin(&mut self, said: &str, chains: &mut u64) {
        self.frames.clear();
        self.reading = true;
        self.just_ended = false;
        // What announced a chain announced all of it.
        if !std::mem::take(&mut self.chained) {
            self.header = if said.is_empty() || said.starts_with(['+', '|']) {
                self.previous.clone()
            } else {
                said.to_owned()
            };
            self.thread = self.header.starts_with("Exception in thread ")
                || self.previous.starts_with("Exception in thread ");
            *chains += 1;
            self.chain = *chains;
        }
    }

    /// Takes a line that lies inside a traceback: a frame, or source quoted below one.
    fn goes_on(&mut self, text: &str) -> bool {
        let indented = text.starts_with([' ', '\t']);
        if (self.reading || self.just_ended)
            && indented
            && let Some(frame) = frame(text)
        {
            self.reading = true;
            self.just_ended = false;
            self.add(frame);
            return true;
        }
        if self.reading && indented {
            return true;
        }
        // Shippers and forms that trim lines: then only its frame tells a source line from an end.
        if self.reading
            && text.starts_with("File \"")
            && let Some(frame) = frame(text)
        {
            self.add(frame);
            self.source_next = true;
            return true;
        }
        let quoted = std::mem::take(&mut self.source_next) && exception(text, false).is_none();
        self.reading && (quoted || is_underline(text))
    }

    fn add(&mut self, frame: Frame) {
        if self.frames.len() == MAX_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(frame);
    }

    /// Takes a line outside a traceback, or the one that ends it by naming the exception.
    fn end(&mut self, text: &str, chains: &mut u64) -> Part {
        let named = exception(text, self.reading);
        let was_reading = std::mem::take(&mut self.reading);
        if let Some((class, message)) = named {
            self.just_ended = true;
            if !was_reading {
                // A bare `SomeError: …` with no traceback above it starts a chain of its own.
                self.frames.clear();
                self.header = std::mem::take(&mut self.previous);
                self.thread = false;
                *chains += 1;
                self.chain = *chains;
            }
            return Part::End(Exception {
                class: class.to_owned(),
                message: message.to_owned(),
                frames: self.frames.iter().cloned().collect(),
                header: self.header.clone(),
                in_thread: self.thread,
                chain: self.chain,
            });
        }
        self.just_ended = false;
        if !text.trim().is_empty() {
            text.clone_into(&mut self.previous);
            self.previous.truncate(text.char_indices().nth(200).map_or(text.len(), |(at, _)| at));
        }
        Part::Outside
    }
}

/// `^^^^^~~~` below a source line.
fn is_underline(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| matches!(c, '^' | '~' | ' '))
}

/// `  File "/a/b.py", line 3, in f`.
fn frame(text: &str) -> Option<Frame> {
    let rest = text.trim_start().strip_prefix("File \"")?;
    let (path, rest) = rest.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    Some(Frame {
        file: path.rsplit('/').next().unwrap_or(path).to_owned(),
        line: line.trim().to_owned(),
        function: function.trim().to_owned(),
    })
}

/// The class (without its path) and message of a line that ends a traceback. Outside a traceback
/// only a name that can be nothing but an exception's counts.
fn exception(text: &str, ends_traceback: bool) -> Option<(&str, &str)> {
    let (path, message) = match text.split_once(": ") {
        Some((path, message)) if !path.contains(['\'', '"']) => (path, message),
        // `RuntimeError('…')`, as an error is printed that was only looked at.
        _ => match text.trim_end().split_once("('") {
            Some((path, message)) => (path, message.trim_end_matches(['\'', ')', ','])),
            None => (text.trim_end().trim_end_matches(':'), ""),
        },
    };
    // `ray.exceptions.RayTaskError(ValueError)` names two classes; the outer one ended it.
    let path = path.split('(').next().unwrap_or(path);
    let class = path.rsplit('.').next().unwrap_or(path);
    let dotted = !path.is_empty()
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    if !dotted || !class.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let named = ["Error", "Exception", "Exit", "Interrupt", "Failed", "Timeout"]
        .iter()
        .any(|end| class.ends_with(end));
    let known = named && class.starts_with(|c: char| c.is_ascii_uppercase()) && class != "Error";
    (ends_traceback || known).then_some((class, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(log: &str) -> Vec<Exception> {
        let mut traces = Traces::default();
        log.lines()
            .enumerate()
            .filter_map(|(i, raw)| {
                let line = Line::strip(i as u64 + 1, raw.as_bytes());
                match traces.follow(&line.process.clone(), &line) {
                    Part::End(exception) => Some(exception),
                    _ => None,
                }
            })
            .collect()
    }

    #[test]
    fn a_chain_keeps_its_exceptions_in_order() {
        let found = follow(
            "Traceback (most recent call last):\n  File \"/a/m.py\", line 563, in from_name\n    return next(x)\nStopIteration\n\n\
             During handling of the above exception, another exception occurred:\n\n\
             Traceback (most recent call last):\n  File \"/a/n.py\", line 9, in version\n    f()\nx.PackageNotFoundError: No package\n",
        );
        let classes: Vec<_> = found.iter().map(|e| (e.class.as_str(), e.chain)).collect();
        assert_eq!(classes, [("StopIteration", 1), ("PackageNotFoundError", 1)]);
        assert_eq!(found[1].frames[0].function, "version");
    }

    #[test]
    fn processes_that_write_at_once_are_told_apart() {
        let found = follow(
            "(W pid=1) Traceback (most recent call last):\n(W pid=2) Traceback (most recent call last):\n\
             (W pid=1)   File \"a.py\", line 1, in one\n(W pid=2)   File \"a.py\", line 2, in two\n\
             (W pid=1) ValueError: 1\n(W pid=2) TypeError: 2\n",
        );
        assert_eq!(found[0].frames[0].function, "one");
        assert_eq!(found[1].frames[0].function, "two");
        assert_ne!(found[0].chain, found[1].chain);
    }

    #[test]
    fn source_lines_that_quote_an_error_end_nothing() {
        let found = follow(
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    raise ValueError(\"No memory. \"\n                     \"Try\")\nValueError: No memory. Try\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "No memory. Try");
    }

    #[test]
    fn remote_frames_after_a_wrapper_are_still_a_traceback() {
        let found = follow(
            "Traceback (most recent call last):\nray.exceptions.RayTaskError(ValueError): ray::W.run() (pid=7)\n  File \"u.py\", line 227, in request_memory\n    raise ValueError(\nValueError: Free memory\n",
        );
        let classes: Vec<_> = found.iter().map(|e| e.class.as_str()).collect();
        assert_eq!(classes, ["RayTaskError", "ValueError"]);
        assert_eq!(found[1].frames[0].function, "request_memory");
    }

    #[test]
    fn a_traceback_that_lost_its_indentation_is_one() {
        let found = follow(
            "Traceback (most recent call last):\nFile \"/a/core.py\", line 329, in init\nsuper().init(config,\n^^^^^^^^^^\nFile \"/a/b.py\", line 4, in load\nStopIteration\nAssertionError: only once\nINFO next\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].class.as_str(), found[0].frames.len()), ("AssertionError", 2));
    }

    #[test]
    fn an_error_printed_as_a_value_keeps_its_message() {
        let found = follow("RuntimeError('Engine process (pid 76) died.')\n");
        assert_eq!(found[0].message, "Engine process (pid 76) died.");
    }

    #[test]
    fn a_thread_that_ends_is_not_a_process_that_ends() {
        let found = follow(
            "Exception in thread Thread-4 (_report):\nTraceback (most recent call last):\n  File \"a.py\", line 1, in run\nPermissionError: [Errno 13] Permission denied: '/.config'\n",
        );
        assert!(found[0].in_thread);
    }

    #[test]
    fn ordinary_words_are_no_exception() {
        for text in [
            "Error: WebserverFailed",
            "note: run with x",
            "Process EngineCore:",
            "RuntimeErrors are bad",
            "Hello",
        ] {
            assert!(follow(text).is_empty(), "{text}");
        }
    }
}
