//! The server could not listen where it was told to.

use super::kind::Kind;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "port_in_use",
        "another process listens on the server's address",
        &[
            r"error while attempting to bind on address \('?(?<host>[^',]*)'?, (?<port>\d+).*in use",
            r"(?i)couldn't bind HTTP server socket, hostname: (?<host>\S+), port: (?<port>\d+)",
            r"(?i)Failed to bind (?:server |socket )*to (?:address )?(?<host>[\w.\[\]-]+):(?<port>\d+).*in use",
            r"(?i)Failed to bind (?:server |socket )*to (?:address )?(?<host>[\w.\[\]-]+):(?<port>\d+)\W*$",
            r"\[Errno (?:98|48)\]",
            r"(?i)(?:port|address) (?<port>\d+) (?:is )?(?:already )?in use",
            r"(?i)at (?<port>\d+) is not available in \d+ seconds",
            r"port: (?<port>\d+),.*EADDRINUSE",
            r"(?i)address already in use \(addr='tcp://(?<host>[^:']+):(?<port>\d+)'",
            r"(?i)address already in use",
            r"EADDRINUSE",
        ],
        |t| {
            let port = t
                .part("port")
                .or_else(|| t.find(r"port (\d+) is used by"))
                .or(t.aside.asked_port.as_deref());
            let place = match (
                t.part("host").map(|h| h.trim_end_matches(',')).filter(|h| !h.is_empty()),
                port,
            ) {
                (Some(host), Some(port)) => format!("port {port} on {host}"),
                (None, Some(port)) => format!("port {port}"),
                _ => "the server's port".to_owned(),
            };
            let after = if t.serving { " after 'Application startup complete'" } else { "" };
            format!(
                "{place} is already in use: the bind failed{after} and the server never listened; stop the process that holds it or choose another port"
            )
        },
    ),
    Kind::new(
        "port_not_permitted",
        "the server's user may not listen on that port",
        &[
            r"(?i)bind on address \('?[^',]*'?, (?<port>\d+).*permission denied",
            r"(?i)Failed to bind .*:(?<port>\d+)\b.*permission denied",
        ],
        |t| {
            let port = t.part("port").unwrap_or("the port");
            format!(
                "the server may not listen on port {port} (permission denied): choose one above 1023, or allow it (CAP_NET_BIND_SERVICE)"
            )
        },
    ),
    Kind::new(
        "address_not_local",
        "the address to listen on is not one of this host's",
        &[
            r"(?i)cannot assign requested address",
            r"(?i)could not bind on any address",
            r"EADDRNOTAVAIL",
        ],
        |t| {
            t.say(
                "the server cannot listen on that address",
                "--host must be an address of this host, or 0.0.0.0",
            )
        },
    ),
];
