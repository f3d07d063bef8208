//! Reads side files, gzipped or not.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, ensure, mistake};

/// Longer texts are refused, so that a small gzipped file can't fill the memory.
const LONGEST: u64 = 1 << 30;

/// Some editors begin a file with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where the files that a scenario names are.
#[derive(Clone, Copy, Debug)]
pub enum Files<'a> {
    /// In a folder, to which their paths are relative.
    Folder(&'a Path),
    /// Held by the program: names and bytes, gzipped or not.
    Held(&'a [(&'a str, &'a [u8])]),
}

impl Files<'_> {
    /// Whether there is such a file, gzipped or not.
    pub(crate) fn has(self, path: &Path) -> bool {
        match self {
            Self::Folder(folder) => plain_or_gzipped(&folder.join(path)).is_some(),
            Self::Held(held) => {
                let other = gzipped(path);
                held.iter()
                    .any(|(name, _)| [path, &other].contains(&Path::new(name)))
            }
        }
    }

    /// Whether there is such a folder.
    pub(crate) fn is_folder(self, path: &Path) -> bool {
        match self {
            Self::Folder(folder) => folder.join(path).is_dir(),
            Self::Held(_) => !self.names(path).is_empty(),
        }
    }

    /// The names of the files in a folder, in no order; none if it can't be read.
    pub(crate) fn names(self, path: &Path) -> Vec<String> {
        match self {
            Self::Folder(folder) => {
                // The folder of the scenario may be the current one, whose name is empty.
                let folder = Path::new(".").join(folder).join(path);
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                let files = entries.filter(|entry| entry.path().is_file());
                files
                    .filter_map(|entry| entry.file_name().into_string().ok())
                    .collect()
            }
            Self::Held(held) => {
                let inside = held
                    .iter()
                    .filter(|(name, _)| Path::new(name).parent() == Some(path));
                let names = inside.filter_map(|(name, _)| Path::new(name).file_name()?.to_str());
                names.map(str::to_owned).collect()
            }
        }
    }

    /// What a file holds, decompressed, if it can be read and isn't longer than `most` bytes.
    pub(crate) fn read_short(self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let bytes = match self {
            Self::Folder(folder) => {
                let file = File::open(plain_or_gzipped(&folder.join(path))?).ok()?;
                read_bytes(file, most).ok()?
            }
            Self::Held(_) => self.read_bytes(path, "").ok()?.1,
        };
        (bytes.len() as u64 <= most).then_some(bytes)
    }

    /// Where a file is and what it says; `x.gz` stands in for `x`. Mistakes are placed at `key`, which names it.
    pub(crate) fn read(self, path: &Path, key: &str) -> Result<(PathBuf, String), Error> {
        let (found, bytes) = self.read_bytes(path, key)?;
        let text = as_text(bytes, &found.display().to_string())?;
        Ok((found, text))
    }

    /// Where a file is and what it holds, decompressed; as [`Files::read`] of one that needn't be a text.
    pub(crate) fn read_bytes(self, path: &Path, key: &str) -> Result<(PathBuf, Vec<u8>), Error> {
        let missing = |wanted: &Path, hint: &str| {
            let wanted = wanted.display();
            mistake!(key, "file {wanted} doesn't exist"; "{hint}")
        };
        match self {
            Self::Folder(folder) => {
                let wanted = folder.join(path);
                let found = plain_or_gzipped(&wanted).ok_or_else(|| {
                    missing(&wanted, "paths are relative to the folder of the scenario")
                })?;
                let bytes = read_file(&found)?;
                Ok((found, bytes))
            }
            Self::Held(held) => {
                let named = |name: PathBuf| held.iter().find(|held| Path::new(held.0) == name);
                let found = named(path.into()).or_else(|| named(gzipped(path)));
                let missing = || missing(path, "the program holds no such file");
                let (name, bytes) = found.ok_or_else(missing)?;
                Ok((PathBuf::from(name), read_stream(*bytes, name)?))
            }
        }
    }
}

/// Reads the text of `path`, decompressing it if it is gzipped.
///
/// # Errors
/// If it can't be read, is too large, or isn't UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    as_text(read_file(path)?, &path.display().to_string())
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    let place = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&place, &error))?;
    read_stream(file, &place)
}

fn unreadable(place: &str, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "may you read it?",
        io::ErrorKind::NotFound => "is the name right?",
        _ => "is this the right file?",
    };
    mistake!(place, "can't be read: {error}"; "{hint}")
}

/// Reads what messages call `place`, decompressing it if it is gzipped.
fn read_stream(stream: impl Read, place: &str) -> Result<Vec<u8>, Error> {
    let bytes = read_bytes(stream, LONGEST).map_err(|error| unreadable(place, &error))?;
    ensure!(bytes.len() as u64 <= LONGEST, place,
        "longer than {} MiB", LONGEST >> 20; "is this the right file?");
    Ok(bytes)
}

fn as_text(mut bytes: Vec<u8>, place: &str) -> Result<String, Error> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        mistake!(format!("{place}:{line}"), "not text, expected UTF-8";
            "is this the right file? Text files may be gzipped")
    })
}

/// All bytes of a stream, decompressed; if there are more than `most`, the first ones and one more.
fn read_bytes(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut raw = Vec::new();
    stream.take(most + 1).read_to_end(&mut raw)?;
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return Ok(raw);
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(raw.as_slice())
        .take(most + 1)
        .read_to_end(&mut text)?;
    Ok(text)
}

/// `path` if it is a file, else `path.gz` if that is.
pub fn plain_or_gzipped(path: &Path) -> Option<PathBuf> {
    let mut candidates = [path.to_path_buf(), gzipped(path)].into_iter();
    candidates.find(|candidate| candidate.is_file())
}

fn gzipped(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}
