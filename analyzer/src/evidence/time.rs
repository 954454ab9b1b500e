//! Times on a run's clock, in ns. A file may hold any number there; the ones that are believed are so
//! small that the difference of two is a number too.

/// The latest time that is believed: the wall clock of 2096.
const LATEST: i64 = 4_000_000_000_000_000_000;

/// A record's time.
pub(crate) fn ns(t: u64) -> i64 {
    t.min(LATEST.unsigned_abs()) as i64
}

/// A time as other tools write it. `None`: no clock shows it.
pub(crate) fn ns_within(ns: i64) -> Option<i64> {
    (-LATEST..=LATEST).contains(&ns).then_some(ns)
}

/// The same in seconds.
pub(crate) fn ns_of_seconds(seconds: f64) -> Option<i64> {
    seconds.is_finite().then_some((seconds * 1e9) as i64).and_then(ns_within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_times_are_numbers() {
        assert_eq!(ns(u64::MAX).checked_sub(-ns(u64::MAX)), Some(2 * LATEST));
        assert_eq!((ns(7), ns_within(-7), ns_within(i64::MIN)), (7, Some(-7), None));
        assert_eq!(ns_of_seconds(1.5), Some(1_500_000_000));
        for never in [f64::NAN, f64::INFINITY, 1e308, -1e11] {
            assert_eq!(ns_of_seconds(never), None, "{never}");
        }
    }
}
