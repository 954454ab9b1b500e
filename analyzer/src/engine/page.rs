//! `docs/engines.md` says what the code says: it is printed from the engines' tables.

use super::{ENGINES, Engine, Metric, Pick};
use crate::boot;
use inferlint_schema::engine::{self as identity, Command, EngineIdentity};
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/engines.md");

const HEAD: &str = "\
# Engines

How each inference engine is recognised, which of its metrics stand for which signal, and which lines
of its log are read. This page is printed from `schema/src/engine/`, `analyzer/src/engine/` and
`analyzer/src/boot/`, one file an engine in each, where the source of every fact stands beside it; do
not edit it.

In the tables of signals, the newest name of a metric stands first and older names follow. *Reads 0
beside* names metrics of the same writer: while one of them is exported and the signal is not, the
signal reads 0. A signal without such a witness is unknown while it is absent; so is a gauge of
requests running or waiting or of the KV cache's use while another of the three is exported.
";

fn code<T: AsRef<str>>(texts: &[T]) -> String {
    let quoted: Vec<String> =
        texts.iter().map(|text| format!("`{}`", text.as_ref().replace('|', "\\|"))).collect();
    if quoted.is_empty() { "—".into() } else { quoted.join(", ") }
}

fn commands(commands: &[Command]) -> String {
    let shown = commands.iter().map(|command| match command {
        Command::Program(program, arguments) => {
            format!("{program} {}", arguments.join("/")).trim_end().to_owned()
        }
        Command::Module(module) => format!("python -m {module}"),
        Command::Image(image, _) => format!("container {image}"),
    });
    code(&shown.collect::<Vec<_>>())
}

fn rows(of: &Engine, identity: &EngineIdentity) -> Vec<(&'static str, String)> {
    let ports: Vec<String> = identity.default_ports.iter().map(u16::to_string).collect();
    let label = |label: Option<&str>| label.map_or("—".into(), |label| format!("`{label}`"));
    let gauges = match (of.gauges_lag, of.usage_rounding) {
        (Some(lag), _) => lag.to_owned(),
        (None, 0.0) => "show the moment they are read at".into(),
        (None, rounding) => {
            format!("show the moment they are read at; the KV cache's to ±{rounding}")
        }
    } + if of.gauges_stay { "; may stay after the last request" } else { "" };
    vec![
        ("started by", commands(identity.serve_commands)),
        ("worker processes", commands(identity.worker_commands)),
        ("process titles begin with", code(identity.process_titles)),
        ("Python packages", code(of.packages)),
        ("ports", ports.join(", ")),
        ("metrics at", code(identity.metrics_paths)),
        ("metric names begin with", code(identity.prefixes)),
        ("ready by its log", code(identity.ready_lines)),
        (
            "ready by status 200 of",
            code(identity.health_paths)
                + if identity.ready_line_required {
                    "; answers too early, so the log decides"
                } else {
                    ""
                },
        ),
        ("asked by GET, nothing else", code(identity.get_paths)),
        ("replicas by label", label(of.replica_label)),
        ("total where label is empty", label(of.total_label)),
        ("gauges", gauges),
        ("without metrics", identity.missing_metrics_help.into()),
        ("without gauges", of.gauges_setting.into()),
        ("its word for a preemption", of.preemption.into()),
    ]
}

fn signal(metric: &Metric) -> String {
    let added = match metric.pick {
        Pick::All => "all series".into(),
        Pick::LowestOf(labels) => format!("lowest of {}", code(labels)),
        Pick::HighestOf(label) => format!("highest of `{label}`"),
    };
    let name = format!("{:?}", metric.signal);
    let words = name.chars().fold(String::new(), |mut all, letter| {
        if letter.is_uppercase() && !all.is_empty() {
            all.push(' ');
        }
        all.extend(letter.to_lowercase());
        all
    });
    let but = metric.not_in.as_ref().map_or(String::new(), |old| {
        format!(", not in releases that have {} and lack {}", code(&[old.has]), code(old.lacks))
    });
    let (names, witnesses) = (code(metric.names), code(metric.witnesses));
    format!("| {words} | {names} | {witnesses}{but} | {added} |\n")
}

fn log(engine: &str) -> String {
    let Some(grammar) = boot::grammar_of(engine) else { return String::new() };
    let mut out = "\n### Log\n\n".to_owned();
    let tested: Vec<&str> =
        grammar.tested.iter().map(|version| version.trim_end_matches('.')).collect();
    let _ = writeln!(
        out,
        "- Releases whose lines were checked: {}.",
        match tested.as_slice() {
            [] => "none".into(),
            tested => tested.join(", "),
        }
    );
    let _ = writeln!(out, "- Only its log has: {}.", code(grammar.marks()));
    let _ = writeln!(out, "- At work it writes: {}.", code(grammar.work_words));
    out += match (grammar.answering_is_ready, grammar.answers_prove_work) {
        (true, true) => "- An answered request proves it ready, two prove it at work.\n",
        (true, false) => "- An answered request proves it ready.\n",
        (false, true) => "- Two answered requests prove it at work.\n",
        (false, false) => "- An answered request proves nothing.\n",
    };
    if !grammar.rules.is_empty() {
        out += "\n| lines with | forms known |\n|---|---|\n";
        for rule in grammar.rules {
            let _ = writeln!(out, "| {} | {} |", code(&[rule.anchor]), rule.forms.len());
        }
    }
    if !grammar.stages.is_empty() {
        out += "\n| lines with | begin |\n|---|---|\n";
        for (words, stage) in grammar.stages {
            let _ = writeln!(out, "| {} | {} |", code(&[words]), stage.doing());
        }
    }
    out
}

fn section(of: &Engine) -> String {
    let identity = identity::by_name(of.name).unwrap();
    let mut out = format!("\n## {} (`{}`)\n\n| | |\n|---|---|\n", identity.title, of.name);
    for (name, value) in rows(of, identity) {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    if !of.metrics.is_empty() {
        out += "\n### Signals\n\n| signal | metric | reads 0 beside | added |\n|---|---|---|---|\n";
        out.extend(of.metrics.iter().map(signal));
    }
    out + &log(of.name)
}

#[test]
fn the_page_is_current() {
    let current: String = std::iter::once(HEAD.to_owned())
        .chain(ENGINES.iter().map(|engine| section(engine)))
        .collect();
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        std::fs::write(PAGE, &current).unwrap();
        return;
    }
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(page == current, "docs/engines.md is out of date: INFERLINT_BLESS=1 cargo test");
}
