//! Rule `ssh_key_body`: the comment (mostly `user@host`) behind an SSH public key.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "ssh_key_body",
    hint: "ssh-|ecdsa-",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp[0-9]+|sk-[a-z0-9-]+@openssh\.com)[ \t]+[A-Za-z0-9+/]{40,}=*[ \t]+([^\s"'<>][^"'<>\n]*)"#,
        )
    }),
    cases: Cases {
        masks: &[
            (
                "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7abcdefghijklmnop jdoe@laptop",
                "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7abcdefghijklmnop <ssh_key_body-1>",
            ),
            (
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabcdefghijklmnopqrs work key",
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabcdefghijklmnopqrs <ssh_key_body-1>",
            ),
            (
                "'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7abcdefghijklmnop= x@y'",
                "'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7abcdefghijklmnop= <ssh_key_body-1>'",
            ),
            (
                "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY me",
                "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY <ssh_key_body-1>",
            ),
            (
                "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tabcd me",
                "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tabcd <ssh_key_body-1>",
            ),
        ],
        keeps: &[
            "ssh-rsa",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7abcdefghijklmnop",
            "ssh-keygen -t rsa",
            "ssh-ed25519 short comment",
            "sshd: ok",
        ],
    },
};
