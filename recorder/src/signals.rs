//! The signals that end a recording.

use crate::error::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why the recording should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM: docker stop, Slurm, Kubernetes.
    Terminate,
    /// The terminal was closed.
    Hangup,
}

impl Stop {
    /// As in `end.how`.
    pub(crate) fn how(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupted",
            Self::Terminate => "terminated",
            Self::Hangup => "hangup",
        }
    }

    /// The signal.
    pub(crate) fn signal(self) -> nix::sys::signal::Signal {
        match self {
            Self::Interrupt => nix::sys::signal::Signal::SIGINT,
            Self::Terminate => nix::sys::signal::Signal::SIGTERM,
            Self::Hangup => nix::sys::signal::Signal::SIGHUP,
        }
    }

    /// Its number, for the exit status 128 + n.
    pub(crate) fn number(self) -> u8 {
        self.signal() as i32 as u8
    }
}

/// Listens for them.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` under nohup, which asked that a closed terminal change nothing.
    hangup: Option<Signal>,
}

impl Signals {
    /// Takes the signals over from the system's default.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub(crate) fn listen() -> Result<Self, Error> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let what = format!("listen for signals: {error}");
                Error::could_not(what, "check the limits of this session (ulimit -a)")
            })
        };
        let hangup =
            if ignored(SignalKind::hangup()) { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup,
        })
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Stop {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
            _ = hangup => Stop::Hangup,
        }
    }

    /// Waits for Ctrl-C, ignoring the others.
    pub(crate) async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// Whether whoever started us has the signal ignored (`SigIgn` of proc(5)).
fn ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
