//! Where a command writes its file: never over what it reads, and whole or not at all.

use crate::error::InputError;
use inferlint_schema::error::WriteError;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A file under its final name only once it is whole. Dropped before that, it leaves nothing.
pub(super) struct Destination {
    path: PathBuf,
    part: PathBuf,
}

impl Destination {
    /// A place for a new file, or with `force` for one in the place of another.
    ///
    /// # Errors
    /// When `path` is a folder, is one of the files that are `read`, or exists without `force`.
    pub(super) fn new(path: &Path, force: bool, read: &[PathBuf]) -> Result<Self, InputError> {
        if path.is_dir() {
            return Err(InputError::unusable(path, "is a folder", "name a file in it"));
        }
        let real = fs::canonicalize(path).ok();
        if real.is_some() && read.iter().any(|input| fs::canonicalize(input).ok() == real) {
            return Err(InputError::unusable(path, "is the input itself", "name another file"));
        }
        // A link that leads nowhere is there too.
        if !force && path.symlink_metadata().is_ok() {
            let help = "name another file, or replace it with --force";
            return Err(InputError::unusable(path, "exists already", help));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        Ok(Self { path: path.to_owned(), part: part.into() })
    }

    /// The file to write to, beside its final name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn create(&self) -> Result<File, InputError> {
        let made = OpenOptions::new().write(true).create_new(true).open(&self.part);
        made.map_err(|error| self.failed(error))
    }

    /// Gives the file its name, in the place of what had it.
    ///
    /// # Errors
    /// When it cannot be named.
    pub(super) fn finish(self) -> Result<(), InputError> {
        fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))
    }

    /// The error of a bundle's writer, under the name that the user knows.
    pub(super) fn not_written(&self, error: &WriteError) -> InputError {
        InputError::unusable(&self.path, error.to_string(), "look at the disk")
    }

    /// The error of a write, under the name that the user knows.
    pub(super) fn failed(&self, error: io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), error }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(path: &Path, force: bool, read: &[PathBuf]) -> Result<(), String> {
        let write = || {
            let place = Destination::new(path, force, read)?;
            place.create()?.write_all(b"new").map_err(|error| place.failed(error))?;
            place.finish()
        };
        write().map_err(|error: InputError| error.to_string())
    }

    #[test]
    fn what_exists_is_replaced_only_when_asked_and_never_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (page, other) = (folder.path().join("a.html"), folder.path().join("other"));
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, &page).unwrap();
        let error = write(&page, false, &[]).unwrap_err();
        assert!(error.contains("exists already") && error.contains("help:"), "{error}");
        write(&page, true, &[]).unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "new");
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_read_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (input, link) = (folder.path().join("run.ilb"), folder.path().join("link"));
        fs::write(&input, "evidence").unwrap();
        std::os::unix::fs::symlink(&input, &link).unwrap();
        for name in [&input, &link] {
            let error = write(name, true, std::slice::from_ref(&input)).unwrap_err();
            assert!(error.contains("is the input itself"), "{error}");
        }
        assert_eq!(fs::read_to_string(&input).unwrap(), "evidence");
        let error = write(folder.path(), true, &[]).unwrap_err();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    fn a_file_that_was_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old.ilb");
        fs::write(&old, "old").unwrap();
        let place = Destination::new(&old, true, &[]).unwrap();
        place.create().unwrap().write_all(b"half").unwrap();
        drop(place);
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
