//! `explain`: the page of a tripwire.

use crate::cli::Explain;
use crate::engine::{ENGINES, Engine};
use crate::error::InputError;
use crate::output::text::Look;
use crate::tripwire::{TRIPWIRES, Tripwire};

pub(super) fn run(arguments: &Explain) -> Result<u8, InputError> {
    let page = |tripwire: &&Tripwire| page(tripwire, arguments.engine);
    let pages = match &arguments.tripwire {
        Some(name) if !arguments.all => page(&super::check::known(name)?),
        _ => TRIPWIRES.iter().map(page).collect::<Vec<_>>().join("\n"),
    };
    super::print(&wrapped(&pages, Look::of_stdout()))?;
    Ok(0)
}

/// The pages with lines that fit the reader's: paragraphs and list items are put together and broken
/// anew, headings are left as they are.
fn wrapped(pages: &str, look: Look) -> String {
    let mut out = String::new();
    let mut block = String::new();
    for line in pages.lines() {
        let stands_alone = line.is_empty() || line.starts_with('#');
        if stands_alone || line.starts_with("- ") {
            out += &broken(&std::mem::take(&mut block), look);
        }
        if stands_alone {
            out += &format!("{line}\n");
        } else {
            block += &format!("{line}\n");
        }
    }
    out + &broken(&block, look)
}

/// One paragraph or list item in lines that fit.
fn broken(block: &str, look: Look) -> String {
    match block.strip_prefix("- ") {
        _ if block.is_empty() => String::new(),
        Some(item) => look.wrapped("- ", item),
        None => look.wrapped("", block),
    }
}

/// A tripwire's page as Markdown; with an engine, without what speaks of other engines only.
pub fn page(tripwire: &Tripwire, engine: Option<&Engine>) -> String {
    let mut page = format!(
        "# {} {}\n\n{} (since {})\n",
        tripwire.code, tripwire.slug, tripwire.summary, tripwire.since
    );
    let mut others = false;
    for line in tripwire.doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if !line.starts_with("  ") {
            others = line.strip_prefix("- ").is_some_and(|item| is_of_another(item, engine));
        }
        match line.strip_prefix("# ") {
            Some(heading) => page += &format!("\n## {heading}\n\n"),
            None if line.is_empty() || others => {}
            None => page += &format!("{line}\n"),
        }
    }
    page += &notes(tripwire, engine);
    for (i, threshold) in tripwire.thresholds.iter().enumerate() {
        if i == 0 {
            page += "\n## Thresholds\n\n";
        }
        let words: Vec<&str> = threshold.doc.split_whitespace().collect();
        page += &format!("- `{}` = {}: {}\n", threshold.name, threshold.value, words.join(" "));
    }
    page
}

/// True for a list item that begins with the name of another engine than `wanted`.
fn is_of_another(item: &str, wanted: Option<&Engine>) -> bool {
    let Some(wanted) = wanted else { return false };
    let of = ENGINES.iter().find(|engine| item.starts_with(engine.title()));
    of.is_some_and(|engine| engine.name != wanted.name && !item.contains(wanted.title()))
}

/// What is particular to each engine, or to the one that is asked for.
fn notes(tripwire: &Tripwire, wanted: Option<&Engine>) -> String {
    let mut out = String::new();
    for (name, note) in tripwire.notes {
        let Some(engine) = Engine::named(name) else { continue };
        if wanted.is_none_or(|wanted| wanted.name == *name) {
            out += &format!("- {}: {note}\n", engine.title());
        }
    }
    match (out.is_empty(), wanted) {
        (false, _) => format!("\n## Per engine\n\n{out}"),
        (true, Some(engine)) => {
            format!("\n## Per engine\n\nNothing more that is particular to {}.\n", engine.title())
        }
        (true, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_title_sections_and_thresholds() {
        let page = page(crate::tripwire::named("t9").unwrap(), None);
        assert!(page.starts_with("# T9 falling-ceiling\n\nfewer requests"));
        assert!(page.contains("\n## Why it matters\n\nRequests grow"));
        assert!(page.contains("\n## Thresholds\n\n- `SATURATED` = 0.9: Share"));
        assert!(!page.contains("\n\n\n"), "{page}");
    }

    #[test]
    fn lines_fit_and_headings_and_items_stay_apart() {
        let long = "word ".repeat(30);
        let page = format!("# T1 {long}\n\none\ntwo\n\n## B\n\n- a\n  b\n- {long}\n");
        let text = wrapped(&page, Look::PLAIN);
        assert!(text.starts_with(&format!("# T1 {long}\n\none two\n\n## B\n\n- a b\n- word")));
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.lines().last().unwrap().starts_with("  word"), "{text}");
        for tripwire in TRIPWIRES {
            let page = super::page(tripwire, None);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrapped(&page, Look::PLAIN)), words(&page));
        }
    }

    #[test]
    fn an_engines_page_leaves_the_others_out() {
        let of = |code, engine| page(crate::tripwire::named(code).unwrap(), Engine::named(engine));
        let sglang = of("T7", "sglang");
        assert!(sglang.contains("\n## Per engine\n\n- SGLang: A scheduler"), "{sglang}");
        assert!(!sglang.contains("vLLM") && !sglang.contains("TensorRT"), "{sglang}");
        let vllm = of("T1", "vllm");
        assert!(vllm.contains("- vLLM: the difference") && !vllm.contains("- SGLang: `"), "{vllm}");
        assert!(vllm.contains("Nothing more that is particular to vLLM."));
    }
}
