//! The bundle as a file: created without following anything, kept whole frame by whole frame,
//! named only when it is closed.

use super::Output;
use crate::error::Error;
use rustix::fs::{
    AtFlags, FallocateFlags, FlockOperation, Mode, OFlags, RenameFlags, fallocate, flock, fstat,
    ftruncate, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Space kept for the end of the recording, so that a full disk cannot take its account away.
const RESERVE: u64 = 64 << 20;
/// On a small disk the reserve is this share of what is free.
const RESERVE_SHARE: u64 = 16;
/// An index of an hour of frames takes about 200 kB.
const RESERVE_LEAST: u64 = 512 << 10;
/// Free space below which a person should be told.
const LITTLE: u64 = 200 << 20;

/// The name of the bundle `path` while it is being written.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Where a bundle will stand: checked, but nothing is made yet.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    part_name: OsString,
    part: PathBuf,
    force: bool,
}

impl Place {
    /// Checks that a bundle can be made at `path`; with `force` it may replace another.
    ///
    /// # Errors
    /// When there is such a file, the folder is missing, cannot be written, or anybody could
    /// replace files in it.
    pub(crate) fn check(path: &Path, force: bool) -> Result<Self, Error> {
        let shown = path.display();
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(Error::wrong_call(
                format!("{shown} is no name for a file"),
                "name the bundle, for example -o run.ilb",
            ));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(parent, flags, Mode::empty()).map_err(|error| {
            let what = format!("open the folder {}: {}", parent.display(), words(error));
            Error::could_not(what, "make it, or name another place with -o")
        })?;
        let mode = fstat(&folder).map_or(0, |stat| stat.st_mode);
        if mode & 0o1002 == 0o0002 {
            return Err(Error::could_not(
                format!(
                    "{} can be written by anybody, who could swap the bundle",
                    parent.display()
                ),
                "use a folder of your own, or set its sticky bit (chmod +t)",
            ));
        }
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(&folder, ".", access, AtFlags::EACCESS).map_err(|error| {
            let what = format!("write in {}: {}", parent.display(), words(error));
            Error::could_not(what, "name a folder you may write in with -o")
        })?;
        let (name, part) = (name.to_owned(), part_of(path));
        let part_name = part.file_name().unwrap_or_default().to_owned();
        let place = Self { path: path.to_owned(), folder, name, part_name, part, force };
        for (name, what) in [
            (&place.name, format!("{shown} exists")),
            (
                &place.part_name,
                format!("{}, a recording that was not closed, exists", place.part.display()),
            ),
        ] {
            let exists = statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if exists && !force {
                let help = "name another file with -o, or replace it with --force";
                return Err(Error::wrong_call(what, help));
            }
        }
        Ok(place)
    }

    /// The file's name while it is being written.
    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// A word of warning when there is little space.
    pub(crate) fn warning(&self) -> Option<String> {
        let free = self.free();
        (free < LITTLE).then(|| {
            format!(
                "only {} MB are free where {} is written",
                free / 1_000_000,
                self.part.display()
            )
        })
    }

    fn free(&self) -> u64 {
        let stat = rustix::fs::fstatvfs(&self.folder).ok().filter(|stat| stat.f_blocks > 0);
        stat.map_or(u64::MAX, |stat| stat.f_bavail * stat.f_frsize)
    }

    /// Creates the `.part` file.
    pub(super) fn create(&self) -> Result<BundleFile, Error> {
        let failed = |error: Errno| {
            let what = format!("create {}: {}", self.part.display(), words(error));
            Error::could_not(what, "name another place with -o")
        };
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match openat(&self.folder, &self.part_name, flags, mode) {
            Err(Errno::EXIST) if self.force => {
                self.refuse_if_in_use()?;
                let mut fresh = self.part_name.clone();
                fresh.push(format!("~{}", std::process::id()));
                let file = openat(&self.folder, &fresh, flags, mode).map_err(failed)?;
                renameat(&self.folder, &fresh, &self.folder, &self.part_name).map_err(failed)?;
                file
            }
            other => other.map_err(failed)?,
        };
        // The lock says that this recording is alive; not every file system has locks.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let reserve = (self.free() / RESERVE_SHARE).clamp(RESERVE_LEAST, RESERVE);
        BundleFile::new(File::from(file), reserve).map_err(failed)
    }

    fn refuse_if_in_use(&self) -> Result<(), Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(old) = openat(&self.folder, &self.part_name, flags, Mode::empty()) else {
            return Ok(());
        };
        match flock(&old, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(Error::wrong_call(
                format!("{} is being written by another recorder", self.part.display()),
                "end that recording first, or name another file with -o",
            )),
            _ => Ok(()),
        }
    }

    /// Gives a closed bundle its name.
    pub(super) fn publish(self, file: &BundleFile) -> Result<PathBuf, Error> {
        let kept = |doing: &str, error: &dyn std::fmt::Display| {
            Error::could_not(
                format!("{doing} {}: {error}", self.path.display()),
                format!("the bundle is whole and stays at {}", self.part.display()),
            )
        };
        if fstat(&*file.file).is_ok_and(|stat| stat.st_nlink == 0) {
            return Err(Error::could_not(
                format!("{} was removed while it was being written", self.part.display()),
                "record again, into a folder that stays",
            ));
        }
        file.file.sync_all().map_err(|error| kept("write", &error))?;
        let named = if self.force {
            renameat(&self.folder, &self.part_name, &self.folder, &self.name)
        } else {
            self.rename_to_free_name()
        };
        named.map_err(|error| kept("name it", &words(error)))?;
        // The name is there; whether it survives a power loss in the next seconds is the disk's.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(self.path)
    }

    fn rename_to_free_name(&self) -> Result<(), Errno> {
        let (folder, from, to) = (&self.folder, &self.part_name, &self.name);
        match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // NFS and others cannot rename so; a link cannot replace either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(folder, from, folder, to, AtFlags::empty())?;
                unlinkat(folder, from, AtFlags::empty())
            }
            other => other,
        }
    }
}

fn words(error: Errno) -> String {
    match error {
        Errno::NOENT => "there is no such folder".to_owned(),
        Errno::NOTDIR => "it is not a folder".to_owned(),
        Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
        Errno::ROFS => "the file system is read-only".to_owned(),
        Errno::NOSPC => "no space is left".to_owned(),
        Errno::DQUOT => "the disk quota is used up".to_owned(),
        Errno::EXIST => "a file of that name was made meanwhile".to_owned(),
        other => io::Error::from(other).to_string().to_lowercase(),
    }
}

/// The open file. A frame that cannot be written whole is taken back.
#[derive(Debug)]
pub(super) struct BundleFile {
    file: Arc<File>,
    len: u64,
    reserve: u64,
    /// End of the space that is allocated; `None` where the file system cannot allocate ahead.
    allocated: Option<u64>,
    full: bool,
    syncing: Arc<AtomicBool>,
}

impl BundleFile {
    fn new(file: File, reserve: u64) -> Result<Self, Errno> {
        let allocated = match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, reserve) {
            Ok(()) => Some(reserve),
            Err(Errno::NOSPC | Errno::DQUOT) => return Err(Errno::NOSPC),
            Err(_) => None,
        };
        let (file, syncing) = (Arc::new(file), Arc::default());
        Ok(Self { file, len: 0, reserve, allocated, full: false, syncing })
    }

    /// Bytes written.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Keeps at least half the reserve ahead of the end; says so when the disk has no more.
    fn allocate_ahead(&mut self) {
        let Some(allocated) = self.allocated else { return };
        if self.full || allocated - self.len.min(allocated) > self.reserve / 2 {
            return;
        }
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, allocated, self.reserve / 2) {
            Ok(()) => self.allocated = Some(allocated + self.reserve / 2),
            Err(_) => self.full = true,
        }
    }
}

impl Write for BundleFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_all(buf)?;
        Ok(buf.len())
    }

    fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
        if let Err(error) = (&*self.file).write_all(buf) {
            // Part of a frame is no use: the file ends with the last whole one.
            let _ = ftruncate(&*self.file, self.len);
            return Err(error);
        }
        self.len += buf.len() as u64;
        self.allocate_ahead();
        Ok(())
    }

    /// Gives back what was allocated and not used.
    fn flush(&mut self) -> io::Result<()> {
        Ok(ftruncate(&*self.file, self.len)?)
    }
}

impl Output for BundleFile {
    fn is_full(&self) -> bool {
        self.full
    }

    fn sync(&self) {
        if self.syncing.swap(true, Ordering::AcqRel) {
            return;
        }
        // On a thread of its own: a slow disk must not hold up the next frame.
        let (file, syncing) = (Arc::clone(&self.file), Arc::clone(&self.syncing));
        let sync = move || {
            let _ = file.sync_data();
            syncing.store(false, Ordering::Release);
        };
        let thread = std::thread::Builder::new().name("sync".to_owned()).stack_size(64 << 10);
        if thread.spawn(sync).is_err() {
            self.syncing.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::exit;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn write(place: &Place, bytes: &[u8]) -> BundleFile {
        let mut file = place.create().unwrap();
        file.write_all(bytes).unwrap();
        file.flush().unwrap();
        file
    }

    #[test]
    fn a_bundle_is_private_named_only_when_closed_and_takes_no_more_room_than_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ilb");
        let place = Place::check(&path, false).unwrap();
        let file = write(&place, b"frame");
        let part = folder.path().join("run.ilb.part");
        assert_eq!(fs::metadata(&part).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!path.exists());
        assert_eq!(place.publish(&file).unwrap(), path);
        assert!(!part.exists());
        assert_eq!(fs::read(&path).unwrap(), b"frame");
        assert!(fs::metadata(&path).unwrap().blocks() * 512 <= 64 << 10, "the reserve is back");
    }

    #[test]
    fn nothing_is_overwritten_unless_asked_and_then_by_renaming() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ilb");
        fs::write(&path, b"old").unwrap();
        let refused = Place::check(&path, false).unwrap_err();
        assert_eq!(refused.status, exit::WRONG_CALL);
        assert!(refused.what.ends_with("run.ilb exists"), "{refused}");
        let place = Place::check(&path, true).unwrap();
        let file = write(&place, b"new");
        assert_eq!(fs::read(&path).unwrap(), b"old", "until the new one is closed");
        place.publish(&file).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_recording_in_progress_is_not_taken_over_even_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ilb");
        let first = Place::check(&path, false).unwrap();
        let alive = write(&first, b"alive");
        assert!(Place::check(&path, false).unwrap_err().what.contains("not closed"));
        let second = Place::check(&path, true).unwrap();
        assert!(second.create().unwrap_err().what.contains("another recorder"));
        drop(alive);
        write(&second, b"newer");
        assert_eq!(fs::read(folder.path().join("run.ilb.part")).unwrap(), b"newer");
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ilb");
        let place = Place::check(&path, false).unwrap();
        let file = write(&place, b"ours");
        fs::write(&path, b"theirs").unwrap();
        let error = place.publish(&file).unwrap_err();
        assert_eq!(error.status, exit::COULD_NOT);
        assert!(error.help.contains("run.ilb.part"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(fs::read(folder.path().join("run.ilb.part")).unwrap(), b"ours");
    }

    #[test]
    fn a_bundle_that_was_removed_meanwhile_is_said_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::check(&folder.path().join("run.ilb"), false).unwrap();
        let file = write(&place, b"ours");
        fs::remove_file(place.part()).unwrap();
        assert!(place.publish(&file).unwrap_err().what.contains("was removed"));
    }

    #[test]
    fn links_and_folders_anybody_may_write_in_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        symlink(&target, folder.path().join("run.ilb.part")).unwrap();
        assert!(Place::check(&folder.path().join("run.ilb"), false).is_err());
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        for (mode, accepted) in [(0o777, false), (0o1777, true), (0o770, true)] {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Place::check(&open.join("run.ilb"), false).is_ok(), accepted, "{mode:o}");
        }
        for path in [open.as_path(), Path::new("/"), &folder.path().join("none/run.ilb")] {
            assert!(Place::check(path, false).is_err(), "{}", path.display());
        }
        assert!(!target.exists());
    }
}
