//! `docs/privacy.md` shows every masking rule at work: its table is printed from the rules' examples.

use inferlint_schema::redact::RULES;
use std::fmt::Write as _;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/privacy.md");
const BEGIN: &str = "<!-- begin generated: rules -->\n";
const END: &str = "<!-- end generated: rules -->";

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

#[test]
fn the_page_shows_every_rule() {
    let mut table = "| rule | a line | as it is written |\n|---|---|---|\n".to_owned();
    for rule in RULES {
        let (line, masked) = rule.cases().masks[0];
        let _ = writeln!(table, "| `{}` | {} | {} |", rule.name(), code(line), code(masked));
    }
    let page = std::fs::read_to_string(PAGE).expect("docs/privacy.md");
    let begin = page.find(BEGIN).expect("a begin marker") + BEGIN.len();
    let end = page.find(END).expect("an end marker");
    let current = format!("{}{table}{}", &page[..begin], &page[end..]);
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        std::fs::write(PAGE, &current).expect("write docs/privacy.md");
        return;
    }
    assert!(page == current, "docs/privacy.md is out of date: INFERLINT_BLESS=1 cargo test");
}
