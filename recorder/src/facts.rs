//! Facts by name, and for each that could not be read, the reason.

use std::collections::BTreeMap;

/// What a record of facts is made of.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Numbers with their unit in the name.
    pub(crate) numbers: BTreeMap<String, f64>,
    /// Everything else.
    pub(crate) texts: BTreeMap<String, String>,
    /// For what is in neither, why.
    pub(crate) why: BTreeMap<String, String>,
}

impl Facts {
    /// Notes a number, or why there is none.
    pub(crate) fn number(&mut self, name: impl Into<String>, value: Result<f64, String>) {
        match value {
            Ok(value) => drop(self.numbers.insert(name.into(), value)),
            Err(why) => drop(self.why.insert(name.into(), why)),
        }
    }

    /// Notes a text, or why there is none.
    pub(crate) fn text(
        &mut self,
        name: impl Into<String>,
        value: Result<impl Into<String>, String>,
    ) {
        match value {
            Ok(value) => drop(self.texts.insert(name.into(), value.into())),
            Err(why) => drop(self.why.insert(name.into(), why)),
        }
    }
}

/// The map, if it holds anything.
pub(crate) fn some<V>(map: BTreeMap<String, V>) -> Option<BTreeMap<String, V>> {
    (!map.is_empty()).then_some(map)
}
