//! Kind `series`.

use super::{Blank, Text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

record! {
    /// A run of a source's series dictionary. Ids follow the order of first sight and go on across segments; a keyframe repeats the dictionary from 0.
    "series" Series {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// Id of the first name here; the others follow.
        first: u32,
        /// Series as exposed, labels included, masked.
        names: Vec<Text>,
        /// Metric family to its type, help and unit, where told or changed. Absent: nothing new.
        meta: Option<BTreeMap<String, Family>>,
    }
}

/// What an exposition says of a metric family.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Family {
    /// `counter`, `gauge`, `histogram`, `summary`, `untyped`…
    #[serde(rename = "type", skip_serializing_if = "Blank::is_blank")]
    pub ty: Option<String>,
    /// The HELP text.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub help: Option<Text>,
    /// The UNIT text of OpenMetrics.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub unit: Option<String>,
}
