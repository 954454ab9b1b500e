//! The part of a load that no sample shows.

use std::collections::BTreeMap;

use super::{Missing, Scope, Track};
use crate::engine::Signal;
use crate::number::percent;

/// Sampling intervals from which two samples are too far apart to speak for the time between them.
const GAP: i64 = 4;

/// Share of the load, of its time or of its output tokens, that samples may miss before it is said
/// beside what they do not show.
pub(super) const SAID: f64 = 0.05;

/// The same share, before what they do not show proves nothing.
pub(super) const BLIND: f64 = 0.5;

impl Scope<'_> {
    /// Per sample, whether requests run or wait in it.
    pub(super) fn under_way(&self, running: &Track) -> Vec<bool> {
        let waiting = self.track(Signal::Waiting).map_or(Vec::new(), |track| track.total());
        let some = |n: Option<f64>| n.is_some_and(|n| n > 0.0);
        let waits = |i: usize| some(waiting.get(i).copied().flatten());
        let over = self.all_counted().unwrap_or(usize::MAX);
        let busy = |(i, running)| i < over && (some(running) || waits(i));
        running.total().into_iter().enumerate().map(busy).collect()
    }

    /// The samples that show how many run, each with whether requests run or wait in it. A reading that
    /// was an error page, or cut, shows neither that they do nor that they do not.
    pub(super) fn looks(&self, running: &Track) -> Vec<(i64, bool)> {
        let busy = self.under_way(running);
        let shown = running.total().into_iter().zip(busy).zip(&running.times);
        let known = shown.filter(|((running, busy), _)| running.is_some() || *busy);
        known.map(|((_, busy), t)| (*t, busy)).collect()
    }

    /// The stretches between two samples that show nothing at work, in which output tokens were counted
    /// all the same, and how many. A busy server answers when it has a moment to spare: vLLM 0.32 on
    /// two cores, of 160 requests in waves of 16, between the waves.
    pub(super) fn unseen(&self, looks: &[(i64, bool)]) -> Vec<((i64, i64), f64)> {
        let grown = self.grown(looks).into_iter();
        grown.filter_map(|(stretch, by, busy)| (!busy).then_some((stretch, by))).collect()
    }

    /// The share of the output tokens of all samples that came between two which show nothing at work.
    pub(super) fn share_unseen(&self, running: &Track) -> f64 {
        let (mut unseen, mut all) = (0.0, 0.0);
        for (_, by, busy) in self.grown(&self.looks(running)) {
            all += by;
            unseen += if busy { 0.0 } else { by };
        }
        if all > 0.0 { unseen / all } else { 0.0 }
    }

    /// The stretches between two samples in which output tokens were counted, how many, and whether
    /// one of the two shows requests at work.
    fn grown(&self, looks: &[(i64, bool)]) -> Vec<((i64, i64), f64, bool)> {
        let Ok(tokens) = self.track(Signal::GenerationTokens) else { return Vec::new() };
        let counts: BTreeMap<i64, f64> = tokens
            .times
            .iter()
            .zip(tokens.total())
            .filter_map(|(t, count)| Some((*t, count?)))
            .collect();
        let stretch = |pair: &[(i64, bool)]| {
            let [(from, before), (to, after)] = pair else { return None };
            let by = counts.get(to)? - counts.get(from)?;
            (by > 0.0).then_some(((*from, *to), by, *before || *after))
        };
        looks.windows(2).filter_map(stretch).collect()
    }

    /// For engines whose gauges stay when the last request has ended: the first sample that counts
    /// all tokens of the load.
    fn all_counted(&self) -> Option<usize> {
        self.engine().ok().filter(|engine| engine.gauges_stay)?;
        let tokens = self.track(Signal::GenerationTokens).ok()?.total();
        let at_end = self.at_end(Signal::GenerationTokens).ok()?;
        let begun = tokens.iter().flatten().next().copied()?;
        tokens.iter().position(|n| n.is_some_and(|n| n >= at_end && n > begun))
    }

    /// What to add to a verdict that rests on what no sample shows: how much of the load they miss,
    /// where it is more than a twentieth.
    ///
    /// # Errors
    /// When they miss more than half of it.
    pub fn shown(&self, running: &Track) -> Result<String, Missing> {
        let missed = self.missed(running);
        let words = format!("the samples miss {} of the load", percent(missed));
        match missed {
            all if all > BLIND => Err(Missing::lack(words)),
            some if some > SAID => Ok(format!("; {words}")),
            _ => Ok(String::new()),
        }
    }

    /// The share of the time with requests under way that lies between samples too far apart, or
    /// beyond the first or last one.
    fn missed(&self, running: &Track) -> f64 {
        let looks = self.looks(running);
        let (Some(&(first, begun)), Some(&(last, still))) = (looks.first(), looks.last()) else {
            return 0.0;
        };
        let (begin, end) = self.bounds();
        let between = looks.windows(2).filter_map(|pair| match pair {
            [(from, a), (to, b)] => Some((to - from, *a || *b)),
            _ => None,
        });
        let beyond = [(first - begin.unwrap_or(first), begun), (end.unwrap_or(last) - last, still)];
        let gap = running.gap();
        let (mut shown, mut missed) = (0, 0);
        for (length, _) in between.chain(beyond).filter(|(length, busy)| *busy && *length > 0) {
            *if length > gap { &mut missed } else { &mut shown } += length;
        }
        missed as f64 / ((missed + shown) as f64).max(1.0)
    }

    /// From when to when the load can have run: its command, else the readings around it. A command
    /// that had not ended bounds no end.
    pub(super) fn bounds(&self) -> (Option<i64>, Option<i64>) {
        if let Some((begin, end)) = self.point.command {
            return (Some(begin), Some(end).filter(|end| *end < i64::MAX));
        }
        let Some((edges, source)) = self.sources().next().filter(|(_, s)| s.timed) else {
            return (None, None);
        };
        let time = |reading: Option<usize>| source.full.time(reading?);
        (time(edges.begin), time(edges.end))
    }
}

impl Track {
    /// From which distance two samples are a gap, in ns.
    pub(super) fn gap(&self) -> i64 {
        let mut steps: Vec<i64> =
            self.times.windows(2).filter_map(|w| Some(w.get(1)? - w.first()?)).collect();
        // Samples that were saved twice.
        steps.retain(|step| *step > 0);
        steps.sort_unstable();
        GAP.saturating_mul(steps.get(steps.len().saturating_sub(1) / 2).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Signal;
    use crate::evidence::{Missing, Run, Scope};
    use crate::tripwire::example;

    fn ask<T>(run: &Run, ask: impl Fn(&Scope<'_>) -> T) -> T {
        let group = &run.groups()[0];
        ask(&Scope { run, point: &run.points[0], group })
    }

    /// Samples of running requests, as `(second, requests)`.
    fn run(samples: &[(f64, f64)]) -> Run {
        let mut text = "== before\nvllm:num_requests_running 0\n".to_owned();
        for (second, running) in samples {
            text += &format!("== {second}\nvllm:num_requests_running {running}\n");
        }
        example::run(&(text + "== after\n"))
    }

    fn shown(run: &Run) -> Result<String, Missing> {
        ask(run, |scope| scope.shown(&scope.track(Signal::Running).unwrap()))
    }

    #[test]
    fn a_gap_counts_where_requests_run_at_either_end() {
        let whole = [(0.0, 0.0), (1.0, 4.0), (2.0, 4.0), (3.0, 0.0)];
        assert_eq!(shown(&run(&whole)).unwrap(), "");
        let idle = [(0.0, 0.0), (1.0, 0.0), (2.0, 4.0), (3.0, 0.0), (30.0, 0.0)];
        assert_eq!(shown(&run(&idle)).unwrap(), "");
        let some =
            [(0.0, 0.0), (1.0, 4.0), (2.0, 4.0), (7.0, 4.0), (8.0, 4.0), (9.0, 4.0), (10.0, 0.0)];
        assert_eq!(shown(&run(&some)).unwrap(), "; the samples miss 50% of the load");
        let most = [(0.0, 0.0), (1.0, 4.0), (2.0, 4.0), (30.0, 4.0), (31.0, 0.0)];
        assert_eq!(shown(&run(&most)).unwrap_err().what, "the samples miss 90% of the load");
    }

    #[test]
    fn a_gauge_that_stays_after_the_last_token_shows_no_request() {
        let reading = |at: &str, running: u32, tokens: u32| {
            format!(
                "== {at}\nsglang:num_running_reqs {running}\nsglang:generation_tokens_total {tokens}\n"
            )
        };
        let stays = [
            reading("before", 0, 7),
            reading("0", 0, 7),
            reading("1", 8, 7),
            reading("2", 8, 7),
            reading("3", 8, 807),
            reading("4", 8, 807),
            reading("5", 0, 807),
            reading("after", 0, 807),
        ];
        let windows = ask(&example::run(&stays.concat()), |scope| scope.windows().unwrap());
        let seconds = |(a, b): (i64, i64)| (a / 1_000_000_000, b / 1_000_000_000);
        assert_eq!((seconds(windows.inner), seconds(windows.outer)), ((1, 2), (0, 3)));
    }

    #[test]
    fn readings_that_show_nothing_are_no_samples() {
        let mut text = "== before\nup 1\nvllm:num_requests_running 0\n== 0\n== 1\n".to_owned();
        for second in 2..=8 {
            text += &format!("== {second}\n- vllm:num_requests_running\n");
        }
        text += "== 9\nvllm:num_requests_running 4\n== 10\n== 11\n- vllm:num_requests_running\n";
        text += "== 12\nvllm:num_requests_running 0\n== after\n";
        let run = example::run(&text);
        // One sample wider on each side is the last that shows that nothing ran.
        let windows = ask(&run, |scope| scope.windows().unwrap());
        let seconds = |(a, b): (i64, i64)| (a / 1_000_000_000, b / 1_000_000_000);
        assert_eq!((seconds(windows.inner), seconds(windows.outer)), ((9, 10), (1, 12)));
        assert_eq!(shown(&run).unwrap_err().what, "the samples miss 73% of the load");
    }

    #[test]
    fn samples_a_century_apart_are_a_gap() {
        let track = |times: &[i64]| crate::evidence::Track {
            times: times.to_vec(),
            replicas: Vec::new(),
            summed_over: 1,
            metric: "",
        };
        assert_eq!(track(&[0, 4_000_000_000_000_000_000]).gap(), i64::MAX);
        assert_eq!(track(&[0, 1, 2]).gap(), 4);
    }

    #[test]
    fn samples_that_were_saved_twice_are_no_gap() {
        let twice =
            [(0.0, 0.0), (0.0, 0.0), (1.0, 4.0), (1.0, 4.0), (2.0, 4.0), (2.0, 4.0), (3.0, 0.0)];
        assert_eq!(shown(&run(&twice)).unwrap(), "");
    }

    #[test]
    fn a_load_that_goes_on_where_samples_end_is_missed() {
        let mut cut = run(&[(0.0, 0.0), (1.0, 4.0), (2.0, 4.0)]);
        assert_eq!(shown(&cut).unwrap(), "");
        cut.points[0].command = Some((0, 60_000_000_000));
        assert!(shown(&cut).is_err());
        // Without a command the readings around it bound the load.
        cut.points[0].command = None;
        assert_eq!(shown(&cut).unwrap(), "");
        assert!(!ask(&cut, |scope| scope.windows().unwrap().open));
        cut.sources[0].timed = false;
        assert!(ask(&cut, |scope| scope.windows().unwrap().open));
    }
}
