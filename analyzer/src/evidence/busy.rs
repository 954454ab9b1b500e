//! The part of a load in which requests ran.

use super::missed::{BLIND, SAID};
use super::{Scope, Track};
use crate::engine::Signal;
use crate::number::percent;

/// The part of the load in which requests ran.
#[derive(Debug, Clone, Copy)]
pub struct Busy {
    /// How long, in seconds.
    pub seconds: f64,
    /// Requests running on average, by time.
    pub mean: f64,
}

/// What samples show of that part.
#[derive(Debug, Clone)]
pub struct Seen {
    /// How long it was, and how many ran.
    pub busy: Busy,
    /// The gauge of running requests.
    pub metric: &'static str,
    /// What to add to an average: what the samples miss, by their times or by the tokens that came
    /// while they show nothing. Empty where that is little.
    pub missed: String,
}

impl Scope<'_> {
    /// The part of the load in which requests ran, as samples show it. `None` where gauges lag, none is
    /// busy, or half of the load is missed: that tells neither an average nor how long it was busy.
    pub fn busy(&self) -> Option<Seen> {
        let running = self.track(Signal::Running).ok()?;
        self.engine().ok().filter(|engine| engine.gauges_lag.is_none())?;
        let mut missed = self.shown(&running).ok()?;
        let unseen = self.share_unseen(&running);
        if unseen > SAID {
            let share = percent(unseen);
            missed += &format!("; {share} of the output tokens came while they show nothing");
        }
        let busy = Busy::of(&running).filter(|_| unseen <= BLIND)?;
        Some(Seen { busy, metric: running.metric, missed })
    }
}

impl Busy {
    /// Adds up the stretches between samples that begin with a request running. `None`: none does.
    fn of(running: &Track) -> Option<Self> {
        Self::over(&running.times, &running.total())
    }

    fn over(times: &[i64], running: &[Option<f64>]) -> Option<Self> {
        let mut seconds = 0.0;
        let mut requests = 0.0;
        // A reading that shows nothing ends no stretch.
        let known = times.iter().zip(running).filter_map(|(t, running)| Some((*t, (*running)?)));
        let known: Vec<(i64, f64)> = known.collect();
        for ((from, running), (to, _)) in known.iter().zip(known.iter().skip(1)) {
            if *running > 0.0 {
                let length = to.saturating_sub(*from) as f64 / 1e9;
                seconds += length;
                requests += running * length;
            }
        }
        (seconds > 0.0 && requests.is_finite()).then(|| Self { seconds, mean: requests / seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_and_mean_leave_idle_time_out() {
        let times = [0, 1_000_000_000, 2_000_000_000, 4_000_000_000];
        let found = Busy::over(&times, &[Some(0.0), Some(4.0), Some(10.0), Some(0.0)]).unwrap();
        assert_eq!((found.seconds, found.mean), (3.0, 8.0));
        assert!(Busy::over(&times, &[None, None, None, None]).is_none());
        assert!(Busy::over(&times, &[Some(1e308), Some(1e308), Some(1e308), None]).is_none());
        let found = Busy::over(&times, &[Some(0.0), Some(4.0), None, Some(0.0)]).unwrap();
        assert_eq!((found.seconds, found.mean), (3.0, 4.0));
    }
}
