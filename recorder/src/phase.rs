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
    /// Marked by the user, and saying how much was asked for.
    point: bool,
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

impl Open {
    fn end(&self, edge: Edge) -> Phase {
        Phase {
            t: edge.t,
            id: self.id,
            edge: "end".to_owned(),
            parent: None,
            name: None,
            kind: None,
            params: None,
            from: edge.from.to_owned(),
            error_ns: edge.error_ns,
        }
    }
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
        let asks = ["concurrency", "rate"].iter().any(|key| params.contains_key(*key));
        let point = edge.from == "mark" && asks;
        self.open.push(Open { id, name: name.to_owned(), shown: shown.clone(), point });
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
        self.open.drain(at..).rev().map(|phase| phase.end(edge)).collect()
    }

    /// Ends the innermost open phase called `name`, and nothing inside it.
    pub(crate) fn end_alone(&mut self, edge: Edge, name: &str) -> Option<Phase> {
        let named = |phase: &Open| phase.name == name || phase.shown == name;
        let at = self.open.iter().rposition(named)?;
        Some(self.open.remove(at).end(edge))
    }

    /// Ends every open phase, innermost first.
    pub(crate) fn end_all(&mut self, edge: Edge) -> Vec<Phase> {
        self.open.drain(..).rev().map(|phase| phase.end(edge)).collect()
    }

    /// True when the innermost open phase is a mark that says how much was asked for, or is called
    /// `name`: a load tool inside it is that point and no point of its own.
    pub(crate) fn is_marked(&self, name: &str) -> bool {
        self.open.last().is_some_and(|phase| phase.point || phase.name == name)
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
    fn a_phase_may_end_before_what_is_inside_it() {
        let mut phases = Phases::default();
        begin(&mut phases, "load", &[]);
        begin(&mut phases, "drain", &[]);
        assert_eq!(phases.end_alone(AT, "load").map(|phase| phase.id), Some(0));
        assert_eq!(phases.current(), Some("drain"));
        assert_eq!(phases.end_all(AT).iter().map(|phase| phase.id).collect::<Vec<_>>(), [1]);
        assert_eq!(phases.end_alone(AT, "drain"), None);
    }

    #[test]
    fn a_mark_that_asks_for_something_is_the_point_of_the_tool_inside_it() {
        let mut phases = Phases::default();
        assert!(!phases.is_marked("c=4"));
        begin(&mut phases, "ladder", &[]);
        assert!(!phases.is_marked("c=4"));
        begin(&mut phases, "first", &[("concurrency", "4")]);
        assert!(phases.is_marked("c=4"));
        begin(&mut phases, "c=8", &[]);
        assert!(phases.is_marked("c=8") && !phases.is_marked("c=4"));
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
