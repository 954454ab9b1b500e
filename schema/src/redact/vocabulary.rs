//! Words with a meaning of their own: those that announce a secret, and those that no pseudonym may
//! replace.

use std::ops::Range;

/// What a name says of the value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Announces {
    /// Nothing private.
    Nothing,
    /// A secret, unless the value is a number or a plain word: `key`, `token`, `session`, `sign`.
    Likely,
    /// A secret whatever it looks like: `password`, `api_key`.
    Surely,
}

/// A regular expression for the words that [`announces`] may find in a name.
pub(super) const ANNOUNCING: &str =
    "(?i:key|token|secret|pass|pwd|cred|auth|cookie|session|private|sign|sig|cert)";

/// Words that make an environment variable's name refused (any part of it, case aside).
pub(super) const REFUSED: &[&str] = &[
    "KEY", "TOKEN", "SECRET", "PASS", "PWD", "CRED", "AUTH", "COOKIE", "SESSION", "PRIVATE",
    "SIGN", "CERT",
];

/// Words beside `token` that speak of text tokens: counts, limits, ids and special tokens.
const TEXT_TOKEN: &[&str] = &[
    "id",
    "ids",
    "map",
    "num",
    "max",
    "min",
    "per",
    "usage",
    "count",
    "len",
    "length",
    "budget",
    "limit",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "stop",
    "special",
    "draft",
    "new",
    "cached",
    "pending",
    "image",
    "video",
    "audio",
    "prompt",
    "output",
    "input",
    "decode",
    "prefill",
    "position",
    "type",
    "embedding",
    "rate",
    "latency",
    "throughput",
    "time",
    "first",
    "next",
    "last",
    "ratio",
    "capacity",
    "distribution",
    "response",
];

/// Words beside `key` that speak of attention, caches and tables.
const TABLE_KEY: &[&str] = &[
    "value", "cache", "error", "head", "heads", "len", "dim", "size", "type", "primary", "foreign",
    "sort", "query", "scale", "proj", "states", "layer", "hash",
];

/// Words beside `session` that make it the name of a conversation in a load tool's results.
const SESSION_ID: &[&str] = &["id", "ids", "num", "index", "count", "affinity"];

/// Words beside `auth` that name its manner.
const MANNER: &[&str] = &["type", "method", "mode", "scheme", "provider"];

/// Words that make it the place of a secret, not the secret.
const PLACE: &[&str] = &["file", "path", "dir", "folder", "certfile", "keyfile", "url"];

/// Words that turn `tokens` and `keys` into those of an interface.
const ACCESS: &[&str] =
    &["api", "auth", "access", "refresh", "bearer", "secret", "hf", "admin", "private"];

/// What `name` (`hf_token`, `X-Api-Key`, `apiKey`, `max_tokens`) says of its value.
pub(super) fn announces(name: &[u8]) -> Announces {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let mut found = Announces::Nothing;
    for word in &words {
        let word = word.as_str();
        if ["passw", "passph", "passcode", "secret", "credential", "cookie"]
            .iter()
            .any(|start| word.starts_with(start))
            || ["pwd", "cred", "creds", "authorization"].contains(&word)
            || ["password", "passwd", "secret", "apikey", "accesskey", "authtoken", "accesstoken"]
                .iter()
                .any(|end| word.ends_with(end))
        {
            return Announces::Surely;
        }
        let key = word == "key" || ["authkey", "sshkey", "privatekey"].contains(&word);
        if (key && has(ACCESS)) || (word == "keys" && has(ACCESS)) {
            return Announces::Surely;
        }
        if has(PLACE) {
            continue;
        }
        let likely = (key && !has(TABLE_KEY))
            || (word == "token" && (has(ACCESS) || !has(TEXT_TOKEN)))
            || (word == "tokens" && has(ACCESS))
            || ((word == "auth" || word.starts_with("authent")) && !has(MANNER))
            || ["pass", "sign", "sig", "signature", "private", "cert", "certificate"]
                .contains(&word)
            || (word == "session" && !has(SESSION_ID));
        if likely {
            found = Announces::Likely;
        }
    }
    found
}

/// The words of a name in lower case: `apiKey`, `api-key` and `API_KEY` are `api` and `key`.
fn words(name: &[u8]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = 0_u8;
    for &byte in name {
        let cut = !byte.is_ascii_alphanumeric();
        if cut || (byte.is_ascii_uppercase() && before.is_ascii_lowercase()) {
            words.push(String::new());
        }
        if !cut && let Some(word) = words.last_mut() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        before = byte;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// True for a value that says "none was set", and for words that are no value.
pub(super) fn is_no_value(value: &[u8]) -> bool {
    const WORDS: &[&str] = &[
        "none",
        "null",
        "nil",
        "empty",
        "true",
        "false",
        "undefined",
        "unset",
        "not",
        "bearer",
        "basic",
        "token",
        "digest",
        "negotiate",
        "nan",
        "<none>",
    ];
    value.is_empty()
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || value.iter().all(|b| b"*.-_ ".contains(b))
}

/// True for a number as logs write it, units aside: `32,096`, `0.85`, `1e-5`, `2048`.
pub(super) fn is_number(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.iter().all(|b| b.is_ascii_digit() || b".,_+-eE%".contains(b))
}

/// True for what looks made up by a machine: long, or with letters and digits mixed.
pub(super) fn is_token_like(value: &[u8]) -> bool {
    let digit = value.iter().any(u8::is_ascii_digit);
    let letter = value.iter().any(u8::is_ascii_alphabetic);
    letter && ((value.len() >= 6 && digit) || value.len() >= 20)
}

/// Words that stand for themselves in evidence: no user, host or secret of this name is replaced
/// everywhere, or the facts the analyzer reads would change with it.
const PROTECTED: &[&str] = &[
    "vllm",
    "sglang",
    "trtllm",
    "tensorrt",
    "tensorrt_llm",
    "llamacpp",
    "llama",
    "llama-server",
    "tgi",
    "lmdeploy",
    "dynamo",
    "openai",
    "ray",
    "triton",
    "nvidia",
    "cuda",
    "rocm",
    "torch",
    "pytorch",
    "python",
    "python3",
    "uvicorn",
    "fastapi",
    "prometheus",
    "huggingface",
    "docker",
    "podman",
    "kubernetes",
    "slurm",
    "container",
    "default",
    "model",
    "models",
    "metrics",
    "metric",
    "server",
    "client",
    "engine",
    "engines",
    "worker",
    "workers",
    "scheduler",
    "request",
    "requests",
    "prompt",
    "prompts",
    "token",
    "tokens",
    "tokenizer",
    "running",
    "waiting",
    "queue",
    "memory",
    "cache",
    "cached",
    "block",
    "blocks",
    "batch",
    "prefill",
    "decode",
    "error",
    "warning",
    "info",
    "debug",
    "health",
    "serve",
    "serving",
    "bench",
    "benchmark",
    "data",
    "home",
    "user",
    "users",
    "admin",
    "root",
    "nobody",
    "ubuntu",
    "debian",
    "centos",
    "ec2-user",
    "opc",
    "azureuser",
    "runner",
    "jovyan",
    "vscode",
    "app",
    "appuser",
    "dev",
    "test",
    "guest",
    "daemon",
    "local",
    "localhost",
    "localdomain",
    "host",
    "gpu",
    "cpu",
    "node",
    "max",
    "min",
    "mean",
    "total",
    "main",
    "string",
    "dummy",
    "unused",
    "secret",
    "password",
];

/// True when `word` is part of the vocabulary that no pseudonym replaces.
pub(super) fn is_protected(word: &[u8]) -> bool {
    PROTECTED.iter().any(|own| word.eq_ignore_ascii_case(own.as_bytes()))
}

/// True when the span is a whole word of the line and no part of a flag.
pub(super) fn is_own_word(line: &[u8], span: &Range<usize>) -> bool {
    let before = line.get(..span.start).unwrap_or_default();
    let part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let flag = before.iter().rev().take_while(|b| part(b) || **b == b'-').last();
    !before.last().is_some_and(part) && !line.get(span.end).is_some_and(part) && flag != Some(&b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_announce_what_they_hold() {
        for name in [
            "api_key",
            "VLLM_API_KEY",
            "apiKey",
            "admin-api-key",
            "ssl_keyfile_password",
            "HF_SECRET",
            "API key",
        ] {
            assert_eq!(announces(name.as_bytes()), Announces::Surely, "{name}");
        }
        for name in ["hf_token", "token", "HF_TOKEN", "auth", "session", "pass", "X-Amz-Signature"]
        {
            assert_eq!(announces(name.as_bytes()), Announces::Likely, "{name}");
        }
        for name in [
            "max_tokens",
            "tokenizer",
            "num_tokens",
            "token_budget",
            "eos_token_id",
            "author",
            "num_key_value_heads",
            "KeyError",
            "#new-token",
            "token usage",
            "design",
            "passes",
            "keyword",
            "monkey",
            "tokens_per_block",
        ] {
            assert_eq!(announces(name.as_bytes()), Announces::Nothing, "{name}");
        }
    }

    #[test]
    fn no_key_was_set_stays_evidence() {
        for value in ["None", "null", "EMPTY", "", "True", "false", "****"] {
            assert!(is_no_value(value.as_bytes()), "{value}");
        }
        assert!(!is_no_value(b"swordfish"));
        assert!(is_number(b"32,096") && is_number(b"1e-5") && !is_number(b"a1"));
    }
}
