use super::Check;
use crate::evidence::{Missing, Run, Table};
use crate::finding::{Status, Verdict};
use crate::number::{count, plural};
use inferlint_schema::engine;
use inferlint_schema::record::{Gate, Process, Text};

tripwire! {
    /// # What it checks
    /// Whether something of an earlier server was left on the GPUs: before a start, after a stop, or
    /// in a process table that was saved.
    ///
    /// # Why it matters
    /// An engine's children outlive a front end that is killed. They keep their memory, the next
    /// server gets a smaller KV cache or none, and nothing names the cause. Their titles
    /// (`VLLM::EngineCore`, `sglang::scheduler`) do not match the usual `pkill -f "vllm serve"`.
    ///
    /// # How it decides
    /// Processes are told by the structure of their arguments and by their titles, never by a part of
    /// the command line. An engine worker with no server among its ancestors is a failure; so is a
    /// GPU with more than 800 MiB in use before a start or after a stop, or whose memory no visible
    /// process owns. Other tenants of a shared host are named, not judged.
    ///
    /// # What to do
    /// Stop the named processes by pid. Stop a server by its process group, not by its command line.
    ///
    /// # When it cannot tell
    /// The GPUs could not be read; or memory is in use that no visible process owns, and a server of
    /// which the driver names no process may own it, as in a container. A host without an NVIDIA GPU, and evidence without a process table
    /// or a look at the GPUs, are said not to apply.
    ///
    /// # References
    /// - vLLM sets titles with `setproctitle`; workers of a killed front end were seen to stay for
    ///   hours in public reports
    T02_ORPHANED_ENGINE {
        code: "T2",
        slug: "orphaned-engine",
        since: "0.1.0",
        summary: "processes of an earlier server still hold the GPUs",
        needs: ["gate", "process"],
        explained_by: [],
        check: Check::Run(check),
    }
    thresholds {
        /// MiB on a GPU that are no sign of a server: contexts of displays, monitors and MPS daemons
        /// take up to 500, the smallest server thousands.
        FREE_MIB = 800.0;
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    let orphans = orphans(run);
    if !orphans.is_empty() {
        return Ok(orphaned(run, &orphans));
    }
    if let Some(table) = &run.table {
        let verdict = on_table(run, table);
        return match run.workers_of_unknown_parents() {
            unknown if unknown > 0 && verdict.status == Status::Pass => {
                Err(Missing::lack(format!(
                    "the process table does not show the parents of {} (save ps -eo pid,ppid,stat,args)",
                    plural(unknown as f64, "engine worker")
                )))
            }
            _ => Ok(verdict),
        };
    }
    if run.gates.is_empty() {
        return Err(Missing::never("no process table and no look at the GPUs was recorded"));
    }
    for gate in &run.gates {
        if let Some(verdict) = on_gate(gate) {
            return verdict;
        }
    }
    let looks = plural(run.gates.len() as f64, "look");
    Ok(Verdict::pass(format!("the GPUs were clear in {looks}")).with("looks", run.gates.len()))
}

/// What one look at the GPUs says against the run; `None` when they were clear.
fn on_gate(gate: &Gate) -> Option<Result<Verdict, Missing>> {
    let reason = gate.why.iter().flat_map(|why| why.values()).next();
    let when = if gate.when == "before" { "before the start" } else { "after the stop" };
    if gate.gpus.is_empty() {
        let reason = reason.map_or("no reason was recorded", String::as_str);
        return Some(Err(if gate.clear {
            Missing::never(reason)
        } else {
            Missing::lack(format!("the GPUs could not be read {when}: {reason}"))
        }));
    }
    if gate.clear {
        return None;
    }
    let busy = gate.gpus.iter().filter(|gpu| {
        let mib = gpu.used_bytes.unwrap_or(0) >> 20;
        mib as f64 > FREE_MIB || gpu.pids.as_ref().is_some_and(|pids| !pids.is_empty())
    });
    let named: Vec<String> = busy
        .map(|gpu| {
            let mib = count((gpu.used_bytes.unwrap_or(0) >> 20) as f64);
            let pids = gpu.pids.iter().chain(&gpu.foreign_pids).flatten();
            let pids: Vec<String> = pids.map(ToString::to_string).collect();
            let by = if pids.is_empty() { "" } else { ", pids " };
            format!("GPU {}: {mib} MiB{by}{}", gpu.index, pids.join(", "))
        })
        .collect();
    Some(Ok(Verdict::fail(format!("the GPUs were not clear {when}: {}", named.join("; ")))
        .with("when", gate.when.clone())))
}

fn on_table(run: &Run, table: &Table) -> Verdict {
    let held = |process: &Process| process.gpu_bytes.is_some();
    let unowned = table.cards.iter().find(|card| {
        card.used_mib as f64 > FREE_MIB && table.holders_seen && !run.processes.iter().any(held)
    });
    let servers = run.processes.iter().filter(|p| engine::of_argv(&words(p)).is_some()).count();
    if let Some(card) = unowned.filter(|_| servers > 0) {
        // In a container the driver lists no process, or only those of other PID namespaces.
        return Verdict::unknown(format!(
            "{} MiB of GPU {} are in use and the driver names no process here: they may be those of \
             the server in the table, or of another container",
            count(card.used_mib as f64),
            card.index
        ))
        .with("used_mib", card.used_mib);
    }
    if let Some(card) = unowned {
        let total = card.total_mib.map_or(String::new(), |n| format!(" of {}", count(n as f64)));
        return Verdict::fail(format!(
            "{}{total} MiB of GPU {} are in use and no process here owns them: another container or \
             PID namespace holds them",
            count(card.used_mib as f64),
            card.index
        ))
        .with("used_mib", card.used_mib);
    }
    // Holders of memory alone, as the driver lists them, are not all processes.
    if servers == 0
        && !run.processes.iter().all(held)
        && let Some(card) = table.cards.iter().find(|card| card.used_mib as f64 > FREE_MIB)
    {
        return Verdict::fail(format!(
            "{} MiB of GPU {} are in use and no server is running",
            count(card.used_mib as f64),
            card.index
        ))
        .with("used_mib", card.used_mib);
    }
    Verdict::pass(format!(
        "every engine worker has its server above it ({} processes in the table)",
        count(run.processes.len() as f64)
    ))
    .with("servers", servers)
}

/// Engine workers without a server above them.
fn orphans(run: &Run) -> Vec<&Process> {
    let orphans = run.aside().holders.into_iter().filter(|holder| holder.orphan);
    let pids: Vec<u64> = orphans.map(|holder| holder.pid).collect();
    let mut found: Vec<&Process> =
        run.processes.iter().filter(|p| pids.contains(&u64::from(p.pid))).collect();
    found.sort_by_key(|process| process.pid);
    found.dedup_by_key(|process| process.pid);
    found
}

fn orphaned(run: &Run, orphans: &[&Process]) -> Verdict {
    let named: Vec<String> = orphans
        .iter()
        .take(4)
        .map(|process| {
            let bytes: u64 = process.gpu_bytes.iter().flat_map(|gpus| gpus.values()).sum();
            let held = match bytes >> 20 {
                0 => String::new(),
                mib => format!(", {} MiB", count(mib as f64)),
            };
            format!("{} {}{held}", process.pid, words(process).first().unwrap_or(&"?"))
        })
        .collect();
    // What people type to clean up, and what that does to this table.
    let pattern = match orphans.first().and_then(|process| engine::of_process(&words(process))) {
        Some(engine) if engine.name == "sglang" => "sglang.launch_server",
        Some(engine) if engine.name == "trtllm" => "trtllm-serve",
        _ => "vllm serve",
    };
    let matches = |process: &&Process| words(process).join(" ").contains(pattern);
    let missed = orphans.iter().filter(|process| !matches(process)).count();
    let wrong = run
        .processes
        .iter()
        .filter(|process| matches(process) && engine::of_process(&words(process)).is_none());
    let wrong: Vec<u32> = wrong.map(|process| process.pid).collect();
    Verdict::fail(format!(
        "{} without a server above: {}; pkill -f {pattern:?} would miss {}",
        plural(orphans.len() as f64, "engine worker"),
        named.join("; "),
        count(missed as f64)
    ))
    .with("pids", orphans.iter().map(|process| process.pid).collect::<Vec<u32>>())
    .with("pkill_pattern", pattern)
    .with("pkill_would_miss", missed)
    .with("pkill_would_hit_wrongly", wrong)
}

fn words(process: &Process) -> Vec<&str> {
    let argv = process.argv.iter().flatten().map(Text::as_bytes);
    argv.map(|word| std::str::from_utf8(word).unwrap_or_default()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "workers of a server that is gone",
            evidence: "
== processes
# ps -eo pid,ppid,stat,args
  PID  PPID STAT COMMAND
    1     0 Ss   /sbin/init
   20     1 Sl   VLLM::EngineCore
   21    20 Sl   VLLM::Worker_TP0
   30     1 S    vim vllm serve.md
# nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader
21, 12996 MiB, VLLM::Worker_TP0
",
            status: Status::Fail,
            says: &[
                "2 engine workers",
                "20 VLLM::EngineCore",
                "21 VLLM::Worker_TP0, 12,996 MiB",
                "miss 2",
            ],
        },
        Case {
            name: "memory that nobody here owns",
            evidence: "
== processes
# ps -eo pid,ppid,stat,args
  PID  PPID STAT COMMAND
    1     0 Ss   /bin/bash
# nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader
0, 40000 MiB, 49140 MiB
# nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader
",
            status: Status::Fail,
            says: &["40,000 of 49,140 MiB of GPU 0", "no process here owns them"],
        },
        Case {
            name: "memory of a container whose driver names no process",
            evidence: "
== processes
# ps -eo pid,ppid,stat,args
    1     0 Ssl  python3 /usr/local/bin/vllm serve /models/m
   90     1 Sl   VLLM::EngineCore
# nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader
0, 46867 MiB, 49140 MiB
# nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader
",
            status: Status::Unknown,
            says: &["46,867 MiB of GPU 0", "names no process here"],
        },
        Case {
            name: "a server with its workers",
            evidence: "
== processes
  PID  PPID STAT COMMAND
    1     0 Ss   /sbin/init
   10     1 Sl   /opt/venv/bin/python3 /opt/venv/bin/vllm serve /m
   20    10 Sl   VLLM::EngineCore
",
            status: Status::Pass,
            says: &["has its server above it"],
        },
        Case {
            name: "a table without parents",
            evidence: "
== processes
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
me            10  1.0  1.0 200000 90000 ?        Sl   10:00   0:09 vllm serve /m
me            20 99.0  4.0 200000 90000 ?        Rl   10:00  12:00 VLLM::EngineCore
",
            status: Status::Unknown,
            says: &["parents of 1 engine worker"],
        },
        Case {
            name: "the driver's list of holders alone",
            evidence: "
== processes
# nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader
0, 73210 MiB, 81920 MiB
# nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader
20411, 73200 MiB, VLLM::EngineCore
",
            status: Status::Unknown,
            says: &["parents of 1 engine worker"],
        },
        Case {
            name: "memory that the whole table of nvidia-smi shows",
            evidence: "
== processes
# ps -eo pid,ppid,args
  PID  PPID COMMAND
    1     0 /bin/bash
# nvidia-smi
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:41:00.0 Off |                    0 |
| N/A   35C    P0             80W /  400W |   73210MiB /  81920MiB |      0%      Default |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|  No running processes found                                                             |
",
            status: Status::Fail,
            says: &["73,210 of 81,920 MiB of GPU 0", "no process here owns them"],
        },
        Case {
            name: "gpus that cannot be read",
            evidence: "== gate before unread\nthe driver does not answer\n",
            status: Status::Unknown,
            says: &["could not be read before the start: the driver does not answer"],
        },
        Case {
            name: "no gpu at all",
            evidence: "== gate before clear\nno NVIDIA GPU on this host\n",
            status: Status::NotApplicable,
            says: &["no NVIDIA GPU"],
        },
        Case {
            name: "neither table nor look",
            evidence: "== before\nvllm:num_requests_running 0\n",
            status: Status::NotApplicable,
            says: &["no process table"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "a server with its workers",
        find: "   20    10 Sl ",
        replace: "   20     1 Sl ",
        becomes: Status::Fail,
    };
}
