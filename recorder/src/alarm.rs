//! Wakes a task when its time has come.
//!
//! Tokio keeps its timers in a wheel: for a moment more than 64 ms away it wakes the runtime twice,
//! to look closer and when it has come, and setting one wakes it a third time (tokio 1.54,
//! `runtime/time`). What a recorder costs the benchmark beside it is what it costs to wake up, so
//! what comes again and again has a timer of the kernel's, which wakes once.

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

/// A timer to be set again and again.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// `None`: there is none to be had, and tokio's does as well.
    timer: Option<AsyncFd<Timer>>,
}

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// An alarm by a timer of the kernel's. Needs a runtime.
    pub(crate) fn of_kernel() -> Self {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).ok().map(Timer);
        // SAFETY: the timer owns its descriptor and is the AsyncFd's alone, so it stays open and the
        // same for as long.
        let register =
            |timer| unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) };
        Self { timer: timer.and_then(|timer| register(timer).ok()) }
    }

    /// An alarm by tokio's timers, whose time a test may stop.
    #[cfg(test)]
    pub(crate) fn of_tokio() -> Self {
        Self { timer: None }
    }

    /// Waits until `when`, not less. May be dropped and called anew at any moment.
    pub(crate) async fn at(&self, when: Instant) {
        if let Some(timer) = &self.timer {
            loop {
                let left = when.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                let left = Expiration::OneShot(TimeSpec::from_duration(left));
                if timer.get_ref().0.set(left, TimerSetTimeFlags::empty()).is_err() {
                    break;
                }
                // What it was set to before may have come as well: then it is set once more.
                let Ok(mut ready) = timer.readable().await else { break };
                ready.clear_ready();
            }
        }
        sleep_until(when).await;
    }
}

/// Comes back at a steady interval. What passed while nobody asked is not made up for.
#[derive(Debug)]
pub(crate) struct Ticks {
    alarm: Alarm,
    next: Instant,
    every: Duration,
}

impl Ticks {
    /// The first comes at `start`. Needs a runtime.
    pub(crate) fn new(start: Instant, every: Duration) -> Self {
        Self { alarm: Alarm::of_kernel(), next: start, every }
    }

    /// Waits for the next one. May be dropped and called anew at any moment.
    pub(crate) async fn next(&mut self) {
        self.alarm.at(self.next).await;
        let late = Instant::now().saturating_duration_since(self.next);
        let passed = late.as_nanos() / self.every.as_nanos().max(1) + 1;
        self.next += self.every * u32::try_from(passed).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn it_comes_at_its_time_and_never_before() {
        for alarm in [Alarm::of_kernel(), Alarm::of_tokio()] {
            for ms in [0, 1, 30, 130] {
                let when = Instant::now() + MS * ms;
                alarm.at(when).await;
                let late = Instant::now().checked_duration_since(when).expect("not before");
                assert!(late < MS * 500, "{ms} ms: {late:?}");
            }
        }
    }

    #[tokio::test]
    async fn one_that_was_given_up_does_not_ring_for_the_next() {
        let alarm = Alarm::of_kernel();
        assert!(alarm.timer.is_some());
        let early = timeout(MS * 5, alarm.at(Instant::now() + MS * 20)).await;
        assert!(early.is_err());
        // It rings while nobody listens.
        std::thread::sleep(MS * 40);
        let when = Instant::now() + MS * 60;
        alarm.at(when).await;
        assert!(Instant::now() >= when);
    }

    #[tokio::test]
    async fn ticks_that_passed_are_left_out_and_the_rhythm_is_kept() {
        let start = Instant::now();
        let mut ticks = Ticks::new(start, MS * 20);
        ticks.next().await;
        ticks.next().await;
        assert!(start.elapsed() >= MS * 20);
        std::thread::sleep(MS * 100);
        ticks.next().await;
        let next = ticks.next.saturating_duration_since(start).as_millis();
        assert!(next.is_multiple_of(20) && next >= 120, "{next}");
        assert!(ticks.next > Instant::now() - MS * 20);
    }
}
