//! The signals that end a recording.

use crate::error::Error;
use crate::procfs::Procfs;
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

    /// The exit status of a run that it ended: 128 and its number.
    pub(crate) fn as_status(self) -> u8 {
        128 + self.signal() as i32 as u8
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
        let nohup = Procfs::default().ignores(std::process::id(), nix::sys::signal::Signal::SIGHUP);
        let hangup = if nohup { None } else { Some(listen(SignalKind::hangup())?) };
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
