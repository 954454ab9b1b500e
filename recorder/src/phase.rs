//! Phases: named, nested intervals, numbered as they begin.

use inferlint_schema::record::{Phase, Text};
use std::collections::BTreeMap;

/// Phase kinds; a mark may name one with `kind=`, or by calling the phase so.
const KINDS: [&str; 6] = ["start", "probe", "warmup", "load", "drain", "idle"];

/// Which phases are open, and how the next one is named.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    open: Vec<Open>,
    next: u32,
    seen: BTreeMap<String, u32>,
}

#[derive(Debug)]
struct Open {
    id: u32,
    /// As it was asked for, without the number of a repeat.
    name: String,
    shown: String,
}

/// How an edge is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    /// When, ns since the recording began.
    pub(crate) t: u64,
    /// As in `phase.from`: `argv`, `mark`, `result` or `user`.
    pub(crate) from: &'static str,
    /// How far off `t` may be, in ns.
    pub(crate) error_ns: Option<u64>,
}

impl Phases {
    /// A phase begins inside the innermost open one. A name that was used before gets `#2`, `#3`…
    /// `kind` may be among `params`; without one it is the name if that is a kind, else `load`.
    pub(crate) fn begin(
        &mut self,
        edge: Edge,
        name: &str,
        params: impl IntoIterator<Item = (String, String)>,
    ) -> Phase {
        let mut params: BTreeMap<String, Text> =
            params.into_iter().map(|(key, value)| (key, Text::from(value))).collect();
        let named = params.get("kind").map(|kind| kind.lossy().into_owned());
        let kind = KINDS.iter().find(|kind| named.as_deref().unwrap_or(name) == **kind);
        if named.is_some() && kind.is_some() {
            params.remove("kind");
        }
        let times = self.seen.entry(name.to_owned()).or_default();
        *times += 1;
        let shown = if *times == 1 { name.to_owned() } else { format!("{name}#{times}") };
        let parent = self.open.last().map(|phase| phase.id);
        let id = self.next;
        self.next += 1;
        self.open.push(Open { id, name: name.to_owned(), shown: shown.clone() });
        Phase {
            t: edge.t,
            id,
            edge: "begin".to_owned(),
            parent,
            name: Some(shown),
            kind: Some((*kind.unwrap_or(&"load")).to_owned()),
            params: (!params.is_empty()).then_some(params),
            from: edge.from.to_owned(),
            error_ns: edge.error_ns,
        }
    }

    /// Ends the innermost open phase called `name`, and what is still open inside it, innermost
    /// first. Empty: no such phase is open.
    pub(crate) fn end(&mut self, edge: Edge, name: &str) -> Vec<Phase> {
        let Some(at) =
            self.open.iter().rposition(|phase| phase.name == name || phase.shown == name)
        else {
            return Vec::new();
        };
        let ended = self.open.drain(at..).rev();
        ended
            .map(|phase| Phase {
                t: edge.t,
                id: phase.id,
                edge: "end".to_owned(),
                parent: None,
                name: None,
                kind: None,
                params: None,
                from: edge.from.to_owned(),
                error_ns: edge.error_ns,
            })
            .collect()
    }

    /// The innermost open phase.
    pub(crate) fn current(&self) -> Option<&str> {
        self.open.last().map(|phase| phase.shown.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Edge = Edge { t: 7, from: "mark", error_ns: None };

    fn begin(phases: &mut Phases, name: &str, params: &[(&str, &str)]) -> Phase {
        let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        phases.begin(AT, name, params)
    }

    #[test]
    fn phases_nest_and_repeats_are_numbered() {
        let mut phases = Phases::default();
        let outer = begin(&mut phases, "ladder", &[]);
        let first = begin(&mut phases, "c=4", &[("concurrency", "4")]);
        assert_eq!((outer.id, outer.parent), (0, None));
        assert_eq!((first.id, first.parent), (1, Some(0)));
        assert_eq!(first.params.unwrap()["concurrency"], Text::from("4"));
        assert_eq!(phases.end(AT, "c=4").iter().map(|p| p.id).collect::<Vec<_>>(), [1]);
        let again = begin(&mut phases, "c=4", &[]);
        assert_eq!((again.name.as_deref(), again.parent), (Some("c=4#2"), Some(0)));
        assert_eq!(phases.current(), Some("c=4#2"));
        let ended: Vec<_> = phases.end(AT, "ladder").iter().map(|p| p.id).collect();
        assert_eq!(ended, [2, 0], "what is open inside ends with it");
        assert!(phases.end(AT, "ladder").is_empty());
        assert_eq!(phases.current(), None);
    }

    #[test]
    fn the_kind_is_said_or_told_from_the_name() {
        let mut phases = Phases::default();
        let cases = [
            ("c=4", None, "load"),
            ("warmup", None, "warmup"),
            ("warmup", Some("load"), "load"),
            ("first", Some("warmup"), "warmup"),
            ("odd", Some("no such kind"), "load"),
        ];
        for (name, said, kind) in cases {
            let params: Vec<_> = said.map(|said| ("kind", said)).into_iter().collect();
            assert_eq!(begin(&mut phases, name, &params).kind.as_deref(), Some(kind), "{name}");
        }
    }
}
