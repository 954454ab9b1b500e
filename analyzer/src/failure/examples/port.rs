//! Examples of the kinds of `port.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "port_in_use",
        &["8000"],
        "RuntimeError: Failed to bind socket to localhost:8000: [Errno 98] Address already in use\n",
    ),
    boot(
        "port_in_use",
        &["30000", "in use"],
        "[2026-01-01 10:00:00] INFO:     Application startup complete.\n[2026-01-01 10:00:00] ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use\n[2026-01-01 10:00:00] INFO:     Waiting for application shutdown.\n",
    ),
    boot(
        "port_in_use",
        &["29500"],
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    ),
    boot("address_not_local", &["--host"], "OSError: [Errno 99] Cannot assign requested address\n"),
    boot(
        "address_not_local",
        &["--host"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\n[2026-01-01 10:00:20] INFO:     Application startup complete.\n[2026-01-01 10:00:20] ERROR:    [Errno 99] error while attempting to bind on address ('10.9.9.9', 30000): cannot assign requested address\n[2026-01-01 10:00:20] INFO:     Waiting for application shutdown.\n",
    ),
    boot(
        "port_not_permitted",
        &["port 80", "above 1023"],
        "INFO:     Application startup complete.\nERROR:    [Errno 13] error while attempting to bind on address ('0.0.0.0', 80): permission denied\nINFO:     Waiting for application shutdown.\n",
    ),
    boot(
        "port_not_permitted",
        &["443"],
        "RuntimeError: Failed to bind socket to 0.0.0.0:443: [Errno 13] Permission denied\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("port_in_use", "start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080"),
    ("port_in_use", "RuntimeError: Failed to bind to address 0.0.0.0:8001"),
    ("port_in_use", "OSError: port 8000 is already in use"),
    ("port_in_use", "RuntimeError: Port at 30000 is not available in 60 seconds."),
    ("port_in_use", "zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:35555')"),
    (
        "port_not_permitted",
        "PermissionError: [Errno 13] error while attempting to bind on address ('0.0.0.0', 80): permission denied",
    ),
    (
        "address_not_local",
        "RuntimeError: could not bind on any address out of [('10.9.9.9', 8000)]",
    ),
    ("address_not_local", "Error: listen EADDRNOTAVAIL: address not available 10.9.9.9:8000"),
];
