//! Rule `private_key`: the body of a private key in PEM, OpenSSH, PGP or PuTTY form, over many lines,
//! and age keys. Certificates and public keys stay.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct PrivateKey;

/// Bytes after which a key without an end is given up.
const KEY_BYTES: usize = 64 << 10;

static BEGIN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]+)([^\x22'\n]*)",
    )
});
static END: LazyLock<Regex> = LazyLock::new(|| compile(r"-----END|Private-MAC:"));

/// A line of a key's body seen without its beginning, and keys of one line.
static BODY: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"^[ \t]*([A-Za-z0-9+/]{60,}={0,2})[ \t\r\n]*$|(AGE-SECRET-KEY-[A-Za-z0-9]{20,})|Private-MAC: ([0-9a-f]+)",
    )
});

impl Rule for PrivateKey {
    fn name(&self) -> &'static str {
        "private_key"
    }

    fn hint(&self) -> &'static str {
        r"PRIVATE KEY|Private-|AGE-SECRET-KEY-|[A-Za-z0-9+/]{60}"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in BEGIN.captures_iter(line) {
            let Some(rest) = found.get(1) else { continue };
            let len = END.find(rest.as_bytes()).map_or(rest.len(), |end| end.start());
            let body = rest.as_bytes().get(..len).unwrap_or_default();
            let len = body.trim_ascii_end().len();
            hits.mask(rest.start()..rest.start() + len);
        }
        for found in BODY.captures_iter(line) {
            for body in found.iter().skip(1).flatten() {
                if !body.as_bytes().iter().all(u8::is_ascii_hexdigit) || body.len() != 64 {
                    hits.mask(body.range());
                }
            }
        }
    }

    fn opens(&self, line: &[u8]) -> bool {
        let last = BEGIN.captures_iter(line).filter_map(|found| found.get(1)).last();
        last.is_some_and(|rest| {
            let at_end = line.get(rest.end()..).unwrap_or_default().trim_ascii().is_empty();
            at_end && !END.is_match(rest.as_bytes())
        })
    }

    fn inside(&self, line: &[u8], bytes: usize, hits: &mut Hits) -> bool {
        let end = END.find(line).map(|end| end.start());
        let body = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
        let start = body.len() - body.trim_ascii_start().len();
        hits.mask(start..body.trim_ascii_end().len().max(start));
        end.is_none() && bytes < KEY_BYTES
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                (
                    r#""-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n""#,
                    r#""-----BEGIN PRIVATE KEY-----<private_key-1>-----END PRIVATE KEY-----\n""#,
                ),
                (
                    "'-----BEGIN RSA PRIVATE KEY-----\\nMII', x",
                    "'-----BEGIN RSA PRIVATE KEY-----<private_key-1>', x",
                ),
                (
                    "-----BEGIN OPENSSH PRIVATE KEY-----b3Bl",
                    "-----BEGIN OPENSSH PRIVATE KEY-----<private_key-1>",
                ),
                (
                    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7abcdefghijkl",
                    "<private_key-1>",
                ),
                ("AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTUV", "<private_key-1>"),
                ("Private-MAC: 0123abcd", "Private-MAC: <private_key-1>"),
            ],
            keeps: &[
                "-----BEGIN CERTIFICATE-----",
                "-----BEGIN PUBLIC KEY-----",
                "-----BEGIN PRIVATE KEY-----",
                "no PRIVATE KEY given",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "============================================================",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{Lines, Masker, Seeds};

    const KEY: &str = "before\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n  kqhkiG9w0==\n\
                       -----END PRIVATE KEY-----\nafter 5\n";

    #[test]
    fn every_line_of_a_key_is_masked_whole_or_line_by_line() {
        let expected = "before\n-----BEGIN PRIVATE KEY-----\n<private_key-1>\n  <private_key-2>\n\
                        -----END PRIVATE KEY-----\nafter 5\n";
        let mut masker = Masker::new(Seeds::default());
        assert_eq!(masker.text(KEY.as_bytes()), expected.as_bytes());
        assert_eq!(masker.text(expected.as_bytes()), expected.as_bytes());
        let mut lines = Lines::default();
        let by_line: Vec<u8> = KEY
            .split_inclusive('\n')
            .flat_map(|line| masker.lines(&mut lines, line.as_bytes()).into_owned())
            .collect();
        assert_eq!(by_line, expected.as_bytes());
    }

    #[test]
    fn a_key_without_an_end_is_given_up_after_64_kib() {
        let text = format!("-----BEGIN PRIVATE KEY-----\n{}", "abc\n".repeat(20_000));
        let masked = Masker::new(Seeds::default()).text(text.as_bytes()).into_owned();
        let masks = masked.windows(13).filter(|part| part == b"<private_key-").count();
        assert_eq!(masks, 16_384);
    }
}
