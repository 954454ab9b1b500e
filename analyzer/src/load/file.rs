//! The bytes of a bundle, also when it was packed into a `.gz` or `.zip`.

use super::io;
use crate::error::InputError;
use flate2::read::MultiGzDecoder;
use inferlint_schema::container::{self, Item, Salvage};
use inferlint_schema::error::ReadError;
use inferlint_schema::limits::Limits;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// What to do about a file that is no bundle.
const HELP: &str = "name a bundle (.ilb, also inside .gz or .zip) or a run folder; \
                    loose files go by flag, e.g. --boot-log server.log";

/// A bundle that was opened and found to be one.
pub struct Bundle {
    path: PathBuf,
    input: Box<dyn Read>,
}

/// Opens a bundle: plain, gzipped, or the one in a zip archive.
///
/// # Errors
/// When the file cannot be read or holds no bundle that this version reads.
pub fn open_bundle(path: &Path) -> Result<Bundle, InputError> {
    if path.is_dir() {
        let help =
            "name a bundle; check, report and inspect take folders, import makes a bundle of one";
        return Err(InputError::unusable(path, "a folder, not a bundle", help));
    }
    let open = || File::open(path).map_err(|error| io(path, error));
    let mut magic = Vec::new();
    open()?.take(4).read_to_end(&mut magic).map_err(|error| io(path, error))?;
    let input: Box<dyn Read> = match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::new(open()?))),
        b"PK\x03\x04" => Box::new(zipped(path, open()?)?),
        [] => return Err(InputError::unusable(path, "an empty file", HELP)),
        _ => Box::new(BufReader::new(open()?)),
    };
    Ok(Bundle { path: path.to_owned(), input })
}

/// The one bundle of a zip archive.
fn zipped(path: &Path, file: File) -> Result<Cursor<Vec<u8>>, InputError> {
    let no_zip = |error: &dyn std::fmt::Display| {
        InputError::unusable(path, format!("a zip archive that cannot be read: {error}"), HELP)
    };
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|e| no_zip(&e))?;
    let names: Vec<String> =
        archive.file_names().filter_map(Result::ok).map(std::borrow::Cow::into_owned).collect();
    let is_bundle = |name: &&String| {
        Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case(container::EXTENSION))
    };
    let found: Vec<&String> = names.iter().filter(is_bundle).collect();
    let [name] = found.as_slice() else {
        let what = format!("a zip archive with {} bundles in it", found.len());
        return Err(InputError::unusable(path, what, "unpack it and name one of them"));
    };
    let entry = archive.by_name(name).map_err(|e| no_zip(&e))?;
    let mut unpacked = Vec::new();
    let allowed = Limits::default().file_bytes;
    entry.take(allowed).read_to_end(&mut unpacked).map_err(|e| no_zip(&e))?;
    Ok(Cursor::new(unpacked))
}

impl Bundle {
    /// Reads the bundle from its first byte to its last.
    ///
    /// # Errors
    /// When it is no bundle, of a newer major version, or over a limit as a whole.
    pub fn read(self, visit: &mut dyn FnMut(Item<'_>)) -> Result<Salvage, InputError> {
        let path = self.path;
        container::read(self.input, &Limits::default(), visit).map_err(|error| match error {
            ReadError::Io(error) => io(&path, error),
            ReadError::NewerFormat { .. } => {
                InputError::unusable(path, error.to_string(), "update inferlint-analyze")
            }
            ReadError::Limit { .. } => InputError::unusable(
                path,
                error.to_string(),
                "a bundle of this size is not read; record with a longer --interval or --max-size",
            ),
            other => InputError::unusable(path, other.to_string(), HELP),
        })
    }
}
