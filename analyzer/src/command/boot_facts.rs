//! `boot-facts`: what server logs say of their start.

use crate::boot::facts::{BackendRole, BootFacts, Compile, Fact};
use crate::cli::{self, Format};
use crate::error::InputError;
use crate::load;
use crate::number::{count, grouped};
use crate::visible::visible_lines;
use serde_json::json;

/// Most arguments that are listed.
const ARGUMENTS: usize = 200;

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
    let mut rows = Rows(format!("{name}\n"));
    rows.what_runs(facts);
    rows.sizes(facts);
    rows.memory(facts);
    rows.start(facts);
    rows.arguments(facts);
    for line in &facts.unparsed {
        rows.fact("not understood", line.value.clone(), line.line);
    }
    rows.0
}

/// The lines so far.
struct Rows(String);

impl Rows {
    fn row(&mut self, what: &str, value: &str, line: Option<u64>) {
        let line = line.map(|line| format!("  (line {line})")).unwrap_or_default();
        self.0 += &format!("  {what:<22}{value}{line}\n");
    }

    fn fact(&mut self, what: &str, value: impl AsRef<str>, line: u64) {
        self.row(what, value.as_ref(), Some(line));
    }

    fn words(&mut self, what: &str, fact: Option<&Fact<String>>) {
        if let Some(fact) = fact {
            self.fact(what, &fact.value, fact.line);
        }
    }

    /// Engine, version, model and backends.
    fn what_runs(&mut self, facts: &BootFacts) {
        self.row("engine", facts.engine.unwrap_or("not known"), None);
        if let Some(version) = &facts.version {
            let untested = if facts.untested_version {
                ", which is not tested: facts may be missing"
            } else {
                ""
            };
            self.fact("version", format!("{}{untested}", version.value), version.line);
        }
        self.words("model", facts.model.as_ref());
        self.words("device", facts.device.as_ref());
        self.words("backend asked for", facts.requested_backend.as_ref());
        for backend in &facts.backends {
            let role = match backend.value.role {
                BackendRole::Model => "backend",
                BackendRole::Draft => "backend (draft model)",
                BackendRole::Prefill => "backend (prefill)",
                BackendRole::Decode => "backend (decode)",
            };
            self.fact(role, &backend.value.name, backend.line);
        }
    }

    /// What the server is divided into, and how much it takes at once.
    fn sizes(&mut self, facts: &BootFacts) {
        for (what, fact) in [
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
        ] {
            if let Some(fact) = fact {
                self.fact(what, count(fact.value as f64), fact.line);
            }
        }
        self.words("running limit lowered", facts.running_limit_reason.as_ref());
    }

    fn memory(&mut self, facts: &BootFacts) {
        for pool in &facts.pools {
            let tokens = format!("{} tokens{}", count(pool.value as f64), of(&pool.process));
            self.fact("KV cache", tokens, pool.line);
        }
        for memory in &facts.kv_memory_gib {
            let size = format!("{} GiB{}", grouped(memory.value, 2), of(&memory.process));
            self.fact("KV cache memory", size, memory.line);
        }
        for part in &facts.memory {
            self.fact("memory", format!("{} GiB {}", grouped(part.gib, 2), part.part), part.line);
        }
    }

    /// How the start went.
    fn start(&mut self, facts: &BootFacts) {
        let seconds = |fact: &Fact<f64>| format!("{} s", grouped(fact.value, 1));
        if let Some(compile) = &facts.compile {
            let how = match compile.value {
                Compile::Cold => "from scratch",
                Compile::Warm => "from a cache",
                Compile::Off => "off",
            };
            let took = facts.compile_seconds.as_ref().map(|took| format!(", {}", seconds(took)));
            self.fact("compilation", format!("{how}{}", took.unwrap_or_default()), compile.line);
        }
        for (what, took) in
            [("weights loaded in", &facts.load_seconds), ("engine started in", &facts.init_seconds)]
        {
            if let Some(took) = took {
                self.fact(what, seconds(took), took.line);
            }
        }
        self.words("address", facts.address.as_ref());
        let ready = match (facts.ready_line, facts.seconds_to_ready) {
            (None, _) if facts.engine.is_none() => "not known",
            (None, _) => "no",
            (Some(_), None) => "yes",
            (Some(_), Some(seconds)) => &format!("{} s after the first line", grouped(seconds, 0)),
        };
        self.row("ready", ready, facts.ready_line);
    }

    /// How many arguments the log lists; each, where it lists those only that differ from the default.
    fn arguments(&mut self, facts: &BootFacts) {
        let Some(arguments) = &facts.arguments else { return };
        let (kind, shown) = if arguments.only_changed {
            ("arguments changed", ARGUMENTS)
        } else {
            ("arguments", 0)
        };
        self.fact(kind, count(arguments.values.len() as f64), arguments.line);
        for (name, value) in arguments.values.iter().take(shown) {
            self.row("", &format!("{name} = {value}"), None);
        }
    }
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
