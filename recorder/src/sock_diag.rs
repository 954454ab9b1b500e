//! The container that a listening socket was made in, where its process is another user's.
//!
//! The kernel tells everybody the cgroup of each socket of our network namespace (sock_diag(7),
//! attribute `INET_DIAG_CGROUP_ID` since Linux 5.8; what `ss --cgroup` shows), and a container's
//! cgroup is named after it. So a server that docker runs on the host's network is known, though
//! nothing of its process is shown to an ordinary user. Only cgroup version 2 has such numbers.

use crate::collect::process::container_id;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

/// `SOCK_DIAG_BY_FAMILY` of the kernel's `sock_diag.h`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP` of `netlink.h`.
const DUMP: u16 = 0x301;
/// `TCP_LISTEN` as a bit of `idiag_states`.
const LISTEN: u32 = 1 << 10;
/// `INET_DIAG_CGROUP_ID` of `inet_diag.h`.
const CGROUP_ID: u16 = 21;
/// Bytes of `nlmsghdr`, and of it with `inet_diag_req_v2` and `inet_diag_msg` behind.
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
const MESSAGE: usize = HEADER + 72;
/// Answers of at most 32 KiB that are read.
const PARTS: usize = 256;
/// Where the cgroup file system of version 2 is, alone and beside version 1 (systemd).
const ROOTS: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
/// Folders of it that are looked at.
const FOLDERS: usize = 20_000;

/// The container in which the sockets of these numbers were made, all in the same.
pub(crate) fn container(sockets: &BTreeSet<u64>) -> Option<String> {
    let mut cgroups = BTreeSet::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let answers = ask(family).unwrap_or_default();
        let found = answers.iter().flat_map(|answer| listeners(answer));
        cgroups.extend(found.filter(|(inode, _)| sockets.contains(inode)).map(|(_, id)| id));
    }
    let mut cgroups = cgroups.into_iter();
    let (id, None) = (cgroups.next()?, cgroups.next()) else { return None };
    let folder = ROOTS.iter().find_map(|root| folder_of(Path::new(root), id))?;
    container_id(folder.as_os_str().as_bytes())
}

/// The kernel's answers about the TCP sockets that listen. It is asked by a socket of the kernel's
/// own kind, which no network sees.
fn ask(family: AddressFamily) -> rustix::io::Result<Vec<Vec<u8>>> {
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, protocol)?;
    let mut request = Vec::with_capacity(REQUEST);
    request.extend((REQUEST as u32).to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    request.extend([0; 8]);
    const TCP: u8 = 6;
    request.extend([family.as_raw() as u8, TCP, 0, 0]);
    request.extend(LISTEN.to_ne_bytes());
    request.resize(REQUEST, 0);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answers = Vec::new();
    // A dump is made while it is read, so there is nothing to wait for.
    while answers.len() < PARTS {
        let mut answer = vec![0; 32 << 10];
        let Ok((got, _)) = rustix::net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())
        else {
            break;
        };
        answer.truncate(got);
        let done = messages(&answer).all(|(kind, _)| kind != BY_FAMILY);
        answers.push(answer);
        if done {
            break;
        }
    }
    Ok(answers)
}

/// Number and cgroup of each socket in an answer.
fn listeners(answer: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    messages(answer).filter(|(kind, _)| *kind == BY_FAMILY).filter_map(|(_, message)| {
        let inode = u32::from_ne_bytes(bytes(message, MESSAGE - 4)?);
        let (_, id) = attributes(message.get(MESSAGE..)?).find(|(kind, _)| *kind == CGROUP_ID)?;
        Some((u64::from(inode), u64::from_ne_bytes(bytes(id, 0)?)))
    })
}

/// The messages of an answer, each whole and with its type.
fn messages(answer: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = answer;
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes(rest, 0)?) as usize;
        let message = rest.get(..length).filter(|message| message.len() >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes(bytes(message, 4)?), message))
    })
}

/// The attributes behind a message's own fields: type and value.
fn attributes(fields: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const HEAD: usize = 4;
    let mut rest = fields;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes(rest, 0)?));
        let kind = u16::from_ne_bytes(bytes(rest, 2)?);
        let value = rest.get(HEAD..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn bytes<const N: usize>(of: &[u8], at: usize) -> Option<[u8; N]> {
    of.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The folder of that number below `root`: a cgroup's number is its folder's inode.
fn folder_of(root: &Path, id: u64) -> Option<PathBuf> {
    let mut open = std::collections::VecDeque::from([root.to_owned()]);
    for _ in 0..FOLDERS {
        let Ok(entries) = std::fs::read_dir(open.pop_front()?) else { continue };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.ino() == id {
                    return Some(entry.path());
                }
                open.push_back(entry.path());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_kernel_tells_the_cgroup_of_our_own_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let all = crate::sockets::listening(&crate::procfs::Procfs::default(), "net");
        let inode = all.iter().find(|socket| socket.port == port).unwrap().inode;
        let answers = ask(AddressFamily::INET).unwrap();
        let found: Vec<u64> = answers
            .iter()
            .flat_map(|answer| listeners(answer))
            .filter_map(|(number, cgroup)| (number == inode).then_some(cgroup))
            .collect();
        if found.is_empty() {
            println!("skipped: the kernel is older than 5.8 or tells no cgroups here");
            return;
        }
        assert_eq!(found.len(), 1, "{found:?}");
        // We are in no container of which the name is seen, unless the tests run on a host's.
        let _ = container(&BTreeSet::from([inode]));
    }

    #[test]
    fn a_cgroup_is_found_by_its_number_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef".repeat(4);
        let deep = folder.path().join(format!("system.slice/docker-{id}.scope"));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir_all(folder.path().join("user.slice")).unwrap();
        let found = folder_of(folder.path(), deep.metadata().unwrap().ino()).unwrap();
        assert_eq!(found, deep);
        assert_eq!(container_id(found.as_os_str().as_bytes()), Some(id));
        assert_eq!(folder_of(folder.path(), 1), None);
    }

    #[test]
    fn a_cut_or_foreign_answer_is_none() {
        let answers = ask(AddressFamily::INET).unwrap();
        let whole = answers.first().unwrap();
        for length in 0..whole.len().min(400) {
            let _ = listeners(whole.get(..length).unwrap()).count();
        }
        for byte in [0, 1, 4, 255] {
            assert_eq!(listeners(&[byte; 200]).count(), 0);
        }
    }
}
