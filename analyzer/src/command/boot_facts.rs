//! `boot-facts`: what server logs say of their start.

use crate::boot::facts::{BackendRole, BootFacts, Compile, Fact};
use crate::cli::{self, Format};
use crate::error::InputError;
use crate::load;
use crate::number::{count, grouped};
use crate::visible::visible_lines;
use serde_json::json;

/// Name of the JSON document's form.
const SCHEMA: &str = "inferlint.boot-facts/1";

pub(super) fn run(arguments: &cli::BootFacts) -> Result<u8, InputError> {
    let mut logs = Vec::new();
    for path in &arguments.logs {
        let log = load::log(&super::log_path(path), arguments.engine)?;
        logs.push((super::log_name(path), log.server.facts));
    }
    let output = match arguments.format {
        Format::Text => {
            let texts: Vec<_> = logs.iter().map(|(name, facts)| text(name, facts)).collect();
            // Values come from the input.
            visible_lines(&texts.join("\n"))
        }
        Format::Json => {
            let listed: Vec<_> =
                logs.iter().map(|(name, facts)| json!({"log": name, "facts": facts})).collect();
            format!(
                "{:#}\n",
                json!({"schema": SCHEMA, "analyzer": env!("CARGO_PKG_VERSION"), "logs": listed})
            )
        }
    };
    super::print(&output)?;
    Ok(0)
}

/// One fact a line: its name, its value, and the line of the log it was read from.
fn text(name: &str, facts: &BootFacts) -> String {
    let mut out = format!("{name}\n");
    let mut row = |what: &str, value: String, line: Option<u64>| {
        let line = line.map(|line| format!("  (line {line})")).unwrap_or_default();
        out += &format!("  {what:<22}{value}{line}\n");
    };
    row("engine", facts.engine.unwrap_or("not known").to_owned(), None);
    if let Some(version) = &facts.version {
        let untested =
            if facts.untested_version { ", which is not tested: facts may be missing" } else { "" };
        row("version", format!("{}{untested}", version.value), Some(version.line));
    }
    let mut words = |what: &str, fact: &Option<Fact<String>>| {
        if let Some(fact) = fact {
            row(what, fact.value.clone(), Some(fact.line));
        }
    };
    words("model", &facts.model);
    words("device", &facts.device);
    words("backend asked for", &facts.requested_backend);
    for backend in &facts.backends {
        let role = match backend.value.role {
            BackendRole::Model => "backend",
            BackendRole::Draft => "backend (draft model)",
            BackendRole::Prefill => "backend (prefill)",
            BackendRole::Decode => "backend (decode)",
        };
        row(role, backend.value.name.clone(), Some(backend.line));
    }
    let numbers = [
        ("tensor parallel", &facts.tensor_parallel),
        ("pipeline parallel", &facts.pipeline_parallel),
        ("data parallel", &facts.data_parallel),
        ("API servers", &facts.api_servers),
        ("longest request", &facts.max_model_len),
        ("running limit", &facts.running_limit),
        ("running limit asked", &facts.running_limit_asked),
        ("block size asked", &facts.block_size_asked),
        ("block size", &facts.block_size),
        ("block size forced", &facts.block_size_forced),
        ("KV cache blocks", &facts.pool_blocks),
    ];
    for (what, fact) in numbers {
        if let Some(fact) = fact {
            row(what, count(fact.value as f64), Some(fact.line));
        }
    }
    if let Some(reason) = &facts.running_limit_reason {
        row("running limit lowered", reason.value.clone(), Some(reason.line));
    }
    for pool in &facts.pools {
        row(
            "KV cache",
            format!("{} tokens{}", count(pool.value as f64), of(&pool.process)),
            Some(pool.line),
        );
    }
    for memory in &facts.kv_memory_gib {
        row(
            "KV cache memory",
            format!("{} GiB{}", grouped(memory.value, 2), of(&memory.process)),
            Some(memory.line),
        );
    }
    for part in &facts.memory {
        row("memory", format!("{} GiB {}", grouped(part.gib, 2), part.part), Some(part.line));
    }
    if let Some(compile) = &facts.compile {
        let how = match compile.value {
            Compile::Cold => "from scratch",
            Compile::Warm => "from a cache",
            Compile::Off => "off",
        };
        let took = facts.compile_seconds.as_ref().map(|s| format!(", {} s", grouped(s.value, 1)));
        row("compilation", format!("{how}{}", took.unwrap_or_default()), Some(compile.line));
    }
    for (what, seconds) in
        [("weights loaded in", &facts.load_seconds), ("engine started in", &facts.init_seconds)]
    {
        if let Some(seconds) = seconds {
            row(what, format!("{} s", grouped(seconds.value, 1)), Some(seconds.line));
        }
    }
    if let Some(address) = &facts.address {
        row("address", address.value.clone(), Some(address.line));
    }
    let ready = match (facts.ready_line, facts.seconds_to_ready) {
        (None, _) if facts.engine.is_none() => "not known".to_owned(),
        (None, _) => "no".to_owned(),
        (Some(_), None) => "yes".to_owned(),
        (Some(_), Some(seconds)) => format!("{} s after the first line", grouped(seconds, 0)),
    };
    row("ready", ready, facts.ready_line);
    if let Some(arguments) = &facts.arguments {
        let kind = if arguments.only_changed { "arguments changed" } else { "arguments" };
        row(kind, count(arguments.values.len() as f64), Some(arguments.line));
        for (name, value) in
            arguments.values.iter().take(if arguments.only_changed { 200 } else { 0 })
        {
            row("", format!("{name} = {value}"), None);
        }
    }
    for line in &facts.unparsed {
        row("not understood", line.value.clone(), Some(line.line));
    }
    out
}

fn of(process: &str) -> String {
    if process.is_empty() { String::new() } else { format!(" ({process})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot;

    #[test]
    fn every_fact_names_its_line() {
        let log = b"INFO 05-05 01:00:00 [a.py:1] vLLM API server version 0.99.0\n\
            (EngineCore pid=3) INFO 05-05 01:00:40 [k.py:9] CPU KV cache size: 7,680 tokens, Maximum concurrency for 2,048 tokens per request: 3.75x\n\
            (EngineCore pid=3) INFO 05-05 01:00:41 [k.py:9] Available KV cache memory: lots\n\
            INFO:     Application startup complete.\n";
        let facts = boot::read(&log[..], None).unwrap().facts;
        let text = text("server.log", &facts);
        for row in [
            "version               0.99.0, which is not tested: facts may be missing  (line 1)",
            "KV cache              7,680 tokens (EngineCore)  (line 2)",
            "device                CPU  (line 2)",
            "ready                 41 s after the first line  (line 4)",
            "not understood        Available KV cache memory: lots  (line 3)",
        ] {
            assert!(text.contains(row), "{row} in\n{text}");
        }
    }
}
