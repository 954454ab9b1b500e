//! `explain`: the page of a tripwire.

use crate::cli::Explain;
use crate::error::InputError;
use crate::tripwire::{TRIPWIRES, Tripwire};

pub(super) fn run(arguments: &Explain) -> Result<u8, InputError> {
    let pages = match &arguments.tripwire {
        Some(name) if !arguments.all => page(super::check::known(name)?),
        _ => TRIPWIRES.iter().map(|tripwire| page(tripwire)).collect::<Vec<_>>().join("\n"),
    };
    super::print(&pages)?;
    Ok(0)
}

/// A tripwire's page as Markdown.
pub fn page(tripwire: &Tripwire) -> String {
    let mut page = format!(
        "# {} {}\n\n{} (since {})\n",
        tripwire.code, tripwire.slug, tripwire.summary, tripwire.since
    );
    for line in tripwire.doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.strip_prefix("# ") {
            Some(heading) => page += &format!("\n## {heading}\n\n"),
            None if line.is_empty() => {}
            None => page += &format!("{line}\n"),
        }
    }
    for (i, threshold) in tripwire.thresholds.iter().enumerate() {
        if i == 0 {
            page += "\n## Thresholds\n\n";
        }
        let words: Vec<&str> = threshold.doc.split_whitespace().collect();
        page += &format!("- `{}` = {}: {}\n", threshold.name, threshold.value, words.join(" "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_title_sections_and_thresholds() {
        let page = page(crate::tripwire::named("t9").unwrap());
        assert!(page.starts_with("# T9 falling-ceiling\n\nfewer requests"));
        assert!(page.contains("\n## Why it matters\n\nRequests grow"));
        assert!(page.contains("\n## Thresholds\n\n- `SATURATED` = 0.9: Share"));
        assert!(!page.contains("\n\n\n"), "{page}");
    }
}
