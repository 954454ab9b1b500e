//! What stands beside the log: the exit status, the kernel's log, and who holds the cards.

use crate::pattern::Pattern;

/// Evidence beside the log. Each part may be missing.
#[derive(Clone, Debug, Default)]
pub struct Aside {
    /// The server's exit status: 128 + n or −n when signal n ended it.
    pub exit: Option<i32>,
    /// What the kernel logged.
    pub kernel: Option<Kernel>,
    /// Processes that hold GPU memory, or are engine workers, and are not this server's.
    pub holders: Vec<Holder>,
    /// GPU memory in use that no visible process owns, MiB.
    pub unowned_mib: Option<u64>,
    /// The port the server was told to use.
    pub asked_port: Option<String>,
}

impl Aside {
    /// The exit status says that somebody outside asked for the end (SIGTERM, SIGINT).
    pub(super) fn asked_to_stop(&self) -> bool {
        matches!(self.exit, Some(143 | 130 | -15 | -2))
    }

    pub(super) fn killed(&self) -> bool {
        matches!(self.exit, Some(137 | -9))
    }
}

/// A process on the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u64,
    /// Its title or short name.
    pub title: String,
    /// GPU memory it holds, MiB.
    pub gpu_mib: Option<u64>,
    /// An engine's process none of whose ancestors is an API server.
    pub orphan: bool,
}

/// What the kernel's log says of a death.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// The last line of an OOM kill of a process that may be ours.
    pub oom: Option<String>,
    /// The first line with an Xid of the NVIDIA driver.
    pub xid: Option<String>,
}

impl Kernel {
    /// Reads `dmesg` or `journalctl -k` output.
    pub fn read(text: &[u8]) -> Self {
        static KILL: Pattern = Pattern::new(
            r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process \d+ \((?<comm>[^)]*)\)",
        );
        let mut kernel = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            if line.contains("NVRM: Xid") && kernel.xid.is_none() {
                kernel.xid = Some(line.trim().to_owned());
            }
            let victim = KILL.find(line).and_then(|c| c.part("comm"));
            if victim.is_some_and(may_be_a_server) {
                // From "Out of memory" on: the time before it is the kernel's uptime.
                kernel.oom = line
                    .find("Out of memory")
                    .or_else(|| line.find("Memory cgroup"))
                    .and_then(|at| line.get(at..))
                    .map(str::to_owned);
            }
        }
        kernel
    }
}

/// Short names (15 bytes) that inference servers and their workers go by.
fn may_be_a_server(comm: &str) -> bool {
    [
        "python",
        "vllm",
        "VLLM",
        "sglang",
        "pt_main",
        "ray",
        "trtllm",
        "llama",
        "text-gen",
        "mpi",
        "triton",
        "uvicorn",
        "EngineCore",
    ]
    .iter()
    .any(|name| comm.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kills_of_what_may_be_the_server_count() {
        let log = b"[1.0] Out of memory: Killed process 7 (chrome) total-vm:1kB\n[2.0] Memory cgroup out of memory: Killed process 8 (VLLM::EngineCor) total-vm:2kB\n";
        let kernel = Kernel::read(log);
        assert_eq!(
            kernel.oom.as_deref(),
            Some("Memory cgroup out of memory: Killed process 8 (VLLM::EngineCor) total-vm:2kB")
        );
        assert_eq!(Kernel::read(b"Out of memory: Killed process 7 (chrome)"), Kernel::default());
    }

    #[test]
    fn the_first_xid_is_kept() {
        let log = b"[1] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n[2] NVRM: Xid (PCI:0000:41:00): 154\n";
        assert!(Kernel::read(log).xid.unwrap().contains("Xid (PCI:0000:41:00): 79"));
    }
}
