//! Rule `secret_assignment`: the value behind a name that speaks of a secret, in `NAME=value`,
//! `"name": value`, `'name': value`, `name => value` and `name: value`.
//!
//! The words for "none was set" stay readable, and so do numbers behind `key` and `token`, which are
//! counts. A bare value behind `name:` has to look like a token, or prose would go.

use super::rule::{Cases, Hits, Rule, compile, is_mask};
use super::seeds::Known;
use super::value::values;
use super::vocabulary::{ANNOUNCING, Announces, announces, is_no_value, is_number, is_token_like};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct SecretAssignment;

/// Name, quotes behind it, and the sign.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r#"((?:(?i:api|access|secret|auth|admin|private|bearer|hf) )?[A-Za-z0-9_.\-]*{ANNOUNCING}[A-Za-z0-9_.\-]*)(\\*["'])?\]?[ \t]*(=>|:=|=|:)[ \t]*"#
    ))
});

/// True when the entry `name: value` of a map holds a secret.
pub(super) fn is_secret(name: &[u8], value: &[u8]) -> bool {
    match announces(name) {
        Announces::Nothing => false,
        Announces::Likely => !is_no_value(value) && !is_number(value),
        Announces::Surely => !is_no_value(value),
    }
}

/// True for a credential of which only the scheme word is left.
fn scheme_and_mask(value: &[u8]) -> bool {
    let blank = value.iter().position(|b| *b == b' ');
    blank.and_then(|at| value.get(at + 1..)).is_some_and(is_mask)
}

impl Rule for SecretAssignment {
    fn name(&self) -> &'static str {
        "secret_assignment"
    }

    fn hint(&self) -> &'static str {
        r#"(?i)(?:key|token|secret|pass|pwd|cred|auth|cookie|session|private|sign|sig|cert)[a-z0-9_.\-]*\\*["']?\]?[ \t]*[=:]"#
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for head in HEAD.captures_iter(line) {
            let (Some(whole), Some(name), Some(sign)) = (head.get(0), head.get(1), head.get(3))
            else {
                continue;
            };
            let says = announces(name.as_bytes());
            if says == Announces::Nothing {
                continue;
            }
            let in_json = head.get(2).is_some();
            let prose = sign.as_bytes() == b":" && !in_json;
            let (values, end) = values(line, whole.end());
            if !hits.look_at(end.saturating_sub(whole.end()), line) {
                return;
            }
            for value in values {
                let bytes = line.get(value.span.clone()).unwrap_or_default();
                if scheme_and_mask(bytes) {
                    continue;
                }
                let plain = says == Announces::Likely && prose && !value.quoted;
                if !is_secret(name.as_bytes(), bytes) || (plain && !is_token_like(bytes)) {
                    continue;
                }
                if in_json && !value.quoted {
                    hits.quoted(value.span);
                } else {
                    hits.mask(value.span);
                }
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("HF_TOKEN=abc def", "HF_TOKEN=<secret_assignment-1> def"),
                (
                    r#"{"api_key": "ab\"c", "port": 80}"#,
                    r#"{"api_key": "<secret_assignment-1>", "port": 80}"#,
                ),
                (
                    "'admin_api_key': 'x', 'a': None",
                    "'admin_api_key': '<secret_assignment-1>', 'a': None",
                ),
                (
                    "api_key=['a', 'b'], x=1",
                    "api_key=['<secret_assignment-1>', '<secret_assignment-2>'], x=1",
                ),
                ("password: hunter, user", "password: <secret_assignment-1>, user"),
                (r#"{"password": 1234}"#, r#"{"password": "<secret_assignment-1>"}"#),
                ("hf_token=SecretStr('abc')", "hf_token=SecretStr('<secret_assignment-1>')"),
                (r#"\"token\": \"abc\","#, r#"\"token\": \"<secret_assignment-1>\","#),
                ("ssl_keyfile_password='pw'", "ssl_keyfile_password='<secret_assignment-1>'"),
                ("Using API key: abc", "Using API key: <secret_assignment-1>"),
                ("secret => x9", "secret => <secret_assignment-1>"),
            ],
            keeps: &[
                "api_key=None, hf_token=None",
                r#"{"api_key": null, "token": "EMPTY"}"#,
                "max_num_batched_tokens=2048, tokenizer='/models/tiny'",
                "Decode batch, #running-req: 8, #token: 1024, token usage: 0.12",
                "num_key_value_heads: 8, eos_token: '<|im_end|>'",
                "KeyError: 'model'",
                "session: start",
                "token=<secret_assignment-1>, api_key=\"<secret-4>\"",
                "signal=SIGTERM, design=new",
                "'authorization': 'Bearer <auth_header-1>'",
                "token_file=/run/t, ssl_certfile='/etc/x.pem', key_path: /x",
                "private=True, cert: None",
            ],
        }
    }
}
