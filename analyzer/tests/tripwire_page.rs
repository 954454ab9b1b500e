//! `docs/tripwires.md` says what the code says: it is printed from the tripwires' declarations.
//!
//! `INFERLINT_BLESS=1 cargo test -p inferlint-analyzer` writes it anew.

use inferlint_analyzer::command::explain::page;
use inferlint_analyzer::tripwire::TRIPWIRES;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tripwires.md");

const HEAD: &str = "\
# Tripwires

Each tripwire names one condition that changes what a benchmark's numbers mean and that produces no
useful error. Codes are permanent. `inferlint-analyze explain T8` prints one of these sections. This
page is printed from the declarations in `analyzer/src/tripwire/`; do not edit it.

";

fn current() -> String {
    let mut text = HEAD.to_owned();
    text += "| code | name | what it catches |\n|---|---|---|\n";
    for t in TRIPWIRES {
        text += &format!("| {} | {} | {} |\n", t.code, t.slug, t.summary);
    }
    for t in TRIPWIRES {
        // One level down: the page has a title of its own.
        let page = page(t, None);
        let lines = page.lines().map(|line| {
            let deeper = if line.starts_with('#') { "#" } else { "" };
            format!("{deeper}{line}\n")
        });
        text.push('\n');
        text.extend(lines);
    }
    text
}

#[test]
fn the_page_is_what_the_code_says() {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let current = current();
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        std::fs::write(PAGE, &current).expect("write docs/tripwires.md");
        return;
    }
    assert!(page == current, "docs/tripwires.md is out of date: INFERLINT_BLESS=1 cargo test");
}
