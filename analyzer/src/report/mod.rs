//! The page: one file that opens anywhere, asks for nothing, and reads without JavaScript.
//!
//! [`page`] is a pure function of what was judged. Parts stand in `section`, one file each; charts in
//! `chart`; what is around them in `frame`. Every string of an input passes through `shown`.

mod chart;
mod frame;
mod prose;
mod section;
mod shown;

use crate::evidence::Run;
use crate::finding::Finding;
use crate::output::Judged;
use maud::{Markup, html};
use section::{
    View, counts, coverage, evidence, guide, happened, head, limits, points, timeline, verdicts,
};
use shown::Shown;

/// Most findings on a page; of more the worst are kept.
const FINDINGS: usize = 200;
/// Bytes that charts may take of a page, of 2 MB in all.
const CHART_BYTES: usize = 1_350_000;

/// The page about everything that was judged.
pub fn page(judged: &[Judged<'_>]) -> String {
    let runs: Vec<&Run> = judged.iter().filter_map(|judged| judged.run).collect();
    let views = views(judged);
    let title = title(&runs);
    let mut room = CHART_BYTES;
    let body = html! {
        a.skip href="#main" { "Skip to the report" }
        div.frame {
            header {
                div.top {
                    span.brand { "inferlint" }
                    div.tools {
                        button #fold type="button" aria-pressed="false" hidden { "Unfold all" }
                        button #theme type="button" aria-label="Switch between light and dark" hidden { "Dark" }
                    }
                }
                div.title { h1 { (title) } (subtitle(&runs)) (counts(&views)) }
                (contents(&views))
            }
            main #main {
                @if views.len() > 1 { (points::section(&views)) }
                (coverage::section(&runs))
                (ran(&runs))
                @if let [view] = views.as_slice() {
                    (limits::section(view)) (happened::section(view)) (verdicts::section(view)) (timeline::section(view, &mut room))
                } @else {
                    @for (r, run) in runs.iter().enumerate().filter(|(_, run)| run.points.len() > 1) {
                        (timeline::overview(run, &format!("r{r}"), &mut room))
                    }
                    @for view in &views { (point(view, first_caught(&views), &mut room)) }
                }
                (evidence::section(&runs))
                (guide::section())
            }
            footer { "Written by inferlint-analyze " (env!("CARGO_PKG_VERSION")) ", from the named input alone." }
        }
    };
    frame::page(&format!("{title} – inferlint"), &body)
}

/// What can be told of all runs in one line.
fn title(runs: &[&Run]) -> Shown {
    match runs {
        [] => Shown::new("Comparison of starts"),
        [run] => head::title(run),
        [first, rest @ ..] => {
            let title = head::title(first);
            let same = rest.iter().all(|run| head::title(run) == title);
            let what = if same { title } else { Shown::new("Several engines") };
            Shown::new(&format!("{what}, {} runs", runs.len()))
        }
    }
}

fn subtitle(runs: &[&Run]) -> Markup {
    html! {
        @for run in runs.iter().take(8) { p { (head::line(run)) } }
        @if runs.len() > 8 { p { "and " (runs.len() - 8) " more" } }
    }
}

fn contents(views: &[View<'_>]) -> Markup {
    let key = views.first().map_or("v0", |view| view.key.as_str());
    html! {
        nav.contents aria-label="Contents" {
            ul {
                @if views.len() > 1 {
                    li { a href="#points" { (points::title(views)) } }
                    li { a href="#coverage" { "Recorded" } }
                    li { a href="#ran" { "What ran" } }
                    @for view in views.iter().take(12) {
                        li { a href=(format!("#{}", view.key)) { (Shown::name(&view.name)) } }
                    }
                } @else {
                    li { a href="#coverage" { "Recorded" } }
                    li { a href="#ran" { "What ran" } }
                    li { a href=(format!("#{key}-happened")) { "What happened" } }
                    li { a href=(format!("#{key}-verdicts")) { "Verdicts" } }
                    li { a href=(format!("#{key}-time")) { "Over time" } }
                }
                li { a href="#evidence" { "Evidence" } }
                li { a href="#guide" { "Guide" } }
            }
        }
    }
}

fn ran(runs: &[&Run]) -> Markup {
    html! {
        section aria-labelledby="ran" {
            h2 id="ran" { "What ran" }
            @for run in runs {
                @if runs.len() > 1 { h3 { (head::input(run)) } }
                (head::facts(run))
            }
        }
    }
}

/// One of several load points, folded but for the first in which something was caught.
fn point(view: &View<'_>, open: &str, room: &mut usize) -> Markup {
    html! {
        details.point id=(view.key) open[view.key == open] {
            summary { h2 { (Shown::name(&view.name)) } (counts(std::slice::from_ref(view))) }
            (limits::section(view))
            (happened::section(view))
            (verdicts::section(view))
            @if view.point.is_some() { (timeline::section(view, room)) }
        }
    }
}

/// Key of the first view in which the worst status occurs.
fn first_caught<'a>(views: &'a [View<'_>]) -> &'a str {
    let worst = |view: &View<'_>| view.findings.iter().map(|f| f.status.rank()).max().unwrap_or(0);
    let most = views.iter().map(worst).max().unwrap_or(0);
    views.iter().find(|view| worst(view) == most).map_or("", |view| view.key.as_str())
}

/// A view for each load point, and one for what concerns a run as a whole; they are the same where a
/// run has one point.
fn views<'a>(judged: &'a [Judged<'_>]) -> Vec<View<'a>> {
    let several = judged.len() > 1;
    let mut views = Vec::new();
    for judged in judged {
        let input = judged.run.map(|run| head::input(run).to_string());
        let whole = match &input {
            None => "several starts compared".to_owned(),
            Some(input) if several => input.clone(),
            Some(_) => "the whole run".into(),
        };
        let points = judged.run.map_or(&[][..], |run| &run.points);
        if let [only] = points {
            let findings = judged.findings.iter().collect();
            views.push(view(judged.run, Some(only), findings, whole));
            continue;
        }
        for point in points {
            let findings = of(&judged.findings, point.name.as_deref());
            let name = point.name.as_deref().unwrap_or("the whole recording");
            let name = match &input {
                Some(input) if several => format!("{input}: {name}"),
                _ => name.to_owned(),
            };
            views.push(view(judged.run, Some(point), findings, name));
        }
        let findings = of(&judged.findings, None);
        if !findings.is_empty() {
            views.push(view(judged.run, None, findings, whole));
        }
    }
    number(&mut views);
    views
}

fn of<'a>(findings: &'a [Finding], point: Option<&str>) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.scope.point.as_deref() == point).collect()
}

fn view<'a>(
    run: Option<&'a Run>,
    point: Option<&'a crate::evidence::Point>,
    findings: Vec<&'a Finding>,
    name: String,
) -> View<'a> {
    View { run, point, findings, left_out: 0, key: String::new(), name, level: 2 }
}

/// Gives the views their keys and levels, and leaves out what the page has no room for: the least
/// first.
fn number(views: &mut [View<'_>]) {
    let level = if views.len() > 1 { 3 } else { 2 };
    let mut ranks: Vec<u8> =
        views.iter().flat_map(|view| &view.findings).map(|f| f.status.rank()).collect();
    ranks.sort_unstable_by(|a, b| b.cmp(a));
    let least = ranks.get(FINDINGS).copied();
    let mut room = FINDINGS - least.map_or(0, |least| ranks.partition_point(|r| *r > least));
    for (i, view) in views.iter_mut().enumerate() {
        view.key = format!("v{i}");
        view.level = level;
        let before = view.findings.len();
        if let Some(least) = least {
            view.findings.retain(|finding| {
                let rank = finding.status.rank();
                let last = rank == least && room > 0;
                room -= usize::from(last);
                rank > least || last
            });
        }
        view.left_out = before - view.findings.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::evidence::{Account, Edges, Log, Point, Source};
    use crate::finding::{FindingScope, Verdict};
    use crate::tripwire::{TRIPWIRES, judge};
    use inferlint_schema::record::{Gap, Host, Session};

    /// A run in which every text an input can choose is `text`.
    fn run(text: &str, points: usize) -> Run {
        let mut source = Source {
            name: text.into(),
            role: "engine".into(),
            group: Some(text.into()),
            engine: Engine::named("vllm"),
            timed: true,
            ..Source::default()
        };
        let label: String = text.chars().filter(|c| !"\\\"\n".contains(*c)).collect();
        for i in 0..=40 * points as i64 {
            let running = format!("vllm:num_requests_running{{model_name=\"{label}\"}}");
            let waiting = format!("vllm:num_requests_waiting{{model_name=\"{label}\"}}");
            let usage = format!("vllm:kv_cache_usage_perc{{model_name=\"{label}\"}}");
            let preempted = format!("vllm:num_preemptions_total{{model_name=\"{label}\"}}");
            let busy = f64::from(u8::from(i % 40 != 0));
            let values = [
                (running.as_bytes(), busy * 8.0),
                (waiting.as_bytes(), busy * 24.0),
                (usage.as_bytes(), busy * 0.98),
                (preempted.as_bytes(), (i / 8) as f64),
            ];
            source.full.push(i * 250_000_000, 2_000_000, values);
        }
        let point = |p: usize| Point {
            name: (points > 1).then(|| format!("{p}{text}")),
            params: [("concurrency".to_owned(), "32".to_owned()), (text.into(), text.into())]
                .into(),
            command: Some((p as i64 * 10_000_000_000, (p as i64 + 1) * 10_000_000_000)),
            edges: vec![Edges { begin: Some(40 * p), end: Some(40 * (p + 1)) }],
            argv: Some(vec![text.into()]),
            output: Some(text.into()),
            ..Point::default()
        };
        Run {
            name: format!("/tmp/{}", text.replace('/', "")),
            run_id: Some(text.into()),
            engine: Engine::named("vllm"),
            engine_version: Some(text.into()),
            sources: vec![source],
            points: (0..points).map(point).collect(),
            logs: vec![Log { name: text.into(), bytes: 9, ..Log::default() }],
            account: Some(account(text)),
            notes: vec![text.into()],
            ..Run::default()
        }
    }

    fn account(text: &str) -> Account {
        let session = Session {
            t: 0,
            format: 1,
            minor: 0,
            writer: text.into(),
            build: Some(text.into()),
            bundle_id: text.into(),
            run_id: text.into(),
            segment: 0,
            command: text.into(),
            argv: Vec::new(),
            wall_ns: 1_790_824_333_000_000_000,
            mono_ns: 0,
            boot_id: None,
            tz: Some(text.into()),
            tz_offset_s: Some(-12_600),
            intervals_ns: None,
            privacy: None,
            abilities: None,
            why: None,
        };
        let gap = Gap {
            t: 0,
            src: Some(0),
            what: text.into(),
            from_t: 1_000_000_000,
            to_t: 2_000_000_000,
            count: 4,
            why: text.into(),
        };
        let host = Host {
            t: 0,
            numbers: None,
            texts: Some([("os".to_owned(), text.into())].into()),
            env: None,
            env_left_out: None,
            why: None,
        };
        Account {
            session: Some(session),
            host: Some(host),
            kinds: [(text.to_owned(), (1, 1))].into(),
            gaps: vec![gap],
            ..Account::default()
        }
    }

    /// The page of `run`, with findings that carry `text` besides those of the tripwires.
    fn page_of(run: &Run, text: &str) -> String {
        let mut findings = judge(run, TRIPWIRES);
        for (verdict, code) in [(Verdict::fail(text), "T1"), (Verdict::unknown(text), "T8")] {
            let verdict = verdict.with(text, text).with("list", vec![text; 3]);
            let scope =
                FindingScope { point: run.points[0].name.clone(), source: Some(text.into()) };
            findings.push(Finding::new(code, "silent-preemption", scope, verdict));
        }
        page(&[Judged { run: Some(run), findings }])
    }

    /// Every tag with the names of its attributes, in order. Text and values are left out.
    fn skeleton(page: &str) -> Vec<String> {
        let mut out = Vec::new();
        let mut rest = page;
        while let Some((_, after)) = rest.split_once('<') {
            let mut tag = String::new();
            let mut quoted = false;
            let mut end = after.len();
            for (i, c) in after.char_indices() {
                match c {
                    '"' => quoted = !quoted,
                    '>' if !quoted => {
                        end = i;
                        break;
                    }
                    c if !quoted => tag.push(c),
                    _ => {}
                }
            }
            rest = &after[end..];
            for raw in ["style", "script"] {
                if tag == raw {
                    rest = rest.split_once(&format!("</{raw}")).unwrap().1;
                }
            }
            out.push(tag);
        }
        out
    }

    const HOSTILE: &[&str] = &[
        "CANARY<script>alert(1)</script><img src=x onerror=alert(1)>",
        "CANARY\"' onmouseover=alert(1) x=\"</title></style></textarea>-->]]><svg/onload=1>",
        "CANARY javascript:alert(1) http://example.com/ <a href=http://example.com>x</a>",
        "CANARY\0\u{1b}[31m\u{202e}\u{2066}\u{feff}\u{fffd}\r\n<b>&lt;&amp;&#60;",
    ];

    #[test]
    fn a_load_that_no_reading_saw_has_no_chart() {
        let mut run = run("x", 1);
        let page = |run: &Run| page_of(run, "x").contains("no reading lies inside the load");
        run.points[0].command = Some((100_000_000, 250_000_000));
        assert!(!page(&run), "the second reading is its last moment");
        run.points[0].command = Some((100_000_000, 200_000_000));
        assert!(page(&run));
    }

    #[test]
    fn a_load_that_samples_hardly_saw_has_no_rate_and_no_average() {
        // Two waves: one is sampled at work, the other only by its tokens.
        let readings = [(0, 0, 0), (1, 4, 0), (2, 0, 400), (3, 0, 400), (4, 0, 800), (5, 0, 800)];
        let mut text = String::from("== before\nvllm:generation_tokens_total 0\n");
        for (t, running, tokens) in readings {
            text += &format!(
                "== {t}\nvllm:num_requests_running {running}\nvllm:num_requests_waiting 0\n\
                 vllm:generation_tokens_total {tokens}\n"
            );
        }
        let seen = |text: &str| {
            let run = crate::tripwire::example::run(&format!("{text}== after\n"));
            let page = page(&[Judged { run: Some(&run), findings: Vec::new() }]);
            ["4.0 on average", "while busy", "was at work for"].map(|said| page.contains(said))
        };
        assert_eq!(seen(&text), [false; 3]);
        assert_eq!(seen(&text.replace("_total 800", "_total 400")), [true; 3]);
    }

    #[test]
    fn no_text_of_an_input_changes_the_pages_structure() {
        for points in [1, 3] {
            // As long as the hostile ones, so that what is cut by length is cut alike.
            let plain = "CANARY".repeat(60);
            let expected = skeleton(&page_of(&run(&plain, points), &plain));
            assert!(expected.len() > 300, "{}", expected.len());
            for hostile in HOSTILE {
                let text = hostile.repeat(6);
                let page = page_of(&run(&text, points), &text);
                assert!(page.matches("CANARY").count() > 20);
                assert_eq!(skeleton(&page), expected, "{hostile}");
                for hidden in ['\0', '\u{1b}', '\u{202e}', '\u{2066}', '\u{feff}', '\r'] {
                    assert!(!page.contains(hidden), "{hidden:?}");
                }
            }
        }
    }

    #[test]
    fn a_page_links_only_within_itself_and_styles_only_by_class() {
        let page = page_of(&run(HOSTILE[0], 3), HOSTILE[0]);
        let ids: Vec<&str> =
            page.split(" id=\"").skip(1).map(|s| s.split('"').next().unwrap()).collect();
        for id in &ids {
            assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{id}");
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id} twice");
        }
        for target in page.split("href=\"").skip(1) {
            let target = target.split('"').next().unwrap();
            let id = target.strip_prefix('#').expect("a link within the page");
            assert!(ids.contains(&id), "{id} is not there");
        }
        for tag in skeleton(&page) {
            for attribute in tag.split(' ').skip(1) {
                let name = attribute.split('=').next().unwrap();
                assert!(name != "style" && name != "src" && !name.starts_with("on"), "<{tag}>");
            }
        }
        let plain = page_of(&run("plain", 3), "plain");
        assert!(!plain.replace("http-equiv", "").contains("http"));
    }

    #[test]
    fn headings_go_down_one_level_at_a_time() {
        for points in [1, 3] {
            let page = page_of(&run("plain", points), "plain");
            let mut level = 0;
            for tag in skeleton(&page) {
                let Some(found) = tag.strip_prefix('h').and_then(|t| t[..1].parse::<u32>().ok())
                else {
                    continue;
                };
                assert!(found <= level + 1, "h{found} after h{level}");
                level = found;
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        let run = run("plain", 3);
        assert_eq!(page_of(&run, "a"), page_of(&run, "a"));
    }

    #[test]
    fn markup_is_trusted_in_two_files_only() {
        fn count(folder: &std::path::Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    count(&path, found);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    if text.contains(concat!("PreEscaped", "(")) {
                        found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                    }
                }
            }
        }
        let mut found = Vec::new();
        count(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        found.sort();
        assert_eq!(found, ["frame.rs", "svg.rs"]);
    }

    #[test]
    fn many_findings_and_points_keep_the_page_under_two_megabytes() {
        let run = run("a\u{202e}", 120);
        let long = "<".repeat(5_000);
        let page = page_of(&run, &long);
        assert!(page.len() < 2_000_000, "{}", page.len());
        assert!(page.contains("left out"));
    }
}
