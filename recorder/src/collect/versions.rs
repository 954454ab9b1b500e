//! Versions that can never be asked for later: Python packages by the names of their `*.dist-info`
//! folders, CUDA and communication libraries by the names of the mapped files, the image where the
//! root file system tells it, and the time zone that stamps in the log are written in.
//!
//! No Python is run and no package is opened.

use crate::procfs::Procfs;
use crate::root::Root;
use crate::zone;
use inferlint_schema::record::Versions;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Folders of packages looked at for one process.
const FOLDERS: usize = 16;
/// Packages recorded: a vLLM environment has about 200.
const PACKAGES: usize = 4_000;
/// Libraries whose version changes what a benchmark measures, by what their file names begin with.
const LIBRARIES: &[&str] = &[
    "libcuda.so",
    "libcudart",
    "libcudnn",
    "libcublas",
    "libcufile",
    "libcusparse",
    "libnccl",
    "libnvrtc",
    "libnvidia-ml",
    "libnvshmem",
    "libibverbs",
    "libmlx5",
    "libucp",
    "libucx",
    "librccl",
    "libamdhip64",
    "librocblas",
    "libhipblas",
    "libmpi",
    "libtorch_cuda",
    "libtorch_cpu",
    "libgomp",
    "libiomp5",
    "libtcmalloc",
    "libjemalloc",
    "libc.so",
    "libc-",
];

/// Versions of what process `pid`, a `server` or `client`, runs on, at `t`.
pub(crate) fn of_process(procs: &Procfs, pid: u32, of: &str, src: Option<u32>, t: u64) -> Versions {
    let mut why = BTreeMap::new();
    let maps =
        procs.read(format!("{pid}/maps")).map(|maps| String::from_utf8_lossy(&maps).into_owned());
    let mapped: BTreeSet<PathBuf> = match &maps {
        Ok(maps) => maps.lines().filter_map(mapped_file).collect(),
        Err(error) => {
            why.insert("libraries".to_owned(), error.to_string());
            BTreeSet::new()
        }
    };
    let packages = packages(&folders(procs, pid, &mapped));
    if packages.is_empty() {
        let none = "no Python environment was found around the process";
        why.insert("packages".to_owned(), none.to_owned());
    }
    let libraries: BTreeMap<String, String> =
        mapped.iter().filter_map(|path| library(path)).collect();
    let root = root_of(procs, pid);
    let image = image(&root).map_err(|error| why.insert("image".to_owned(), error)).ok();
    // It has ours; what a command sets for it besides is not read.
    let tz = std::env::var_os("TZ");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let zone = root.check().and_then(|()| zone::of(&root, tz.as_deref(), now.as_secs()));
    let zone = zone.map_err(|error| why.insert("tz".to_owned(), error)).ok();
    Versions {
        t,
        src,
        of: of.to_owned(),
        packages: (!packages.is_empty()).then_some(packages),
        libraries: (!libraries.is_empty()).then_some(libraries),
        image,
        tz_offset_s: zone.as_ref().map(|zone| zone.offset_s),
        tz: zone.map(|zone| zone.name),
        why: (!why.is_empty()).then_some(why),
    }
}

/// The root that a process sees. Where that is ours no link can lead out of it, and none is followed
/// by openat2, which kernels before 5.6 do not have.
fn root_of(procs: &Procfs, pid: u32) -> Root {
    let seen_by = |pid: u32| {
        let root = fs::metadata(procs.path(format!("{pid}/root/."))).ok()?;
        Some((procs.link(pid, "ns/mnt").ok()?, root.dev(), root.ino()))
    };
    let (theirs, ours) = (seen_by(pid), seen_by(std::process::id()));
    let same = theirs.is_some() && theirs == ours;
    if same { Root::default() } else { Root::at(procs.path(format!("{pid}/root"))) }
}

/// The image that a root file system was made from. Only podman notes it inside, and only for a
/// privileged container (podman-run(1)); the container's id, which is in its cgroup, is no image.
fn image(root: &Root) -> Result<String, String> {
    root.check()?;
    let noted = |name: &str| {
        let value = root.field("/run/.containerenv", &format!("{name}=")).ok()?;
        Some(value.trim_matches('"').to_owned()).filter(|value| !value.is_empty())
    };
    match (noted("image"), noted("imageid")) {
        (Some(image), Some(id)) => Ok(format!("{image} ({id})")),
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (None, None) => {
            Err("no image is noted in /run/.containerenv, and no daemon is asked".into())
        }
    }
}

/// The file of a line of `/proc/PID/maps`.
fn mapped_file(line: &str) -> Option<PathBuf> {
    let at = line.find('/')?;
    Some(PathBuf::from(line.get(at..)?.trim_end_matches(" (deleted)")))
}

/// Where the process's Python packages lie: beside the libraries it mapped from them, below the
/// interpreter it was started by (a virtual environment's), and where PYTHONPATH-less Python looks.
fn folders(procs: &Procfs, pid: u32, mapped: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for path in mapped {
        folders.extend(path.ancestors().find(|part| is_package_folder(part)).map(Path::to_owned));
    }
    let first = procs.argv(pid).ok().and_then(|argv| argv.into_iter().next());
    let first = first.and_then(|word| String::from_utf8(word).ok()).unwrap_or_default();
    let started = if first.contains('/') {
        Some(PathBuf::from(&first))
    } else {
        crate::child::find(first.as_ref()).ok()
    };
    let executable = procs.link(pid, "exe").ok();
    for interpreter in [started, executable].into_iter().flatten() {
        let Some(prefix) = interpreter.parent().and_then(Path::parent) else { continue };
        for lib in ["lib", "lib64", "local/lib"] {
            folders.extend(below(&prefix.join(lib)));
        }
    }
    folders.into_iter().take(FOLDERS).collect()
}

fn is_package_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages")
}

/// `python3*/site-packages` and `python3*/dist-packages` of a library folder.
fn below(lib: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.path());
    let python = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("python3"))
    };
    versions
        .filter(python)
        .flat_map(|path| [path.join("site-packages"), path.join("dist-packages")])
        .filter(|path| path.is_dir())
        .collect()
}

/// Distributions and versions, as `NAME-VERSION.dist-info` has them (PEP 376, names with `_`).
fn packages(folders: &BTreeSet<PathBuf>) -> BTreeMap<String, String> {
    let mut packages = BTreeMap::new();
    for folder in folders {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(PACKAGES) {
            let name = entry.file_name();
            let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".dist-info")) else {
                continue;
            };
            if let Some((name, version)) = stem.split_once('-') {
                packages.insert(name.replace('_', "-").to_lowercase(), version.to_owned());
            }
        }
    }
    packages
}

/// A library of interest and the version in its file name, all of the name where it has none.
fn library(path: &Path) -> Option<(String, String)> {
    let file = path.file_name()?.to_str()?;
    LIBRARIES.iter().find(|start| file.starts_with(**start))?;
    let (name, version) = match file.split_once(".so") {
        Some((name, version)) => (name, version.trim_start_matches('.')),
        None => (file, ""),
    };
    let version = if version.is_empty() { file } else { version };
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn packages_come_from_the_environment_that_the_process_uses() {
        let root = tempfile::tempdir().unwrap();
        let venv = root.path().join("venv");
        let site = venv.join("lib/python3.11/site-packages");
        for name in
            ["vllm-0.32.0+cpu.dist-info", "huggingface_hub-1.2.0.dist-info", "vllm", "x.pth"]
        {
            fs::create_dir_all(site.join(name)).unwrap();
        }
        let base = root.path().join("base/lib/python3.11/site-packages/torch-2.13.0.dist-info");
        fs::create_dir_all(base).unwrap();
        let process = root.path().join("proc/7");
        fs::create_dir_all(&process).unwrap();
        symlink(root.path().join("base/bin/python3.11"), process.join("exe")).unwrap();
        let argv = format!("{}/bin/python3\0{}/bin/vllm\0serve\0", venv.display(), venv.display());
        fs::write(process.join("cmdline"), argv).unwrap();
        let maps = format!(
            "7f0000000000-7f0000001000 r-xp 00000000 08:01 1  /usr/lib/libcudart.so.12.4.127\n\
             7f0000002000-7f0000003000 r-xp 00000000 08:01 1  {}/nvidia/nccl/lib/libnccl.so.2\n\
             7f0000002000-7f0000003000 r-xp 00000000 08:01 1  /lib/libnvidia-ml.so.550.54.15 (deleted)\n\
             7f0000004000-7f0000005000 rw-p 00000000 00:00 0  [heap]\n",
            site.display()
        );
        fs::write(process.join("maps"), maps).unwrap();
        let found = of_process(&Procfs::at(root.path().join("proc")), 7, "server", None, 3);
        let packages = found.packages.unwrap();
        assert_eq!(packages["vllm"], "0.32.0+cpu");
        assert_eq!(packages["huggingface-hub"], "1.2.0");
        assert_eq!(packages["torch"], "2.13.0", "the base interpreter's are seen too");
        let libraries = found.libraries.unwrap();
        assert_eq!(libraries["libcudart"], "12.4.127");
        assert_eq!(libraries["libnccl"], "2");
        assert_eq!(libraries["libnvidia-ml"], "550.54.15");
        assert_eq!(libraries.len(), 3);
    }

    #[test]
    fn the_image_is_what_the_runtime_noted_inside() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        fs::create_dir(root.path("/run")).unwrap();
        for (noted, image) in [
            (
                "engine=\"podman-4.9.3\"\nname=\"serve\"\nid=\"ab12\"\nimage=\"docker.io/vllm/vllm-openai:v0.32.0\"\nimageid=\"3c9a\"\nrootless=1\n",
                Some("docker.io/vllm/vllm-openai:v0.32.0 (3c9a)"),
            ),
            ("image=\"localhost/sglang\"\n", Some("localhost/sglang")),
            ("image=\"\"\nimageid=\"3c9a\"\n", Some("3c9a")),
            ("", None),
        ] {
            fs::write(root.path("/run/.containerenv"), noted).unwrap();
            assert_eq!(super::image(&root).ok().as_deref(), image);
        }
    }

    #[test]
    fn only_a_root_that_is_not_ours_is_looked_into_from_outside() {
        let path = |procs: &Procfs| root_of(procs, std::process::id()).path("/etc");
        assert_eq!(path(&Procfs::default()), Path::new("/etc"));
        let other = tempfile::tempdir().unwrap();
        let below = other.path().join(format!("{}/root/etc", std::process::id()));
        assert_eq!(path(&Procfs::at(other.path())), below);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let root = tempfile::tempdir().unwrap();
        let found = of_process(&Procfs::at(root.path()), 7, "client", None, 0);
        assert_eq!((found.packages, found.libraries), (None, None));
        assert_eq!((found.image, found.tz, found.tz_offset_s), (None, None, None));
        let why = found.why.unwrap();
        for name in ["packages", "libraries", "image", "tz"] {
            assert!(why.contains_key(name), "{name} has no reason");
        }
    }
}
