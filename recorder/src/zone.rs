//! The time zone that programs below a root write their local times in, found as the C library does
//! it (tzset(3)): `TZ`, else `/etc/localtime`, else UTC.

use crate::root::Root;
use inferlint_schema::record::Text;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Where zones are kept by name.
const ZONES: &str = "/usr/share/zoneinfo";

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone {
    /// `Europe/Berlin`, what `TZ` says, or `+02:00` where nothing names it.
    pub(crate) name: String,
    /// Local time less UTC at the moment that was asked about.
    pub(crate) offset_s: i64,
}

/// The zone below `root` for a program whose `TZ` is `tz`, with its offset at Unix second `at_s`.
///
/// # Errors
/// When the zone is set to something that cannot be read or is no time zone.
pub(crate) fn of(root: &Root, tz: Option<&OsStr>, at_s: u64) -> Result<Zone, String> {
    let (name, zone) = match tz {
        Some(tz) => (Some(Text::from(tz.as_bytes()).lossy().into_owned()), of_variable(root, tz)?),
        None if root.has("/etc/localtime") => {
            (named(root), parsed("/etc/localtime", &root.bytes("/etc/localtime")?)?)
        }
        None => (None, TimeZone::UTC),
    };
    let at = i64::try_from(at_s).ok().and_then(|at_s| Timestamp::from_second(at_s).ok());
    let at = at.ok_or_else(|| format!("{at_s} s after 1970 is no date"))?;
    let offset_s = i64::from(zone.to_offset(at).seconds());
    let name = name.filter(|name| !name.is_empty());
    Ok(Zone { name: name.unwrap_or_else(|| numeric(offset_s)), offset_s })
}

/// `TZ`: empty is UTC, a file's name, or the rules themselves as POSIX has them. What is neither is
/// UTC to the C library, which says so to nobody; here it is an error.
fn of_variable(root: &Root, tz: &OsStr) -> Result<TimeZone, String> {
    let tz = tz.to_str().ok_or("TZ is not UTF-8")?;
    let named = tz.strip_prefix(':').unwrap_or(tz);
    if named.is_empty() {
        return Ok(TimeZone::UTC);
    }
    let file = if named.starts_with('/') { named.to_owned() } else { format!("{ZONES}/{named}") };
    match root.bytes(&file) {
        Ok(bytes) => parsed(&file, &bytes),
        Err(error) => TimeZone::posix(named).map_err(|_| format!("TZ={tz}: {error}")),
    }
}

fn parsed(file: &str, bytes: &[u8]) -> Result<TimeZone, String> {
    TimeZone::tzif("", bytes).map_err(|error| format!("{file}: {error}"))
}

/// The name of what `/etc/localtime` is: as it is linked, or as Debian notes it.
fn named(root: &Root) -> Option<String> {
    let target = root.link("/etc/localtime").ok();
    let linked = target.as_ref().and_then(|target| target.to_str()?.split_once("zoneinfo/"));
    linked.map(|(_, name)| name.to_owned()).or_else(|| root.text("/etc/timezone").ok())
}

/// `+02:00`.
fn numeric(offset_s: i64) -> String {
    let (sign, minutes) = (if offset_s < 0 { '-' } else { '+' }, offset_s.abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Central Europe as zic writes it, without its past: a TZif file of version 2 whose two blocks
    /// are empty but for one local time type, and the rules of today in the footer (RFC 8536).
    fn tzif(rules: &str) -> Vec<u8> {
        let block = |version: u8| {
            let mut block = b"TZif".to_vec();
            block.push(version);
            block.extend([0; 15]);
            // isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt; one type of 6 bytes, "UTC\0".
            block.extend([0_u32, 0, 0, 0, 1, 4].iter().flat_map(|n| n.to_be_bytes()));
            block.extend([0, 0, 0, 0, 0, 0]);
            block.extend(b"UTC\0");
            block
        };
        [block(b'2'), block(b'2'), format!("\n{rules}\n").into_bytes()].concat()
    }

    fn tree() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (name, rules) in
            [("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"), ("Asia/Kolkata", "IST-5:30")]
        {
            let file = root.path(&format!("{ZONES}/{name}"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, tzif(rules)).unwrap();
        }
        fs::create_dir(root.path("/etc")).unwrap();
        (folder, root)
    }

    const WINTER: u64 = 1_796_083_200; // 2026-12-01
    const SUMMER: u64 = 1_782_864_000; // 2026-07-01

    fn found(root: &Root, tz: Option<&str>, at_s: u64) -> Result<(String, i64), String> {
        of(root, tz.map(OsStr::new), at_s).map(|zone| (zone.name, zone.offset_s))
    }

    #[test]
    fn the_variable_is_a_name_a_file_or_rules() {
        let (_folder, root) = tree();
        symlink("/usr/share/zoneinfo/Asia/Kolkata", root.path("/etc/localtime")).unwrap();
        for (tz, at_s, offset_s) in [
            ("Europe/Berlin", WINTER, 3600),
            ("Europe/Berlin", SUMMER, 7200),
            (":Europe/Berlin", SUMMER, 7200),
            ("/usr/share/zoneinfo/Asia/Kolkata", WINTER, 19_800),
            ("EST5EDT,M3.2.0,M11.1.0", SUMMER, -14_400),
            ("<-03>3", WINTER, -10_800),
        ] {
            assert_eq!(found(&root, Some(tz), at_s), Ok((tz.to_owned(), offset_s)), "{tz}");
        }
        for tz in ["", ":"] {
            assert_eq!(found(&root, Some(tz), WINTER).unwrap().1, 0, "{tz:?} is UTC");
        }
        assert_eq!(found(&root, Some(""), WINTER).unwrap().0, "+00:00");
        for tz in ["Mars/Olympus", "../../../etc", "x"] {
            let error = found(&root, Some(tz), WINTER).unwrap_err();
            assert!(error.starts_with(&format!("TZ={tz}: /usr/share/zoneinfo/")), "{error}");
        }
        let odd = OsStr::from_bytes(b"\xff");
        assert_eq!(of(&root, Some(odd), WINTER).unwrap_err(), "TZ is not UTF-8");
    }

    #[test]
    fn without_the_variable_the_zone_is_what_localtime_is() {
        let (_folder, root) = tree();
        let localtime = root.path("/etc/localtime");
        assert_eq!(found(&root, None, SUMMER), Ok(("+00:00".into(), 0)), "nothing there is UTC");
        for target in ["/usr/share/zoneinfo/Europe/Berlin", "../usr/share/zoneinfo/Europe/Berlin"] {
            let _ = fs::remove_file(&localtime);
            symlink(target, &localtime).unwrap();
            assert_eq!(found(&root, None, SUMMER), Ok(("Europe/Berlin".into(), 7200)));
        }
        fs::remove_file(&localtime).unwrap();
        fs::write(&localtime, tzif("IST-5:30")).unwrap();
        assert_eq!(found(&root, None, SUMMER), Ok(("+05:30".into(), 19_800)), "a copy has no name");
        fs::write(root.path("/etc/timezone"), "Asia/Kolkata\n").unwrap();
        assert_eq!(found(&root, None, SUMMER), Ok(("Asia/Kolkata".into(), 19_800)));
        for broken in [&b""[..], b"TZif", b"<html>"] {
            fs::write(&localtime, broken).unwrap();
            let error = found(&root, None, SUMMER).unwrap_err();
            assert!(error.starts_with("/etc/localtime: "), "{error}");
        }
        fs::remove_file(&localtime).unwrap();
        symlink("/usr/share/zoneinfo/Gone", &localtime).unwrap();
        assert!(found(&root, None, SUMMER).unwrap_err().contains("No such file"));
        assert!(found(&root, Some("Europe/Berlin"), u64::MAX).unwrap_err().ends_with("no date"));
    }

    #[test]
    fn an_offset_is_written_with_its_sign() {
        for (offset_s, text) in [(0, "+00:00"), (-12_600, "-03:30"), (50_400, "+14:00")] {
            assert_eq!(numeric(offset_s), text);
        }
    }
}
