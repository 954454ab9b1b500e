//! One line a verdict for people, the worst last so that it is seen.

use super::Judged;
use crate::evidence::Run;
use crate::finding::{Finding, FindingScope, Status};
use crate::limit;
use crate::number::count;
use crate::visible::visible;
use std::ffi::OsString;
use std::io::IsTerminal;

/// Columns the text fits in, where the terminal has as many.
const WIDTH: usize = 100;

/// Columns below which a terminal may break lines itself: words would stand in a column of their own.
const NARROWEST: usize = 60;

/// Columns of the status words, aligned.
const STATUS: usize = 15;

/// Notes that are shown: thousands would push the verdicts off a screen.
const NOTES: usize = 32;

/// How the text is to look where it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    colour: bool,
    width: usize,
}

impl Look {
    /// For a file, a pipe or a test.
    pub const PLAIN: Self = Self { colour: false, width: WIDTH };

    /// As it suits standard output.
    pub fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        let columns = terminal_size::terminal_size().map(|(columns, _)| columns.0.into());
        Self::of_terminal(columns, |name| std::env::var_os(name))
    }

    /// On a terminal, whose `environment` may ask for no colour (no-color.org).
    fn of_terminal(columns: Option<usize>, environment: impl Fn(&str) -> Option<OsString>) -> Self {
        let unwanted = environment("NO_COLOR").is_some_and(|set| !set.is_empty());
        let unable = environment("TERM").is_some_and(|name| name == "dumb");
        let width = columns.unwrap_or(WIDTH).clamp(NARROWEST, WIDTH);
        Self { colour: !unwanted && !unable, width }
    }

    /// `head` and the words of `text`, further lines indented as far as `head` is long.
    pub fn wrapped(self, head: &str, text: &str) -> String {
        wrapped(head, text, head.chars().count(), self.width)
    }
}

/// The report.
pub fn report(judged: &[Judged<'_>], look: Look) -> String {
    let mut out = String::new();
    for judged in judged {
        let head = match judged.run {
            Some(run) => {
                let engine = run.engine.map_or("engine not known", |engine| engine.title());
                let version = run.engine_version.as_deref().unwrap_or_default();
                format!("{}: {engine} {version}", run.name)
            }
            None => "comparison of starts".into(),
        };
        out += &wrapped("", &head, 2, look.width);
        out.push('\n');
        let mut findings: Vec<&Finding> = judged.findings.iter().collect();
        findings.sort_by_key(|finding| finding.status.rank());
        let codes = findings.iter().map(|f| f.tripwire.len() + 2).max().unwrap_or(0);
        for finding in findings {
            out += &line(finding, codes, look);
        }
        if let Some(run) = judged.run {
            out += &limits(run, look.width);
            out += &notes(&run.notes, look.width);
        }
        out += "\n";
        out += &counts(&judged.findings);
    }
    out
}

fn notes(notes: &[String], width: usize) -> String {
    let shown = notes.iter().take(NOTES);
    let mut out: String = shown.map(|note| wrapped("note: ", note, 6, width)).collect();
    let left = notes.len().saturating_sub(NOTES);
    if left > 0 {
        out += &format!("note: {} more, all of them with --format json\n", count(left as f64));
    }
    out
}

/// What limited the run, under its own head.
fn limits(run: &Run, width: usize) -> String {
    let mut out = String::new();
    for (scope, limit) in limit::of_run(run) {
        if out.is_empty() {
            out += "\nWhat limited this run\n";
        }
        let text = format!("{}{}. {}", names(&scope), limit.title, limit.text);
        out += &wrapped(&format!("{:<6}", limit.tone.key()), &text, 6, width);
    }
    out
}

fn line(finding: &Finding, codes: usize, look: Look) -> String {
    let code = format!("{:<codes$}", format!("[{}]", finding.tripwire));
    let words = format!("{:<STATUS$}", finding.status.words());
    let head = format!("{code} {words}  ");
    let indent = head.chars().count();
    let mut text = names(&finding.scope) + &finding.message;
    if let Some(cause) = finding.explained_by {
        text += &format!(" (explained by {cause})");
    }
    let plain = wrapped(&head, &text, indent, look.width);
    if look.colour {
        plain.replacen(words.trim_end(), &coloured(finding.status, words.trim_end()), 1)
    } else {
        plain
    }
}

/// The load point and the source, where they have names.
fn names(scope: &FindingScope) -> String {
    let names = [&scope.point, &scope.source].into_iter().flatten();
    names.fold(String::new(), |all, name| all + name + ": ")
}

fn coloured(status: Status, words: &str) -> String {
    let code = match status {
        Status::Fail => "1;31",
        Status::Warn => "1;33",
        Status::Unknown => "35",
        Status::Pass => "32",
        Status::Accepted | Status::NotApplicable => "2",
    };
    format!("\u{1b}[{code}m{words}\u{1b}[0m")
}

/// `head` and the words of `text`, further lines indented, within `width` columns.
fn wrapped(head: &str, text: &str, indent: usize, width: usize) -> String {
    let mut out = head.to_owned();
    let mut column = head.chars().count();
    let mut first = true;
    for word in text.split_whitespace() {
        // Names and paths come from the input.
        let word = visible(word);
        let length = word.chars().count();
        if !first && column + 1 + length > width {
            out += "\n";
            out += &" ".repeat(indent);
            column = indent;
        } else if !first {
            out.push(' ');
            column += 1;
        }
        out += &word;
        column += length;
        first = false;
    }
    out.push('\n');
    out
}

/// `3 failed, 1 warned, 10 passed`.
fn counts(findings: &[Finding]) -> String {
    let words = [
        (Status::Fail, "failed"),
        (Status::Warn, "warned"),
        (Status::Unknown, "can't tell"),
        (Status::Accepted, "accepted"),
        (Status::Pass, "passed"),
        (Status::NotApplicable, "does not apply"),
    ];
    let count = |status| findings.iter().filter(|f| f.status == status).count();
    let parts: Vec<String> = words
        .into_iter()
        .filter(|(status, _)| count(*status) > 0)
        .map(|(status, word)| format!("{} {word}", count(status)))
        .collect();
    format!("{}\n", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    fn finding(code: &'static str, verdict: Verdict) -> Finding {
        Finding::new(code, "name", FindingScope::default(), verdict)
    }

    #[test]
    fn the_worst_stands_last_and_lines_hang() {
        let long = "word ".repeat(40);
        let findings = vec![
            finding("T1", Verdict::fail(long)),
            finding("T16", Verdict::pass("fine")),
            finding("T9", Verdict::warn("moved")),
        ];
        let text = report(&[Judged { run: None, findings }], Look::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "[T16] PASS             fine");
        assert_eq!(lines[3], "[T9]  WARNING          moved");
        assert!(lines[4].starts_with("[T1]  TRIPWIRE FAILED  word word"));
        assert!(lines[5].starts_with("                       word"), "{:?}", lines[5]);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(*lines.last().unwrap(), "1 failed, 1 warned, 1 passed");
    }

    #[test]
    fn what_limited_the_run_stands_between_verdicts_and_counts() {
        let run = crate::tripwire::example::run(
            "== params\nconcurrency=8\n== before\nvllm:num_requests_running 0\n== 0\n\
             vllm:num_requests_running 8\n== 1\n== after\n",
        );
        let findings = vec![finding("T8", Verdict::pass("8 of 8"))];
        let text = report(&[Judged { run: Some(&run), findings }], Look::PLAIN);
        let after =
            text.split_once("8 of 8\n\nWhat limited this run\nok    The load ran").unwrap().1;
        assert!(after.ends_with("busy.\n\n1 passed\n"), "{after}");
    }

    #[test]
    fn notes_without_end_are_counted() {
        let text = |n: usize| notes(&vec!["odd".to_owned(); n], WIDTH);
        assert_eq!(text(2), "note: odd\nnote: odd\n");
        assert_eq!(text(NOTES).lines().count(), NOTES);
        assert!(
            text(NOTES + 4_000).ends_with("note: 4,000 more, all of them with --format json\n")
        );
    }

    #[test]
    fn what_hides_or_reorders_does_not_reach_a_terminal() {
        let findings = vec![finding("T1", Verdict::fail("a\u{1b}[2Jb \u{202e}dessap\u{2066}"))];
        let text = report(&[Judged { run: None, findings }], Look::PLAIN);
        assert!(text.contains("a\\u{1b}[2Jb \\u{202e}dessap\\u{2066}\n"), "{text}");
    }

    #[test]
    fn colour_is_only_for_terminals() {
        let judged = || [Judged { run: None, findings: vec![finding("T1", Verdict::fail("x"))] }];
        let of = |name: &'static str, value: &'static str| {
            Look::of_terminal(None, move |asked| (asked == name).then(|| value.into()))
        };
        for look in [of("", ""), of("NO_COLOR", ""), of("TERM", "xterm")] {
            let text = report(&judged(), look);
            assert!(text.contains("\u{1b}[1;31mTRIPWIRE FAILED\u{1b}[0m  x"), "{look:?}");
        }
        for look in [Look::PLAIN, of("NO_COLOR", "1"), of("TERM", "dumb")] {
            assert!(!report(&judged(), look).contains('\u{1b}'), "{look:?}");
        }
    }

    #[test]
    fn text_fits_a_narrower_terminal_down_to_a_width_that_can_be_read() {
        let long = "word ".repeat(40);
        let judged =
            [Judged { run: None, findings: vec![finding("T1", Verdict::pass(long.as_str()))] }];
        for (columns, widest) in [(Some(300), 100), (None, 100), (Some(72), 72), (Some(20), 60)] {
            let text = report(&judged, Look::of_terminal(columns, |_| Some("dumb".into())));
            let most = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(most <= widest && most > widest - 6, "{columns:?}: {most}");
        }
    }
}
