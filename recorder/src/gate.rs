//! The gate: are the GPUs free before a server is started, and again after it was stopped?

use inferlint_schema::record::Gate;
use std::collections::BTreeMap;
use std::path::Path;

/// Files that are there when an NVIDIA driver is: the control device, the driver's page, and WSL's
/// door to the Windows driver.
const SIGNS: [&str; 3] = ["dev/nvidiactl", "proc/driver/nvidia/version", "dev/dxg"];

/// A look at the GPUs of the machine whose root folder is `root`.
///
/// Without a card there is nothing that could be in use; with one that is not read, nothing is
/// claimed.
pub(crate) fn look(root: &Path, when: &str, t: u64) -> Gate {
    let sign = SIGNS.iter().find(|sign| root.join(sign).exists());
    let why = match sign {
        None => "no NVIDIA GPU on this host".to_owned(),
        Some(sign) => format!("/{sign} is there, but this version reads no GPU"),
    };
    let why = Some(BTreeMap::from([("gpus".to_owned(), why)]));
    Gate { t, when: when.to_owned(), clear: sign.is_none(), gpus: Vec::new(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_gpu_is_clear_and_an_unread_gpu_is_not() {
        let root = tempfile::tempdir().unwrap();
        let gate = look(root.path(), "before", 1);
        assert!(gate.clear && gate.gpus.is_empty());
        assert_eq!(gate.why.unwrap()["gpus"], "no NVIDIA GPU on this host");
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/nvidiactl"), "").unwrap();
        let gate = look(root.path(), "before", 1);
        assert!(!gate.clear && gate.why.unwrap()["gpus"].contains("nvidiactl"));
    }
}
