//! Values that are known to be private before anything is written.

use super::vocabulary::{REFUSED, is_no_value, is_number, is_protected};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::ops::Range;

/// Shortest secret that is searched for everywhere; a shorter one is masked only where it stands.
const SECRET_BYTES: usize = 6;
/// Longest one: a certificate bundle in a variable is no password.
const LONGEST_BYTES: usize = 8 << 10;
/// Shortest user or host name that is searched for.
const NAME_BYTES: usize = 3;
/// Values of one sort.
const MOST: usize = 1_000;

/// Secret values, user names, home folders, host names and words of the user's own choice. The
/// caller collects them without prying: from its own environment and from what it was given.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Seeds {
    secrets: Vec<Vec<u8>>,
    users: Vec<Vec<u8>>,
    homes: Vec<Vec<u8>>,
    hosts: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

/// How many there are, never what they are.
impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeds")
            .field("secrets", &self.secrets.len())
            .field("users", &self.users.len())
            .field("homes", &self.homes.len())
            .field("hosts", &self.hosts.len())
            .field("words", &self.words.len())
            .finish()
    }
}

/// True for a variable that is refused for a word in its name, but holds no secret: a folder, a
/// session's kind, the manner of an authentication.
fn is_about(name: &str) -> bool {
    const BEGINS: [&str; 5] =
        ["PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "XDG_SESSION_", "DESKTOP_SESSION"];
    const ENDS: [&str; 12] = [
        "_MODE",
        "_TYPE",
        "_METHOD",
        "_FILE",
        "_PATH",
        "_DIR",
        "_SOCK",
        "_HOST",
        "_PORT",
        "_ENABLED",
        "_ALGORITHM",
        "_LEVEL",
    ];
    BEGINS.iter().any(|begin| name.starts_with(begin)) || ENDS.iter().any(|end| name.ends_with(end))
}

impl Seeds {
    /// Seeds from the process's own environment: the values of refused names, and user, home and
    /// host names.
    pub fn from_env(env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut seeds = Self::default();
        for (name, value) in env {
            let (name, value) = (name.to_string_lossy(), value.as_encoded_bytes());
            match &*name {
                "USER" | "LOGNAME" | "USERNAME" | "SUDO_USER" | "SLURM_JOB_USER" => {
                    seeds.user(value);
                }
                "HOME" => seeds.home(value),
                "HOSTNAME" | "HOST" | "COMPUTERNAME" | "SLURMD_NODENAME" | "SLURM_SUBMIT_HOST" => {
                    seeds.host(value);
                }
                _ if is_refused(&name) && !is_about(&name) => seeds.secret(value),
                _ => {}
            }
        }
        seeds
    }

    /// A secret: replaced wherever it stands, also URL-encoded, JSON-escaped, shell-quoted, in hex
    /// and in base64. Ignored: less than 6 bytes, numbers, paths, and words with a meaning of their
    /// own such as `EMPTY` or `vllm`.
    pub fn secret(&mut self, value: &[u8]) {
        let value = value.trim_ascii();
        let usable = (SECRET_BYTES..=LONGEST_BYTES).contains(&value.len())
            && !value.starts_with(b"/")
            && !is_number(value)
            && !is_no_value(value)
            && !is_protected(value)
            && !super::rule::is_mask(value);
        if usable {
            add(&mut self.secrets, value);
        }
    }

    /// A user name: becomes `user-n` where it stands as a word.
    pub fn user(&mut self, name: &[u8]) {
        add_name(&mut self.users, name);
    }

    /// A home folder, absolute: its last component becomes `user-n`.
    pub fn home(&mut self, path: &[u8]) {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
        if path.starts_with(b"/") && name.len() >= NAME_BYTES && !is_protected(name) {
            add(&mut self.homes, path);
        }
    }

    /// A host name, short or full: becomes `host-n`. Of a full name the short one is known too.
    pub fn host(&mut self, name: &[u8]) {
        add_name(&mut self.hosts, name);
        if let Some(short) = name.split(|b| *b == b'.').next() {
            add_name(&mut self.hosts, short);
        }
    }

    /// A word of the user's own list: replaced wherever it stands, case aside.
    pub fn word(&mut self, word: &[u8]) {
        let word = word.trim_ascii();
        if !word.is_empty() {
            add(&mut self.words, word);
        }
    }
}

/// True when a variable of this name is never recorded.
pub(super) fn is_refused(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    REFUSED.iter().any(|word| name.contains(word))
}

fn add(list: &mut Vec<Vec<u8>>, value: &[u8]) {
    if list.len() < MOST && !list.iter().any(|known| known == value) {
        list.push(value.to_vec());
    }
}

fn add_name(list: &mut Vec<Vec<u8>>, name: &[u8]) {
    let name = name.trim_ascii();
    let letters = name.iter().any(u8::is_ascii_alphabetic) || !name.is_ascii();
    if name.len() >= NAME_BYTES && letters && !is_protected(name) && !super::rule::is_mask(name) {
        add(list, name);
    }
}

/// The seeds, ready to be searched for.
#[derive(Debug, Clone)]
pub struct Known {
    pub(super) secrets: Literals,
    pub(super) users: Literals,
    pub(super) homes: Literals,
    pub(super) hosts: Literals,
    pub(super) words: Literals,
}

impl Known {
    /// `None`: the seeds are too many to be searched for.
    pub(super) fn new(seeds: &Seeds) -> Option<Self> {
        let itself = |list: &[Vec<u8>]| list.iter().map(|v| (v.clone(), v.clone())).collect();
        let forms = seeds
            .secrets
            .iter()
            .flat_map(|value| forms(value).into_iter().map(|form| (form, value.clone())))
            .collect();
        Some(Self {
            secrets: Literals::new(forms, false)?,
            users: Literals::new(itself(&seeds.users), false)?,
            homes: Literals::new(itself(&seeds.homes), false)?,
            hosts: Literals::new(hosts(&seeds.hosts), true)?,
            words: Literals::new(itself(&seeds.words), true)?,
        })
    }

    /// True when some seed stands in `text`.
    pub(super) fn any_in(&self, text: &[u8]) -> bool {
        [&self.secrets, &self.users, &self.homes, &self.hosts, &self.words]
            .iter()
            .any(|literals| literals.is_in(text))
    }
}

/// Each host name with the name it goes by: a short one goes by the full one that it begins.
fn hosts(names: &[Vec<u8>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let full = |short: &Vec<u8>| {
        let begins =
            |name: &&Vec<u8>| name.strip_prefix(&short[..]).is_some_and(|r| r.starts_with(b"."));
        names.iter().find(begins).unwrap_or(short).clone()
    };
    names.iter().map(|name| (name.clone(), full(name))).collect()
}

/// Literal values, the longest first, each in several forms.
#[derive(Clone)]
pub(super) struct Literals {
    search: Option<Regex>,
    value_of: HashMap<Vec<u8>, Vec<u8>>,
    fold: bool,
}

impl fmt::Debug for Literals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} literals", self.value_of.len())
    }
}

impl Literals {
    /// `None` when they are too large to be searched for.
    fn new(forms: Vec<(Vec<u8>, Vec<u8>)>, fold: bool) -> Option<Self> {
        let key = |form: &[u8]| if fold { form.to_ascii_lowercase() } else { form.to_vec() };
        let value_of: HashMap<_, _> =
            forms.into_iter().map(|(form, value)| (key(&form), key(&value))).collect();
        if value_of.is_empty() {
            return Some(Self { search: None, value_of, fold });
        }
        let mut longest_first: Vec<&Vec<u8>> = value_of.keys().collect();
        longest_first.sort_by_key(|form| (usize::MAX - form.len(), (*form).clone()));
        let mut pattern = String::new();
        for form in longest_first {
            let bar = if pattern.is_empty() { "" } else { "|" };
            let hex = form.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a String cannot fail.
                let _ = write!(hex, "\\x{byte:02x}");
                hex
            });
            let _ = write!(pattern, "{bar}{hex}");
        }
        let search = RegexBuilder::new(&pattern)
            .unicode(false)
            .case_insensitive(fold)
            .size_limit(256 << 20)
            .build()
            .ok()?;
        Some(Self { search: Some(search), value_of, fold })
    }

    fn is_in(&self, text: &[u8]) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_match(text))
    }

    /// Each occurrence in `text` with the value it is a form of.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>, &[u8])) {
        let Some(search) = &self.search else { return };
        for hit in search.find_iter(text) {
            let folded;
            let form = if self.fold {
                folded = hit.as_bytes().to_ascii_lowercase();
                folded.as_slice()
            } else {
                hit.as_bytes()
            };
            if let Some(value) = self.value_of.get(form) {
                found(hit.range(), value);
            }
        }
    }
}

/// The forms in which a secret may stand: as it is, URL-encoded, JSON-escaped, shell-quoted, hex,
/// and base64 at each of the three offsets it may have inside a longer encoded text.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![
        value.to_vec(),
        url_encoded(value, false),
        url_encoded(value, true),
        url_encoded(value, false).to_ascii_lowercase(),
        escaped(value, |b| matches!(b, b'"' | b'\\')),
        escaped(value, |b| matches!(b, b'"' | b'\\' | b'/')),
        escaped(value, |b| !b.is_ascii_alphanumeric() && !b"_-./:=@%+,".contains(&b)),
        replaced(value, b'\'', b"'\\''"),
        replaced(value, b'\'', b"'\"'\"'"),
        hex(value),
        hex(value).to_ascii_uppercase(),
    ];
    for offset in 0..3 {
        forms.push(base64(value, offset, *b"+/"));
        forms.push(base64(value, offset, *b"-_"));
    }
    forms.retain(|form| form.len() >= SECRET_BYTES);
    forms
}

fn hex(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

fn url_encoded(value: &[u8], space_as_plus: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in value {
        match byte {
            b' ' if space_as_plus => out.push(b'+'),
            _ if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(byte),
            _ => out.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    out
}

fn escaped(value: &[u8], special: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in value {
        if special(byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

fn replaced(value: &[u8], from: u8, to: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|b| if *b == from { to.to_vec() } else { vec![*b] }).collect()
}

/// Base64 of `value` as it stands inside a text in which `offset` (0 to 2) bytes come before it in
/// its group of three; characters that depend on the neighbours are left out.
fn base64(value: &[u8], offset: usize, last_two: [u8; 2]) -> Vec<u8> {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let bit = |i: usize| {
        let byte = (i / 8).checked_sub(offset).and_then(|at| value.get(at));
        byte.map(|byte| byte >> (7 - i % 8) & 1)
    };
    let mut out = Vec::new();
    for group in 0..((offset + value.len()) * 8).div_ceil(6) {
        let bits: Option<Vec<u8>> = (0..6).map(|i| bit(group * 6 + i)).collect();
        let Some(bits) = bits else { continue };
        let index = usize::from(bits.iter().fold(0, |n, bit| n << 1 | bit));
        let letter = LETTERS.get(index).or_else(|| last_two.get(index.wrapping_sub(62)));
        out.extend(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        // base64("user:swordfish") = dXNlcjpzd29yZGZpc2g=, base64("x") shifts by one byte, and so on.
        assert_eq!(text(&base64(b"swordfish", 0, *b"+/")), "c3dvcmRmaXNo");
        assert!("eHN3b3JkZmlzaA==".contains(&text(&base64(b"swordfish", 1, *b"+/"))));
        assert!("dXNlcjpzd29yZGZpc2g=".contains(&text(&base64(b"swordfish", 2, *b"+/"))));
        assert_eq!(text(&base64(b"\xff\xff\xff", 0, *b"-_")), "____");
    }

    #[test]
    fn the_environment_gives_secrets_users_homes_and_hosts() {
        let env = [
            ("HF_TOKEN", "swordfish-1"),
            ("VLLM_API_KEY", "EMPTY"),
            ("PWD", "/work/models"),
            ("SSH_AUTH_SOCK", "/tmp/agent.1"),
            ("XDG_SESSION_TYPE", "wayland"),
            ("MY_TOKEN", "short"),
            ("AUTH_MODE", "standard"),
            ("MY_PASS", "12345678"),
            ("USER", "jdoe"),
            ("LOGNAME", "root"),
            ("HOME", "/data/people/jdoe"),
            ("HOSTNAME", "gpu-17.corp.example"),
            ("LANG", "something-long"),
        ];
        let seeds = Seeds::from_env(env.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(seeds.secrets, [b"swordfish-1"]);
        assert_eq!(seeds.users, [b"jdoe"]);
        assert_eq!(seeds.homes, [b"/data/people/jdoe"]);
        assert_eq!(seeds.hosts, [b"gpu-17.corp.example".to_vec(), b"gpu-17".to_vec()]);
    }

    #[test]
    fn the_longest_form_wins_and_names_its_value() {
        let mut seeds = Seeds::default();
        seeds.secret(b"abcdef");
        seeds.secret(b"abcdef ghi");
        let known = Known::new(&seeds).unwrap();
        let mut found = Vec::new();
        known.secrets.find(b"x abcdef%20ghi abcdef", |span, value| found.push((span, text(value))));
        assert_eq!(found, [(2..14, "abcdef ghi".to_owned()), (15..21, "abcdef".to_owned())]);
    }

    #[test]
    fn words_with_a_meaning_are_no_seeds() {
        let mut seeds = Seeds::default();
        for word in ["vllm", "sglang", "default", "EMPTY", "<secret-1>", "/models/x"] {
            seeds.secret(word.as_bytes());
        }
        for name in ["root", "vllm", "ab", "1234", "user-1"] {
            seeds.user(name.as_bytes());
            seeds.host(name.as_bytes());
        }
        assert_eq!(seeds, Seeds::default());
    }
}
