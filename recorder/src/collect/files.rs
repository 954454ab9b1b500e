//! Files that can never be asked for later: the model's configuration, configuration named in
//! arguments, the data set's digest, the client's result.
//!
//! A configuration file is kept up to 64 KiB, of weights and data sets only name, size and (data
//! sets) digest. Nothing is followed that a file's content names.

use crate::load_tool::Call;
use inferlint_schema::limits::{FILE_BYTES, PART_BYTES, RESULT_BYTES};
use inferlint_schema::record::{Bytes, File, Gap, Record, Text};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a data set that are hashed: 2 GiB take some 5 s before the load.
const HASH_BYTES: u64 = 2 << 30;
/// Files of one model folder that are listed; the largest known models have under 300 shards.
const MODEL_FILES: usize = 1_000;
/// The small files of a model that change what it does (transformers, vLLM and SGLang read them).
const MODEL_CONFIGS: &[&str] = &[
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "quantize_config.json",
    "hf_quant_config.json",
    "params.json",
];
/// Suffixes of weight files.
const WEIGHTS: &[&str] = &["safetensors", "bin", "pt", "pth", "gguf", "engine"];
/// Suffixes by which an argument's value is taken for a configuration file.
const CONFIGS: &[&str] = &["yaml", "yml", "json", "toml", "ini", "cfg", "conf", "jinja", "jinja2"];

/// What is kept of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The first 64 KiB.
    Beginning,
    /// All of it, up to 64 MiB.
    Whole,
    /// Size, times and, up to 2 GiB, the digest.
    Digest,
    /// Size and times.
    Facts,
}

/// Makes `file` records and numbers the files. Clones share the numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    next: Arc<AtomicU32>,
}

/// A file to be recorded, and why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) path: &'a Path,
    /// As in `file.what`.
    pub(crate) what: &'static str,
    pub(crate) keep: Keep,
    /// Bytes it had before the load.
    pub(crate) size_before: Option<u64>,
}

impl Shelf {
    /// Records a file. One that cannot be read is a gap.
    pub(crate) fn put(&self, t: u64, src: Option<u32>, item: Item<'_>, out: &mut Vec<Record>) {
        if let Err(error) = self.read(t, src, item, out) {
            out.push(gap(t, src, "unreadable", format!("{}: {error}", item.path.display())));
        }
    }

    fn read(
        &self,
        t: u64,
        src: Option<u32>,
        item: Item<'_>,
        out: &mut Vec<Record>,
    ) -> io::Result<()> {
        let mut file = fs::File::open(item.path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let size = meta.len();
        let (body, sha256) = match item.keep {
            Keep::Facts => (None, None),
            Keep::Digest if size > HASH_BYTES => (None, None),
            Keep::Digest => (None, Some(digest(&mut file)?)),
            Keep::Whole if size > RESULT_BYTES as u64 => {
                let why = format!(
                    "{} has {size} bytes, more than the {RESULT_BYTES} that are kept",
                    item.path.display()
                );
                out.push(gap(t, src, "too_large", why));
                (None, None)
            }
            Keep::Beginning | Keep::Whole => {
                let most = if item.keep == Keep::Whole { RESULT_BYTES } else { FILE_BYTES };
                let mut body = Vec::new();
                file.by_ref().take(most as u64).read_to_end(&mut body)?;
                let whole = (body.len() as u64 >= size).then(|| hex(&Sha256::digest(&body)));
                (Some(body), whole)
            }
        };
        let cut = body.as_ref().is_some_and(|body| (body.len() as u64) < size);
        let parts =
            body.map(split).map_or_else(|| vec![None], |p| p.into_iter().map(Some).collect());
        let last = parts.len().saturating_sub(1);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        for (part, body) in parts.into_iter().enumerate() {
            let record = File {
                t,
                src,
                id,
                name: Text::from(item.path.as_os_str().as_bytes()),
                what: item.what.to_owned(),
                media: media(item.path).map(str::to_owned),
                size,
                size_before: item.size_before,
                sha256: sha256.clone(),
                modified_ns: (meta.mtime() > 0)
                    .then(|| meta.mtime() as u64 * 1_000_000_000 + meta.mtime_nsec() as u64),
                by: "recorder".to_owned(),
                part: part as u32,
                last: part == last,
                cut: cut.then_some(true),
                body: body.map(Bytes::from),
            };
            out.push(record.into());
        }
        Ok(())
    }
}

/// A gap of one reading at `t`.
pub(crate) fn gap(t: u64, src: Option<u32>, what: &str, why: String) -> Record {
    Gap { t, src, what: what.to_owned(), from_t: t, to_t: t, count: 1, why }.into()
}

/// Parts of at most 1 MiB, cut behind a blank or a comma: a secret that is cut in two is not masked.
fn split(mut body: Vec<u8>) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while body.len() > PART_BYTES {
        let window = body.get(PART_BYTES - 4_096..PART_BYTES).unwrap_or_default();
        let soft = window.iter().rposition(|byte| b" \n\t,".contains(byte));
        let rest = body.split_off(soft.map_or(PART_BYTES, |at| PART_BYTES - 4_096 + at + 1));
        parts.push(std::mem::replace(&mut body, rest));
    }
    parts.push(body);
    parts
}

fn digest(file: &mut fs::File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 256 << 10];
    loop {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(chunk.get(..n).unwrap_or_default());
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn suffix(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

fn media(path: &Path) -> Option<&'static str> {
    match suffix(path)?.as_str() {
        "json" => Some("application/json"),
        "jsonl" => Some("application/jsonl"),
        "yaml" | "yml" => Some("application/yaml"),
        "toml" => Some("application/toml"),
        "csv" => Some("text/csv"),
        "sh" | "py" | "txt" | "log" | "jinja" | "jinja2" => Some("text/plain"),
        _ => None,
    }
}

/// Configuration files that a command's arguments name, by their suffix, and script files it runs.
/// Relative paths begin at `cwd`.
pub(crate) fn named_in(argv: &[Vec<u8>], cwd: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for word in argv {
        let word = std::str::from_utf8(word).unwrap_or_default();
        for part in [Some(word), word.split_once('=').map(|(_, value)| value)].into_iter().flatten()
        {
            let path = cwd.join(part);
            let fits = suffix(&path)
                .is_some_and(|suffix| CONFIGS.contains(&suffix.as_str()) || suffix == "sh");
            if fits && path.is_file() {
                found.insert(path);
            }
        }
    }
    found.into_iter().collect()
}

/// The data set a load tool reads, if its arguments name a file.
pub(crate) fn dataset(run: &Call, cwd: &Path) -> Option<PathBuf> {
    let params = run.params();
    let named = params.get("dataset_path").or_else(|| params.get("dataset"))?;
    let path = cwd.join(named.lossy().as_ref());
    path.is_file().then_some(path)
}

/// The folder with the model a serve command names: a local folder, or the snapshot in the Hugging
/// Face cache (`models--ORG--NAME/snapshots/REVISION`, huggingface_hub 0.x and 1.x) that its
/// revision names.
pub(crate) fn model_folder(argv: &[Vec<u8>], cwd: &Path, cache: Option<&Path>) -> Option<PathBuf> {
    let words: Vec<&str> =
        argv.iter().map(|word| std::str::from_utf8(word).unwrap_or_default()).collect();
    let option = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*word, words.get(at + 1).copied()),
            };
            names.contains(&name.replace('_', "-").as_str()).then_some(value).flatten()
        })
    };
    let positional = || {
        let at =
            words.iter().position(|word| *word == "serve" || word.ends_with("/trtllm-serve"))?;
        words
            .get(at + 1..)?
            .iter()
            .find(|word| !word.starts_with('-') && **word != "serve")
            .copied()
    };
    let model = option(&["--model", "--model-path"]).or_else(positional)?;
    let local = cwd.join(model);
    if local.is_dir() {
        return Some(local);
    }
    let repository = cache?.join(format!("models--{}", model.replace('/', "--")));
    let wanted = option(&["--revision"]).unwrap_or("main");
    let commit = fs::read_to_string(repository.join("refs").join(wanted)).ok();
    let commit = commit.as_deref().map_or(wanted, str::trim);
    let snapshot = repository.join("snapshots").join(commit);
    snapshot.is_dir().then_some(snapshot)
}

/// Where Hugging Face keeps models, as its own library finds out.
pub(crate) fn model_cache(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let hub = |home: PathBuf| home.join("hub");
    var("HF_HUB_CACHE")
        .or_else(|| var("HUGGINGFACE_HUB_CACHE"))
        .map(PathBuf::from)
        .or_else(|| var("HF_HOME").map(|home| hub(home.into())))
        .or_else(|| {
            let home = PathBuf::from(var("HOME")?);
            Some(hub(home.join(".cache/huggingface")))
        })
}

/// Records a model's small files, and its weights by name and size.
pub(crate) fn model(shelf: &Shelf, t: u64, src: Option<u32>, folder: &Path, out: &mut Vec<Record>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let why = format!("{}: {error}", folder.display());
            return out.push(gap(t, src, "unreadable", why));
        }
    };
    let paths: BTreeSet<PathBuf> =
        entries.flatten().map(|entry| entry.path()).take(MODEL_FILES).collect();
    for path in &paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let keep = if MODEL_CONFIGS.contains(&name) {
            Keep::Beginning
        } else if suffix(path).is_some_and(|suffix| WEIGHTS.contains(&suffix.as_str())) {
            Keep::Facts
        } else {
            continue;
        };
        shelf.put(t, src, Item { path, what: "model", keep, size_before: None }, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<u8>> {
        line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    fn put(path: &Path, keep: Keep) -> Vec<Record> {
        let mut out = Vec::new();
        let item = Item { path, what: "config", keep, size_before: None };
        Shelf::default().put(7, None, item, &mut out);
        out
    }

    #[test]
    fn a_long_file_comes_in_parts_that_end_at_a_blank() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench.json");
        let text = "hf_secretsecretsecretsecret, ".repeat(100_000);
        fs::write(&path, &text).unwrap();
        let records = put(&path, Keep::Whole);
        let mut whole = Vec::new();
        for (n, record) in records.iter().enumerate() {
            let Record::File(file) = record else { panic!("{record:?}") };
            let body = file.body.as_ref().unwrap();
            assert!(body.len() <= PART_BYTES && body.ends_with(b" "));
            assert_eq!((file.part as usize, file.last), (n, n + 1 == records.len()));
            assert_eq!((file.size, file.cut), (text.len() as u64, None));
            assert_eq!(file.media.as_deref(), Some("application/json"));
            whole.extend_from_slice(body);
        }
        assert!(records.len() == 3 && whole == text.as_bytes());
    }

    #[test]
    fn only_the_beginning_or_the_digest_is_kept_where_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        fs::write(&path, vec![b'a'; FILE_BYTES + 1]).unwrap();
        let Record::File(file) = put(&path, Keep::Beginning).remove(0) else { panic!() };
        assert_eq!(
            (file.body.unwrap().len(), file.cut, file.sha256),
            (FILE_BYTES, Some(true), None)
        );
        fs::write(&path, "abc").unwrap();
        let Record::File(file) = put(&path, Keep::Digest).remove(0) else { panic!() };
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((file.body, file.sha256.as_deref()), (None, Some(sha)));
        let Record::Gap(gap) = put(folder.path(), Keep::Whole).remove(0) else { panic!() };
        assert_eq!(gap.what, "unreadable");
    }

    #[test]
    fn configuration_named_in_arguments_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.json", "c.txt", "run.sh"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let argv = words("bash run.sh --config a.yaml --hf-overrides=b.json c.txt d.yaml");
        let found = named_in(&argv, folder.path());
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["a.yaml", "b.json", "run.sh"]);
    }

    #[test]
    fn the_model_is_found_locally_and_in_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("tiny")).unwrap();
        let cached = root.join("hub/models--Qwen--Qwen3-8B");
        fs::create_dir_all(cached.join("snapshots/abc")).unwrap();
        fs::create_dir_all(cached.join("snapshots/def")).unwrap();
        fs::create_dir_all(cached.join("refs")).unwrap();
        fs::write(cached.join("refs/main"), "abc\n").unwrap();
        let cache = root.join("hub");
        for (line, found) in [
            ("python vllm serve tiny --port 1", Some("tiny")),
            ("vllm serve --port 1 --model=tiny", Some("tiny")),
            ("python -m sglang.launch_server --model-path tiny", Some("tiny")),
            ("/x/bin/trtllm-serve tiny", Some("tiny")),
            ("/x/bin/trtllm-serve serve tiny", Some("tiny")),
            ("vllm serve Qwen/Qwen3-8B", Some("hub/models--Qwen--Qwen3-8B/snapshots/abc")),
            (
                "vllm serve Qwen/Qwen3-8B --revision def",
                Some("hub/models--Qwen--Qwen3-8B/snapshots/def"),
            ),
            ("vllm serve no/such", None),
            ("vllm serve", None),
        ] {
            let expected = found.map(|name| root.join(name));
            assert_eq!(model_folder(&words(line), root, Some(&cache)), expected, "{line}");
        }
    }

    #[test]
    fn a_model_is_its_configuration_and_the_size_of_its_weights() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["config.json", "model-1.safetensors", "README.md"] {
            fs::write(folder.path().join(name), "12345").unwrap();
        }
        let mut out = Vec::new();
        model(&Shelf::default(), 0, None, folder.path(), &mut out);
        let found: Vec<_> = out
            .iter()
            .map(|record| match record {
                Record::File(file) => (file.id, file.size, file.body.is_some()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(found, [(0, 5, true), (1, 5, false)]);
    }

    #[test]
    fn the_cache_is_where_its_variables_say() {
        let vars = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).into())
        };
        for (set, path) in [
            (&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/h"), ("HOME", "/u")][..], "/c"),
            (&[("HF_HOME", "/h"), ("HOME", "/u")], "/h/hub"),
            (&[("HOME", "/u")], "/u/.cache/huggingface/hub"),
        ] {
            assert_eq!(model_cache(vars(set)), Some(PathBuf::from(path)));
        }
        assert_eq!(model_cache(vars(&[])), None);
    }
}
