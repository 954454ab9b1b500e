//! Numbers as people read them: thousands separators, percent, seconds.

/// A count with thousands separators; a fraction keeps one decimal.
pub fn count(value: f64) -> String {
    if value.fract() == 0.0 { grouped(value, 0) } else { grouped(value, 1) }
}

/// From here on a number is written with an exponent: nothing that is counted here comes near it.
const LARGE: f64 = 1e15;

/// A value with `places` decimals and thousands separators.
pub fn grouped(value: f64, places: usize) -> String {
    if value.abs() >= LARGE {
        return format!("{value:.2e}");
    }
    let text = format!("{:.places$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    if value < 0.0 && text.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// A ratio of 0..1 as percent: whole percents, one decimal below 10%.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let places = usize::from(percent != 0.0 && percent.abs() < 9.95 && percent.fract() != 0.0);
    format!("{percent:.places$}%")
}

/// Nanoseconds as seconds with `places` decimals and the unit.
pub fn seconds(ns: i64, places: usize) -> String {
    format!("{} s", grouped(ns as f64 / 1e9, places))
}

/// A size in bytes as people say it.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        c if c < 1e3 => plural(c, "byte"),
        c if c < 1e6 => format!("{} kB", grouped(c / 1e3, 1)),
        c if c < 1e9 => format!("{} MB", grouped(c / 1e6, 1)),
        c => format!("{} GB", grouped(c / 1e9, 1)),
    }
}

/// `1 preemption`, `2 preemptions`.
pub fn plural(value: f64, one: &str) -> String {
    let ending = if value == 1.0 { "" } else { "s" };
    format!("{} {one}{ending}", count(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        for (size, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (61_152, "61.2 kB"),
            (2_500_000, "2.5 MB"),
            (25_276_514_304, "25.3 GB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn thousands_are_separated() {
        let table = [
            (0.0, "0"),
            (999.0, "999"),
            (32_000.0, "32,000"),
            (-1_234_567.0, "-1,234,567"),
            (12.34, "12.3"),
        ];
        for (value, text) in table {
            assert_eq!(count(value), text);
        }
        assert_eq!(grouped(-0.04, 1), "0.0");
        assert_eq!(count(1e308), "1.00e308");
    }

    #[test]
    fn percents_keep_a_decimal_only_when_small() {
        let table = [(0.914, "91%"), (0.0094, "0.9%"), (0.0, "0%"), (0.05, "5%"), (1.0, "100%")];
        for (ratio, text) in table {
            assert_eq!(percent(ratio), text);
        }
    }
}
