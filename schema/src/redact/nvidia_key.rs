//! Rule `nvidia_key`: keys of NVIDIA's API catalogue and NGC, `nvapi-`.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "nvidia_key",
    hint: "nvapi-",
    pattern: LazyLock::new(|| compile("(?:^|[^A-Za-z0-9])(nvapi-[A-Za-z0-9_-]{20,})")),
    cases: Cases {
        masks: &[
            ("nvapi-abcdefghijklmnopqrst", "<nvidia_key-1>"),
            ("'nvapi-ABC_def-0123456789abcdefghij'", "'<nvidia_key-1>'"),
            ("k=nvapi-abcdefghijklmnopqrst;", "k=<nvidia_key-1>;"),
            (
                "docker login -p nvapi-abcdefghijklmnopqrst0 nvcr.io",
                "docker login -p <nvidia_key-1> nvcr.io",
            ),
            (
                "nvapi-abcdefghijklmnopqrst1 nvapi-abcdefghijklmnopqrst2",
                "<nvidia_key-1> <nvidia_key-2>",
            ),
        ],
        keeps: &[
            "nvapi-docs",
            "nvapi",
            "xnvapi-abcdefghijklmnopqrst",
            "NVAPI_KEY",
            "nvapi_abcdefghijklmnopqrst",
        ],
    },
};
