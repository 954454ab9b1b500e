//! The recording's time: monotonic nanoseconds since it began, and where that stands on the wall.

use inferlint_schema::record;
use nix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Wall and monotonic clock may part by this much before it is written down, in ns: a step, not
/// the slewing that NTP does all the time.
const STEP_NS: u64 = 10_000_000;

/// The origin of a recording's times. Copies tell the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
    /// CLOCK_MONOTONIC at t = 0, in ns.
    pub(crate) mono_ns: u64,
    /// Unix time at t = 0, in ns.
    pub(crate) wall_ns: u64,
}

fn read(id: ClockId) -> u64 {
    let nanoseconds = |time: nix::sys::time::TimeSpec| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    };
    // Both clocks exist on every Linux: the call has no way to fail.
    clock_gettime(id).map_or(0, nanoseconds)
}

/// What `read` gives, the quickest of a few times: a thread that loses its CPU between two clocks
/// would see them part.
pub(crate) fn together<T>(read: impl Fn() -> T) -> T {
    let timed = || {
        let begun = Instant::now();
        let clocks = read();
        (begun.elapsed(), clocks)
    };
    let again = (0..4).map(|_| timed());
    again.fold(timed(), |best, next| if next.0 < best.0 { next } else { best }).1
}

impl Clock {
    /// A clock whose t = 0 is now.
    pub(crate) fn start() -> Self {
        together(|| Self {
            origin: Instant::now(),
            mono_ns: read(ClockId::CLOCK_MONOTONIC),
            wall_ns: read(ClockId::CLOCK_REALTIME),
        })
    }

    /// Ns since the recording began.
    pub(crate) fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// `moment` on this clock; 0 for moments before the recording.
    pub(crate) fn at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.origin).as_nanos() as u64
    }

    /// Both clocks, read together now, and how far off the kernel holds the wall clock to be.
    pub(crate) fn anchor(&self) -> record::Clock {
        let error_ns = Kept::now().ok().and_then(Kept::error_ns);
        record::Clock { error_ns, ..self.both() }
    }

    fn both(&self) -> record::Clock {
        together(|| record::Clock {
            t: self.now(),
            wall_ns: read(ClockId::CLOCK_REALTIME),
            mono_ns: read(ClockId::CLOCK_MONOTONIC),
            error_ns: None,
        })
    }

    /// An anchor, when the wall clock has been stepped since `last`.
    pub(crate) fn step_since(&self, last: &record::Clock) -> Option<record::Clock> {
        let now = self.both();
        let wall = now.wall_ns.wrapping_sub(last.wall_ns) as i64;
        let mono = now.mono_ns.wrapping_sub(last.mono_ns) as i64;
        (wall.abs_diff(mono) > STEP_NS).then(|| self.anchor())
    }
}

/// How well the kernel thinks the wall clock is kept (adjtimex(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// `TIME_OK`, `TIME_ERROR`… in words.
    pub(crate) state: &'static str,
    /// True when something disciplines the clock, so that the errors below mean something.
    pub(crate) synchronized: bool,
    /// Largest error; the kernel lets it grow between corrections.
    pub(crate) max_error_us: u64,
    /// Estimated error.
    pub(crate) estimated_error_us: u64,
}

impl Kept {
    /// As it is now.
    ///
    /// # Errors
    /// When the call is refused, as some sandboxes do.
    pub(crate) fn now() -> Result<Self, String> {
        // SAFETY: a `timex` is numbers only, for which zero is a value; with `modes` 0 the call
        // changes nothing of the clock and fills what it is given.
        let (state, timex) = unsafe {
            let mut timex: nix::libc::timex = std::mem::zeroed();
            (nix::libc::adjtimex(&raw mut timex), timex)
        };
        match nix::errno::Errno::result(state) {
            Ok(state) => Ok(Self::told(state, &timex)),
            Err(error) => Err(format!("adjtimex: {error}")),
        }
    }

    fn told(state: i32, timex: &nix::libc::timex) -> Self {
        Self {
            state: match state {
                nix::libc::TIME_OK => "synchronized",
                nix::libc::TIME_INS => "synchronized, a leap second is to be inserted",
                nix::libc::TIME_DEL => "synchronized, a leap second is to be left out",
                nix::libc::TIME_OOP => "synchronized, in a leap second",
                nix::libc::TIME_WAIT => "synchronized, a leap second is over",
                _ => "not synchronized",
            },
            synchronized: (nix::libc::TIME_OK..nix::libc::TIME_ERROR).contains(&state),
            max_error_us: u64::try_from(timex.maxerror).unwrap_or(0),
            estimated_error_us: u64::try_from(timex.esterror).unwrap_or(0),
        }
    }

    /// Error bound. `None`: a clock that nobody sets right may be wrong by any time.
    fn error_ns(self) -> Option<u64> {
        self.synchronized.then_some(self.max_error_us.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_runs_forward_and_agrees_with_the_monotonic_clock() {
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(5));
        let anchor = clock.anchor();
        assert!(anchor.t >= 5_000_000);
        let by_mono = anchor.mono_ns - clock.mono_ns;
        assert!(by_mono.abs_diff(anchor.t) < 20_000_000, "{by_mono} and {}", anchor.t);
        assert_eq!(clock.at(clock.origin + Duration::from_nanos(7)), 7);
        let before = clock.origin.checked_sub(Duration::from_secs(1)).unwrap();
        assert_eq!(clock.at(before), 0);
    }

    #[test]
    fn only_a_clock_that_is_set_right_has_an_error_bound() {
        // SAFETY: a `timex` is numbers only, for which zero is a value.
        let mut timex: nix::libc::timex = unsafe { std::mem::zeroed() };
        (timex.maxerror, timex.esterror) = (1_500, 20);
        for (state, words, bound) in [
            (nix::libc::TIME_OK, "synchronized", Some(1_500_000)),
            (nix::libc::TIME_OOP, "synchronized, in a leap second", Some(1_500_000)),
            (nix::libc::TIME_ERROR, "not synchronized", None),
            (77, "not synchronized", None),
        ] {
            let kept = Kept::told(state, &timex);
            assert_eq!((kept.state, kept.error_ns()), (words, bound));
            assert_eq!((kept.max_error_us, kept.estimated_error_us), (1_500, 20));
        }
        let here = Kept::now().ok().and_then(Kept::error_ns);
        assert_eq!(Clock::start().anchor().error_ns.is_some(), here.is_some());
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_and_slewing_is_not() {
        let clock = Clock::start();
        let anchor = clock.anchor();
        let moved = |by: i64| record::Clock {
            wall_ns: anchor.wall_ns.wrapping_add_signed(by),
            ..anchor.clone()
        };
        assert!(clock.step_since(&moved(0)).is_none());
        assert!(clock.step_since(&moved(1_000_000)).is_none());
        assert!(clock.step_since(&moved(3_600_000_000_000)).is_some());
        assert!(clock.step_since(&moved(-3_600_000_000_000)).is_some());
    }
}
