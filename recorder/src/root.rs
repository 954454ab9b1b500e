//! A root of the file system, and what is read of it: `/proc`, `/sys`, `/etc` of this machine, the
//! root of a server's container, or a tree that a test laid out.

use crate::procfs::read_all;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2, readlinkat};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Most bytes read of one file. The kernel makes `/proc/cpuinfo` as it is read: less read, less made.
const READ_BYTES: u64 = 16 << 10;

/// Where `/` is.
#[derive(Debug, Clone)]
pub(crate) struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self::at("/")
    }
}

impl Root {
    /// The root at this folder.
    pub(crate) fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Where `/NAME` lies.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name.trim_start_matches('/'))
    }

    /// An error where the root is not there or not ours to look into.
    pub(crate) fn check(&self) -> Result<(), String> {
        let there = fs::metadata(self.0.join("."));
        there.map(drop).map_err(|error| format!("{}: {error}", self.0.display()))
    }

    /// The first 16 KiB of a file.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        // Nothing that may lie there makes us wait.
        let file = self.open(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY);
        let read = file.and_then(|file| read_all(file.into(), READ_BYTES));
        read.map_err(|error| format!("{name}: {error}"))
    }

    /// The same as text, without blanks around it.
    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        Ok(String::from_utf8_lossy(&self.bytes(name)?).trim().to_owned())
    }

    /// The number that a file holds.
    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("{name}: {text:?} is no number"))
    }

    /// What follows `start` on the first line that begins with it.
    pub(crate) fn field(&self, name: &str, start: &str) -> Result<String, String> {
        let text = self.text(name)?;
        let found = text.lines().find_map(|line| line.strip_prefix(start));
        found.map(|rest| rest.trim().to_owned()).ok_or_else(|| format!("{name}: no {start}"))
    }

    /// Names in a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(self.path(folder)).map_err(|e| format!("{folder}: {e}"))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// What a link says.
    pub(crate) fn link(&self, name: &str) -> Result<PathBuf, String> {
        let link = self.open(name, OFlags::PATH | OFlags::NOFOLLOW);
        let target = link.and_then(|link| Ok(readlinkat(link, "", Vec::new())?));
        let target = target.map_err(|error| format!("{name}: {error}"))?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// False when nothing has that name. True also when that cannot be told: whoever reads it hears.
    pub(crate) fn has(&self, name: &str) -> bool {
        let found = self.open(name, OFlags::PATH | OFlags::NOFOLLOW).map_err(|error| error.kind());
        !matches!(found, Err(ErrorKind::NotFound | ErrorKind::NotADirectory))
    }

    /// Below another root than ours a link is followed as it is meant there, never out of it.
    fn open(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if self.0 == Path::new("/") {
            return Ok(open(name, flags, Mode::empty())?);
        }
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(&self.0, folder, Mode::empty())?;
        Ok(openat2(root, name, flags, Mode::empty(), ResolveFlags::IN_ROOT)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_of_another_root_stays_inside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        fs::create_dir_all(root.path("/etc")).unwrap();
        fs::write(root.path("/passwd"), " theirs\n").unwrap();
        for target in ["/passwd", "../passwd", "../../../passwd"] {
            let _ = fs::remove_file(root.path("/etc/link"));
            symlink(target, root.path("/etc/link")).unwrap();
            assert_eq!(root.text("/etc/link").unwrap(), "theirs", "{target}");
        }
        assert_eq!(root.link("/etc/link").unwrap(), Path::new("../../../passwd"));
        assert!(root.has("/etc/link") && !root.has("/etc/passwd"));
        symlink("/etc", root.path("/other")).unwrap();
        assert_eq!(root.link("/other/link").unwrap(), Path::new("../../../passwd"));
        assert!(root.has("/other/link") && !root.has("/other/hostname"));
    }

    #[test]
    fn what_cannot_be_read_is_named_as_it_is_called_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        fs::write(root.path("/word"), "three\n").unwrap();
        fs::write(root.path("/nan"), "NaN").unwrap();
        assert_eq!(root.number("/word").unwrap_err(), "/word: \"three\" is no number");
        assert_eq!(root.number("/nan").unwrap_err(), "/nan: \"NaN\" is no number");
        assert_eq!(root.field("/word", "four").unwrap_err(), "/word: no four");
        for error in [root.text("/gone").unwrap_err(), root.link("/gone").unwrap_err()] {
            assert!(error.starts_with("/gone: No such file"), "{error}");
        }
        assert!(root.check().is_ok());
        let gone = Root::at(root.path("/gone")).check().unwrap_err();
        assert!(gone.contains("/gone: No such file"), "{gone}");
        assert!(root.names("/word").unwrap_err().starts_with("/word: Not a directory"));
        assert_eq!(root.names("/").unwrap(), ["nan", "word"]);
    }

    #[test]
    fn a_long_file_is_read_at_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        fs::write(root.path("/long"), "x".repeat(100_000)).unwrap();
        assert_eq!(root.bytes("/long").unwrap().len(), 16 << 10);
    }
}
