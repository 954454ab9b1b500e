//! Reads a log once and hands out the lines worth a closer look.
//!
//! Almost every line of a long server log is an access line or a periodic report that decides
//! nothing. A block of the file is searched for a few hundred words at once; only a line holding
//! one of them is taken out, and lines in between are merely counted. Memory is one block,
//! whatever the file's size.

use std::io::Read;

use aho_corasick::AhoCorasick;

/// Size of a block. Larger than a cache line's worth of lines, small enough to stay in cache.
const BLOCK_BYTES: usize = 256 * 1024;
/// A line longer than this is cut: a logged prompt can be as long as a model's context.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// Which lines the caller wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Every line: something was just said that the next lines explain.
    All,
    /// Lines with a word of the whole vocabulary: the server is starting, or in doubt.
    Watched,
    /// Lines with a word that matters once the server serves.
    Serving,
}

/// The words that make a line worth reading, in each state.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub watched: AhoCorasick,
    pub serving: AhoCorasick,
}

impl Vocabulary {
    fn of(&self, wanted: Wanted) -> Option<&AhoCorasick> {
        match wanted {
            Wanted::All => None,
            Wanted::Watched => Some(&self.watched),
            Wanted::Serving => Some(&self.serving),
        }
    }

    /// Whether a line that came by itself (a bundle's log record) is wanted.
    pub(crate) fn wants(&self, wanted: Wanted, line: &[u8]) -> bool {
        self.of(wanted).is_none_or(|words| words.is_match(line))
    }
}

/// Reads `input` to its end, calls `each(line number, line)` for the lines wanted, and returns how
/// many lines there were. What `each` returns decides which line is wanted next.
pub(crate) fn read(
    mut input: impl Read,
    words: &Vocabulary,
    mut wanted: Wanted,
    each: &mut dyn FnMut(u64, &[u8]) -> Wanted,
) -> std::io::Result<u64> {
    let mut block = vec![0_u8; BLOCK_BYTES];
    let (mut held, mut lines, mut cutting) = (0, 0_u64, false);
    loop {
        let got = match input.read(block.get_mut(held..).unwrap_or_default()) {
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let filled = held + got;
        let data = block.get(..filled).unwrap_or_default();
        let whole = match memchr::memrchr(b'\n', data) {
            Some(end) => end + 1,
            None if got == 0 || filled == BLOCK_BYTES => filled,
            None => {
                held = filled;
                continue;
            }
        };
        let mut text = data.get(..whole).unwrap_or_default();
        if cutting {
            // The rest of a line that filled a block: its beginning was handed out already.
            let Some(end) = memchr::memchr(b'\n', text) else {
                if got == 0 {
                    return Ok(lines);
                }
                held = 0;
                continue;
            };
            text = text.get(end + 1..).unwrap_or_default();
        }
        (lines, wanted) = hand_out(text, words, lines, wanted, each);
        cutting = got > 0 && !data.get(..whole).unwrap_or_default().ends_with(b"\n");
        if got == 0 {
            return Ok(lines);
        }
        block.copy_within(whole..filled, 0);
        held = filled - whole;
    }
}

fn hand_out(
    text: &[u8],
    words: &Vocabulary,
    mut lines: u64,
    mut wanted: Wanted,
    each: &mut dyn FnMut(u64, &[u8]) -> Wanted,
) -> (u64, Wanted) {
    let mut rest = text;
    while !rest.is_empty() {
        let start = match words.of(wanted) {
            None => 0,
            Some(words) => match words.find(rest) {
                None => break,
                Some(found) => {
                    memchr::memrchr(b'\n', rest.get(..found.start()).unwrap_or_default())
                        .map_or(0, |at| at + 1)
                }
            },
        };
        lines += count_lines(rest.get(..start).unwrap_or_default());
        let from = rest.get(start..).unwrap_or_default();
        let end = memchr::memchr(b'\n', from).unwrap_or(from.len());
        lines += 1;
        let line = from.get(..end.min(MAX_LINE_BYTES)).unwrap_or_default();
        wanted = each(lines, line.strip_suffix(b"\r").unwrap_or(line));
        rest = from.get(end + 1..).unwrap_or_default();
    }
    let open = u64::from(!rest.is_empty() && !rest.ends_with(b"\n"));
    (lines + count_lines(rest) + open, wanted)
}

fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        Vocabulary {
            watched: AhoCorasick::new(["rror", "ready"]).unwrap(),
            serving: AhoCorasick::new(["rror"]).unwrap(),
        }
    }

    /// Hands out one byte less than asked, so that lines straddle every read.
    struct Trickle<'a>(&'a [u8], usize);
    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(out.len()).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn wanted_lines_keep_their_numbers_however_the_bytes_arrive() {
        let log = b"one\nError two\nthree\n\nready five\nlast Error";
        for step in 1..log.len() + 2 {
            let mut seen = Vec::new();
            let total = read(Trickle(log, step), &vocabulary(), Wanted::Watched, &mut |n, l| {
                seen.push((n, String::from_utf8_lossy(l).into_owned()));
                Wanted::Watched
            })
            .unwrap();
            assert_eq!(total, 6, "step {step}");
            assert_eq!(
                seen,
                [
                    (2, "Error two".to_owned()),
                    (5, "ready five".to_owned()),
                    (6, "last Error".to_owned())
                ],
                "step {step}"
            );
        }
    }

    #[test]
    fn the_caller_decides_which_lines_come_next() {
        let log = b"ready\nready\nError\nnext\nready\n";
        let mut seen = Vec::new();
        read(&log[..], &vocabulary(), Wanted::Serving, &mut |n, _| {
            seen.push(n);
            if n == 3 { Wanted::All } else { Wanted::Serving }
        })
        .unwrap();
        assert_eq!(seen, [3, 4]);
    }

    #[test]
    fn a_line_longer_than_a_block_is_cut_and_counted_once() {
        let mut log = b"Error ".to_vec();
        log.resize(3 * BLOCK_BYTES, b'x');
        log.extend_from_slice(b"\nError two\n");
        let mut seen = Vec::new();
        let total = read(&log[..], &vocabulary(), Wanted::Watched, &mut |n, l| {
            seen.push((n, l.len()));
            Wanted::Watched
        })
        .unwrap();
        assert_eq!(total, 2);
        assert_eq!(seen, [(1, MAX_LINE_BYTES), (2, 9)]);
    }
}
