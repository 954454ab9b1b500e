//! Rule `secret_option`: what follows an option that names a secret, in arguments and in command
//! lines that stand in a text: `--api-key X`, `--api-key=X`, `'--api-key', 'X'`.

use super::rule::{Cases, Hits, Rule, compile};
use super::secret_assignment::is_secret;
use super::seeds::Known;
use super::value::{Value, value};
use super::vocabulary::ANNOUNCING;
use crate::record::Text;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// See the module.
pub(super) struct SecretOption;

/// Values of one option that are masked; vLLM's `--api-key` takes several.
const VALUES: usize = 64;

static OPTION: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r#"(?:^|[\s"'`(\[,=])--?((?:[A-Za-z0-9_][A-Za-z0-9_.\-]*)?{ANNOUNCING}[A-Za-z0-9_.\-]*)["']?([=,]|[ \t])[ \t]*"#
    ))
});

/// Passwords in the short options of some programs.
static LOGIN: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?:^|[\s"'`(])(?:(?:-u|--user|--proxy-user)[ =]+["']?([^\s"':]+:[^\s"']+)|(?:mysql|mariadb)[a-z]* .*?-p([^\s"']+)|sshpass +-p *["']?([^\s"']+)|(?:docker|podman|helm|skopeo|oras) .*?login .*?-p +["']?([^\s"']+))"#,
    )
});

/// True for an option that may have several values.
fn takes_several(name: &[u8]) -> bool {
    name.to_ascii_lowercase().windows(7).any(|part| part == b"api-key" || part == b"api_key")
}

impl Rule for SecretOption {
    fn name(&self) -> &'static str {
        "secret_option"
    }

    fn hint(&self) -> &'static str {
        r"(?i)-[a-z0-9_.\-]*(?:key|token|secret|pass|pwd|cred|auth|cookie|session|sign|sig)|-u[ =]|-user[ =]|sshpass|login|mysql|mariadb"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for option in OPTION.captures_iter(line) {
            let (Some(whole), Some(name)) = (option.get(0), option.get(1)) else { continue };
            let several = takes_several(name.as_bytes())
                && option.get(2).is_none_or(|s| s.as_bytes() != b"=");
            let mut at = whole.end();
            for _ in 0..if several { VALUES } else { 1 } {
                let Some(Value { span, end, .. }) = value_in_text(line, at) else { break };
                if is_secret(name.as_bytes(), line.get(span.clone()).unwrap_or_default()) {
                    hits.mask(span);
                }
                let Some(next) = behind(line, end) else { break };
                at = next;
            }
        }
        for found in LOGIN.captures_iter(line) {
            for word in found.iter().skip(1).flatten() {
                if found.get(1).is_none() || is_user_and_password(word.as_bytes()) {
                    hits.mask(word.range());
                }
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                (
                    "vllm serve m --api-key abc --port 80",
                    "vllm serve m --api-key <secret_option-1> --port 80",
                ),
                ("x --api-key=abc -q", "x --api-key=<secret_option-1> -q"),
                (
                    "x --api-key a1 b2 --port 8000",
                    "x --api-key <secret_option-1> <secret_option-2> --port 8000",
                ),
                (
                    "['x', '--hf-token', 'a b', '-q']",
                    "['x', '--hf-token', '<secret_option-1>', '-q']",
                ),
                (
                    "x --ssl-keyfile-password 'p w' y",
                    "x --ssl-keyfile-password '<secret_option-1>' y",
                ),
                ("--admin-api-key \"k\"", "--admin-api-key \"<secret_option-1>\""),
                (
                    "['x', '--api-key', 'a', 'b', '--port', '80']",
                    "['x', '--api-key', '<secret_option-1>', '<secret_option-2>', '--port', '80']",
                ),
                ("curl -u me:pw http://x", "curl -u <secret_option-1> http://x"),
                ("sshpass -p pw ssh x", "sshpass -p <secret_option-1> ssh x"),
                ("docker login -u me -p pw reg", "docker login -u me -p <secret_option-1> reg"),
                ("mysql -u root -ppw -h db", "mysql -u root -p<secret_option-1> -h db"),
            ],
            keeps: &[
                "vllm serve m --max-num-batched-tokens 2048 --tokenizer /models/x",
                "--tokenizer-mode auto --skip-tokenizer-init --token-budget 512",
                "x --api-key EMPTY --api-key None",
                "x --enable-auth --port 8000",
                "x --api-key <secret_option-1> <secret-2> --max-tokens 5",
                "x --ssl-keyfile /etc/tls/server.pem",
                "disk-key a",
                "docker run -u 1000:1000 -p 8000:8000 vllm/vllm-openai",
                "python -u serve.py, journalctl -u vllm",
                "---------------Inter-token Latency----------------",
            ],
        }
    }
}

/// The value at `at`, unless another option, a shell operator or nothing stands there.
fn value_in_text(line: &[u8], at: usize) -> Option<Value> {
    let first = *line.get(at)?;
    let found = value(line, at);
    let option = line.get(found.span.start) == Some(&b'-');
    let is_value = !option && !b";|&>\n\r)]}".contains(&first);
    (is_value && !found.span.is_empty()).then_some(found)
}

/// Where the next word of a command line or of a list of arguments begins.
fn behind(line: &[u8], end: usize) -> Option<usize> {
    let rest = line.get(end..)?;
    let gap = rest.iter().take_while(|b| b" \t,".contains(b)).count();
    (gap > 0).then_some(end + gap)
}

/// The spans in a command's arguments that are secret because of the option before them: index of
/// the argument, and where in it.
pub(super) fn in_argv(argv: &[Text]) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    let mut i = 0;
    while let Some(arg) = argv.get(i) {
        i += 1;
        let arg = arg.as_bytes();
        let Some(option) = arg.strip_prefix(b"-") else { continue };
        let name = option.strip_prefix(b"-").unwrap_or(option);
        let (name, inline) = match name.iter().position(|b| *b == b'=') {
            Some(sign) => {
                (name.get(..sign).unwrap_or_default(), Some(arg.len() - name.len() + sign + 1))
            }
            None => (name, None),
        };
        if let Some(start) = inline {
            let value = arg.get(start..).unwrap_or_default();
            if is_secret(name, value) || (is_login(name) && is_user_and_password(value)) {
                found.push((i - 1, start..arg.len()));
            }
            continue;
        }
        let most = if takes_several(name) { VALUES } else { 1 };
        let values = argv.iter().skip(i).take(most);
        for value in values.map(Text::as_bytes).take_while(|value| !value.starts_with(b"-")) {
            if is_secret(name, value) || (is_login(name) && is_user_and_password(value)) {
                found.push((i, 0..value.len()));
                i += 1;
            } else {
                break;
            }
        }
    }
    found
}

/// Options of curl, wget and ab whose value is `user:password`.
fn is_login(name: &[u8]) -> bool {
    [&b"u"[..], b"user", b"proxy-user", b"A", b"P"].contains(&name)
}

/// `user:password`, but not docker's `uid:gid`.
fn is_user_and_password(value: &[u8]) -> bool {
    value.contains(&b':') && !value.iter().all(|b| b.is_ascii_digit() || *b == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_behind_secret_options_are_found() {
        for (argv, secret) in [
            (&["vllm", "serve", "--api-key", "a", "b", "--port", "1"][..], &["a", "b"][..]),
            (&["x", "--api-key=a", "b"], &["a"]),
            (&["x", "--hf-token", "a", "b"], &["a"]),
            (&["curl", "-u", "bob:pw"], &["bob:pw"]),
            (&["curl", "--user=bob:pw"], &["bob:pw"]),
            (&["docker", "run", "-u", "1000:1000"], &[]),
            (&["x", "--max-tokens", "5", "--tokenizer", "t", "--api-key", "EMPTY"], &[]),
            (&["x", "--api-key"], &[]),
            (&["x", "--enable-auth", "--y"], &[]),
        ] {
            let argv: Vec<Text> = argv.iter().map(|arg| Text::from(*arg)).collect();
            let found: Vec<_> = in_argv(&argv)
                .into_iter()
                .map(|(i, span)| argv[i].lossy()[span].to_owned())
                .collect();
            assert_eq!(found, secret, "{argv:?}");
        }
    }
}
