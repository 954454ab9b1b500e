//! A saved process table: the output of `ps`, and of `nvidia-smi` and `ss` below it, each under a
//! comment line with its command, as people paste it into a ticket.

use super::bytes;
use crate::error::InputError;
use crate::evidence::{Card, Table};
use inferlint_schema::record::{Process, Text};
use std::collections::BTreeMap;
use std::path::Path;

/// Processes of a table, and what else was saved with it.
pub(super) fn open(path: &Path) -> Result<(Vec<Process>, Table), InputError> {
    let text = String::from_utf8_lossy(&bytes(path)?).into_owned();
    let (processes, table) = parse(&text);
    if processes.is_empty() && table.cards.is_empty() {
        return Err(InputError::unusable(
            path,
            "no process table",
            "save the output of ps -eo pid,ppid,stat,args",
        ));
    }
    Ok((processes, table))
}

/// What the lines below a command are.
enum Section {
    /// `ps`, with its columns once they are known.
    Processes(Option<Columns>),
    Cards,
    Holders,
    Listeners,
}

/// The columns of a process table; the command is the last and takes the rest of the line.
struct Columns(Vec<String>);

/// Reads a table from its text.
pub(crate) fn parse(text: &str) -> (Vec<Process>, Table) {
    let mut processes: Vec<Process> = Vec::new();
    let mut table = Table::default();
    let mut section = Section::Processes(None);
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        if line.contains("NVIDIA-SMI ") {
            // Pasted without the command.
            section = Section::Cards;
        }
        if let Some(command) = line.trim_start().strip_prefix('#') {
            section = Section::of(command);
            table.holders_seen |= matches!(section, Section::Holders);
            continue;
        }
        match &mut section {
            Section::Processes(columns) => match Columns::header(line) {
                Some(header) => *columns = Some(header),
                None => processes.extend(columns.as_ref().and_then(|columns| columns.row(line))),
            },
            Section::Cards if line.starts_with('|') => drawn(line, &mut processes, &mut table),
            Section::Cards => table.cards.extend(card(line)),
            Section::Holders => hold(line, &mut processes),
            Section::Listeners => listen(line, &mut processes),
        }
    }
    (processes, table)
}

impl Section {
    fn of(command: &str) -> Self {
        if command.contains("compute-apps") {
            Self::Holders
        } else if command.contains("nvidia-smi") {
            Self::Cards
        } else if ["ss ", "netstat", "lsof"].iter().any(|tool| command.contains(tool)) {
            Self::Listeners
        } else {
            Self::Processes(Columns::asked(command))
        }
    }
}

impl Columns {
    /// The columns that `ps -eo …` was asked for.
    fn asked(command: &str) -> Option<Self> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with('-') && word.ends_with('o'))?;
        let columns =
            words.get(at + 1)?.split(',').map(|name| name.trim_end_matches('=').to_owned());
        Some(Self(columns.collect()))
    }

    /// The columns that a header line names.
    fn header(line: &str) -> Option<Self> {
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        let command = ["command", "cmd", "args", "comm"];
        let is_header = words.iter().any(|word| word == "pid")
            && words.last().is_some_and(|last| command.contains(&last.as_str()));
        is_header.then_some(Self(words))
    }

    fn row(&self, line: &str) -> Option<Process> {
        let mut rest = line.trim_start();
        let mut values: BTreeMap<&str, &str> = BTreeMap::new();
        for (i, name) in self.0.iter().enumerate() {
            let value = if i + 1 == self.0.len() {
                rest
            } else {
                // `lstart` is five words, the first a day of the week.
                let words = if name == "started" || name == "lstart" { 5 } else { 1 };
                let (value, after) = take(rest, words)?;
                rest = after;
                value
            };
            values.insert(name, value);
        }
        let number = |name: &str| values.get(name)?.parse::<u32>().ok();
        let command =
            ["args", "command", "cmd", "comm"].iter().find_map(|name| values.get(name))?;
        let argv: Vec<Text> = command.split_whitespace().map(Text::from).collect();
        Some(process(number("pid")?, number("ppid"), argv))
    }
}

/// The first `words` words of a line, and the rest.
fn take(line: &str, words: usize) -> Option<(&str, &str)> {
    let mut at = 0;
    for _ in 0..words {
        let rest = line.get(at..)?;
        let word = rest.len() - rest.trim_start().len();
        let end = rest.get(word..)?.find(char::is_whitespace)? + word;
        at += end;
    }
    Some((line.get(..at)?.trim(), line.get(at..)?.trim_start()))
}

fn process(pid: u32, ppid: Option<u32>, argv: Vec<Text>) -> Process {
    Process {
        t: 0,
        src: None,
        edge: "begin".into(),
        pid,
        start_ticks: 0,
        ppid,
        title: argv.first().cloned(),
        argv: Some(argv).filter(|argv| !argv.is_empty()),
        own: true,
        user: None,
        tree: "other".into(),
        cgroup: None,
        container: None,
        threads: None,
        ports: None,
        gpu_bytes: None,
    }
}

/// `12996 MiB` in MiB.
fn mib(text: &str) -> Option<u64> {
    text.trim().strip_suffix("MiB")?.trim().parse().ok()
}

/// `0, 46867 MiB, 49140 MiB`
fn card(line: &str) -> Option<Card> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let sizes: Vec<u64> = fields.iter().filter_map(|field| mib(field)).collect();
    Some(Card {
        index: fields.first()?.parse().ok()?,
        used_mib: *sizes.first()?,
        total_mib: sizes.get(1).copied(),
    })
}

/// A line of the table that `nvidia-smi` draws: of a card its second line,
/// `| N/A   35C    P0   80W /  400W |   73210MiB /  81920MiB |   0%   Default |`, or of a process,
/// `|    0   N/A  N/A   20411      C   VLLM::EngineCore   73200MiB |`.
fn drawn(line: &str, processes: &mut Vec<Process>, table: &mut Table) {
    table.holders_seen |= line.contains("GPU Memory");
    let fields: Vec<&str> = line.trim_matches('|').split_whitespace().collect();
    if let Some((_, total)) = line.split_once("MiB /") {
        let used = fields.iter().find_map(|field| mib(field));
        let total_mib = total.split('|').next().and_then(mib);
        let index = u32::try_from(table.cards.len()).unwrap_or(u32::MAX);
        table.cards.extend(used.map(|used_mib| Card { index, used_mib, total_mib }));
    } else if let [_, _, _, pid, _, name @ .., used] = fields.as_slice()
        && mib(used).is_some()
    {
        hold(&format!("{pid}, {used}, {}", name.join(" ")), processes);
    }
}

/// `22341, 12996 MiB, VLLM::Worker_TP0`
fn hold(line: &str, processes: &mut Vec<Process>) {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let Some(pid) = fields.iter().find_map(|field| field.parse::<u32>().ok()) else { return };
    let Some(used) = fields.iter().find_map(|field| mib(field)) else { return };
    let at = processes.iter().position(|process| process.pid == pid).unwrap_or_else(|| {
        let name =
            fields.iter().rfind(|field| mib(field).is_none() && field.parse::<u32>().is_err());
        processes.push(process(pid, None, name.map(|n| Text::from(*n)).into_iter().collect()));
        processes.len() - 1
    });
    if let Some(process) = processes.get_mut(at) {
        let gpus = process.gpu_bytes.get_or_insert_default();
        *gpus.entry("gpu".to_owned()).or_default() += used << 20;
    }
}

/// `LISTEN 0 512 127.0.0.1:8080 0.0.0.0:* users:(("llama",pid=4100,fd=3))`
fn listen(line: &str, processes: &mut [Process]) {
    if !line.contains("LISTEN") {
        return;
    }
    let digits = |text: &str| -> Option<u32> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..end)?.parse().ok()
    };
    let pid = line.split("pid=").nth(1).and_then(digits);
    let port = line.split_whitespace().find_map(|word| {
        let (_, port) = word.rsplit_once(':')?;
        port.parse::<u16>().ok()
    });
    if let (Some(pid), Some(port)) = (pid, port)
        && let Some(process) = processes.iter_mut().find(|process| process.pid == pid)
    {
        process.ports.get_or_insert_default().push(port);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_ps_are_read_by_their_columns() {
        for (text, pid, ppid, argv) in [
            (
                "  PID  PPID STAT COMMAND\n 16251     1 Sl   VLLM::EngineCore_DP0\n",
                16251,
                Some(1),
                1,
            ),
            (
                "# ps -eo pid,ppid,args | grep llama\n 4100  4000 llama serve --port 8080\n",
                4100,
                Some(4000),
                4,
            ),
            (
                "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nme 7 0.0 0.1 9 8 ? Sl 10:00 0:01 vllm serve /m\n",
                7,
                None,
                3,
            ),
            ("PID PPID STARTED COMMAND\n 9 1 Mon Nov 30 10:00:00 2026 vllm serve\n", 9, Some(1), 2),
        ] {
            let (processes, _) = parse(text);
            let [process] = processes.as_slice() else { panic!("{text}: {processes:?}") };
            assert_eq!((process.pid, process.ppid), (pid, ppid), "{text}");
            assert_eq!(process.argv.as_ref().unwrap().len(), argv, "{text}");
        }
    }

    #[test]
    fn cards_holders_and_listeners_are_read_below_their_commands() {
        let text = "\
# ps -eo pid,ppid,stat,args
  PID  PPID STAT COMMAND
   77     1 Sl   llama serve --port 8080
# nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader
0, 46867 MiB, 49140 MiB
# nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader
22341, 12996 MiB, VLLM::Worker_TP0
# ss -ltnp
LISTEN 0 512 127.0.0.1:8080 0.0.0.0:* users:((\"llama\",pid=77,fd=3))
";
        let (processes, table) = parse(text);
        assert!(table.holders_seen);
        let card = table.cards[0];
        assert_eq!((card.index, card.used_mib, card.total_mib), (0, 46867, Some(49140)));
        assert_eq!(processes[0].ports, Some(vec![8080]));
        let holder = &processes[1];
        assert_eq!(holder.pid, 22341);
        assert_eq!(holder.gpu_bytes.as_ref().unwrap()["gpu"], 12996 << 20);
    }

    #[test]
    fn nonsense_has_no_process() {
        for text in ["", "hello\nworld\n", "PID COMMAND\nx y\n", "# ps\n1 2 3\n"] {
            assert!(parse(text).0.is_empty(), "{text}");
        }
    }
}
