//! Rule `machine_id`: ids of machines, boards and cards behind their name: machine ids, serial numbers, GUIDs.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "machine_id",
    hint: "(?i)machine|host|uuid|serial|board|asset|guid",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?i)(?:machine[-_ ]?id|host[-_ ]?id|system[-_ ]uuid|(?:product|board|chassis|gpu|system)[-_ ](?:uuid|serial|asset[-_ ]tag)|serial(?:[-_ ]?(?:number|no\.?))?|board[-_ ]id|(?:node|port|sys[-_ ]image|system[-_ ]image)[-_ ]guid)["']?[ \t]*[=:][ \t]*["']?([A-Za-z0-9][A-Za-z0-9:._-]{3,})"#,
        )
    }),
    cases: Cases {
        masks: &[
            ("machine-id: 0123456789abcdef0123456789abcdef", "machine-id: <machine_id-1>"),
            (
                "Serial Number                 : 1322621012345",
                "Serial Number                 : <machine_id-1>",
            ),
            ("product_uuid=4C4C4544-0042", "product_uuid=<machine_id-1>"),
            ("'board_serial': 'ABC.123'", "'board_serial': '<machine_id-1>'"),
            ("node_guid: 0002:c903:0011:2233", "node_guid: <machine_id-1>"),
        ],
        keeps: &[
            "serial execution",
            "board id",
            "GPU uuid",
            "host: 0.0.0.0",
            "machine: x86_64",
            "uuid: None",
            "hostidx=12345",
        ],
    },
};
