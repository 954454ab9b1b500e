//! Long series made short for drawing: never for a verdict.

/// One sample of a line: seconds, and a value or its absence.
pub(in crate::report) type Sample = (f64, Option<f64>);

/// Readings further apart than this many intervals have a hole between them.
const HOLE_INTERVALS: f64 = 4.0;

/// Most samples of one line on a page.
pub(super) const SAMPLES: usize = 2_000;

/// Samples that draw the same line: inner ones of a constant stretch left out, and where a column of
/// pixels has many, its lowest, its highest, the one it ends with, and an absence. So a spike of one sample
/// survives any length. Columns widen until no more than [`SAMPLES`] are left.
pub(super) fn reduced(samples: &[Sample], span: (f64, f64), pixels: usize) -> Vec<Sample> {
    let changes = without_repeats(samples);
    let mut columns = pixels.max(1);
    let mut out = changes.clone();
    while out.len() > SAMPLES.min(4 * pixels) {
        let width = (span.1 - span.0) / columns as f64;
        let column = |sample: &Sample| ((sample.0 - span.0) / width).floor();
        out = changes.chunk_by(|a, b| column(a) == column(b)).flat_map(extremes).collect();
        if columns == 1 {
            break;
        }
        columns = columns * 2 / 3;
    }
    out
}

/// The lowest, the highest, the last and, if there is one, an absent sample, in order of time.
fn extremes(group: &[Sample]) -> impl Iterator<Item = Sample> {
    let present = || group.iter().enumerate().filter_map(|(i, s)| s.1.map(|value| (i, value)));
    let low = present().min_by(|a, b| a.1.total_cmp(&b.1));
    let high = present().max_by(|a, b| a.1.total_cmp(&b.1));
    let mut kept: Vec<usize> = low.into_iter().chain(high).map(|(i, _)| i).collect();
    kept.extend(group.iter().position(|sample| sample.1.is_none()));
    kept.extend(group.len().checked_sub(1));
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().filter_map(|i| group.get(i).copied())
}

/// Leaves out each sample whose neighbours on both sides are equal to it.
fn without_repeats(samples: &[Sample]) -> Vec<Sample> {
    let bits = |i: Option<usize>| i.and_then(|i| samples.get(i)).map(|s| s.1.map(f64::to_bits));
    let kept = |i: usize| {
        let own = bits(Some(i));
        bits(i.checked_sub(1)) != own || bits(i.checked_add(1)) != own
    };
    (0..samples.len()).filter(|&i| kept(i)).filter_map(|i| samples.get(i).copied()).collect()
}

/// The corners of a step line, one list per stretch without absence: a gauge holds its value until the
/// next reading.
pub(super) fn steps(samples: &[Sample]) -> Vec<Vec<(f64, f64)>> {
    let mut out = Vec::new();
    for stretch in samples.split(|(_, value)| value.is_none()) {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for &(t, value) in stretch {
            let Some(value) = value else { continue };
            if let Some(&(_, before)) = corners.last()
                && before != value
            {
                corners.push((t, before));
            }
            corners.push((t, value));
        }
        if !corners.is_empty() {
            out.push(corners);
        }
    }
    out
}

/// Stretches without a reading: longer than four times the median distance of `times`.
pub(in crate::report) fn holes(times: &[f64]) -> Vec<(f64, f64)> {
    let pairs = times.iter().zip(times.iter().skip(1));
    let mut distances: Vec<f64> = pairs.clone().map(|(a, b)| b - a).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let Some(&usual) = distances.get(distances.len() / 2) else { return Vec::new() };
    pairs.filter(|(a, b)| *b - *a > usual * HOLE_INTERVALS).map(|(a, b)| (*a, *b)).collect()
}

/// Puts an absence into each hole, so that no line crosses it.
pub(in crate::report) fn broken_at(samples: &[Sample], holes: &[(f64, f64)]) -> Vec<Sample> {
    let mut out = Vec::with_capacity(samples.len() + holes.len());
    let mut holes = holes.iter().peekable();
    for &(t, value) in samples {
        while let Some(&&(from, to)) = holes.peek()
            && to <= t
        {
            out.push((f64::midpoint(from, to), None));
            holes.next();
        }
        out.push((t, value));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_one_sample_survives_and_the_cap_holds() {
        for at in [0, 1, 17, 14_399] {
            let samples: Vec<Sample> = (0..14_400)
                .map(|i| {
                    (f64::from(i) * 0.25, Some(if i == at { 999.0 } else { f64::from(i % 7) }))
                })
                .collect();
            let short = reduced(&samples, (0.0, 3600.0), 980);
            assert!(short.len() <= SAMPLES, "{}", short.len());
            assert!(short.contains(&(f64::from(at) * 0.25, Some(999.0))));
            assert!(short.is_sorted_by(|a, b| a.0 <= b.0));
        }
    }

    #[test]
    fn absence_survives_reduction() {
        let samples: Vec<Sample> = (0..10_000)
            .map(|i| (f64::from(i), (!(5_000..5_100).contains(&i)).then(|| f64::from(i % 3))))
            .collect();
        let short = reduced(&samples, (0.0, 10_000.0), 500);
        assert!(short.iter().any(|(t, v)| v.is_none() && (5_000.0..5_100.0).contains(t)));
        assert_eq!(steps(&short).len(), 2);
    }

    #[test]
    fn a_series_that_comes_and_goes_stays_under_the_cap() {
        let samples: Vec<Sample> =
            (0..100_000).map(|i| (f64::from(i), (i % 2 == 0).then(|| f64::from(i % 11)))).collect();
        assert!(reduced(&samples, (0.0, 100_000.0), 980).len() <= SAMPLES);
    }

    #[test]
    fn a_constant_stretch_keeps_its_two_ends() {
        let samples: Vec<Sample> = (0..50).map(|i| (f64::from(i), Some(4.0))).collect();
        assert_eq!(reduced(&samples, (0.0, 50.0), 900), [(0.0, Some(4.0)), (49.0, Some(4.0))]);
    }

    #[test]
    fn a_step_holds_until_the_next_reading() {
        let samples = [(0.0, Some(1.0)), (1.0, Some(3.0)), (2.0, None), (3.0, Some(2.0))];
        assert_eq!(steps(&samples), [vec![(0.0, 1.0), (1.0, 1.0), (1.0, 3.0)], vec![(3.0, 2.0)]]);
    }

    #[test]
    fn a_hole_breaks_the_line() {
        let times = [0.0, 1.0, 2.0, 9.0, 10.0];
        let found = holes(&times);
        assert_eq!(found, [(2.0, 9.0)]);
        let samples: Vec<Sample> = times.iter().map(|&t| (t, Some(5.0))).collect();
        assert_eq!(steps(&broken_at(&samples, &found)).len(), 2);
        assert!(holes(&[1.0]).is_empty());
    }
}
