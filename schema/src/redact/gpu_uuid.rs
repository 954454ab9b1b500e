//! Rule `gpu_uuid`: uuids of GPUs and of their MIG slices.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "gpu_uuid",
    hint: "GPU-|MIG-",
    pattern: LazyLock::new(|| {
        compile(
            "((?:MIG-)?(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{1,12}){1,4}(?:/[0-9]+/[0-9]+)?)",
        )
    }),
    cases: Cases {
        masks: &[
            ("GPU-01234567-89ab-cdef-0123-456789abcdef", "<gpu_uuid-1>"),
            (
                r#"x{uuid="GPU-01234567-89ab-cdef-0123-456789abcdef",gpu="0"} 1"#,
                r#"x{uuid="<gpu_uuid-1>",gpu="0"} 1"#,
            ),
            ("MIG-01234567-89ab-cdef-0123-456789abcdef", "<gpu_uuid-1>"),
            ("MIG-GPU-01234567-89ab-cdef-0123-456789abcdef/1/0", "<gpu_uuid-1>"),
            (
                "GPU-01234567-89ab-cdef-0123-456789abcdef,GPU-11234567-89ab-cdef-0123-456789abcdef",
                "<gpu_uuid-1>,<gpu_uuid-2>",
            ),
        ],
        keeps: &["GPU-0", "GPU-util", "GPU-memory-utilization", "MIG-enabled", "NVIDIA-GPU-driver"],
    },
};
