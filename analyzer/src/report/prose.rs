//! A tripwire's page as markup.
//!
//! The pages are our own and use four things only: headings, paragraphs, lists, and `code`.

use maud::{Markup, html};

/// One block of a page.
#[derive(Debug, PartialEq)]
enum Block {
    Heading(String),
    Paragraph(String),
    List(Vec<String>),
}

/// A whole page; headings become `h4`.
pub(super) fn page(doc: &str) -> Markup {
    let blocks = blocks(doc);
    html! { @for block in &blocks { (render(block)) } }
}

/// The blocks under one heading of a page.
pub(super) fn chapter(doc: &str, heading: &str) -> Option<Markup> {
    let blocks = blocks(doc);
    let mut rest = blocks.iter().skip_while(|block| **block != Block::Heading(heading.into()));
    rest.next()?;
    let own: Vec<&Block> = rest.take_while(|block| !matches!(block, Block::Heading(_))).collect();
    Some(html! { @for block in own { (render(block)) } })
}

fn blocks(doc: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    for line in doc.lines() {
        let line = line.trim();
        if line.is_empty() {
            open = false;
        } else if let Some(heading) = line.strip_prefix("# ") {
            out.push(Block::Heading(heading.into()));
            open = false;
        } else if let Some(item) = line.strip_prefix("- ") {
            match out.last_mut() {
                Some(Block::List(items)) => items.push(item.into()),
                _ => out.push(Block::List(vec![item.into()])),
            }
            open = true;
        } else {
            let text = match out.last_mut().filter(|_| open) {
                Some(Block::Paragraph(text)) => Some(text),
                Some(Block::List(items)) => items.last_mut(),
                _ => None,
            };
            match text {
                Some(text) => text.extend([" ", line]),
                None => out.push(Block::Paragraph(line.into())),
            }
            open = true;
        }
    }
    out
}

fn render(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => h4 { (text) },
            Block::Paragraph(text) => p { (inline(text)) },
            Block::List(items) => ul { @for item in items { li { (inline(item)) } } },
        }
    }
}

/// Text in which every second piece between backquotes is code.
fn inline(text: &str) -> Markup {
    html! {
        @for (i, piece) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = " # Why it matters\n A `<b>` is\n text.\n\n - one\n   more\n - two\n\n # References\n - x\n";

    #[test]
    fn a_page_keeps_its_blocks() {
        assert_eq!(
            page(DOC).into_string(),
            "<h4>Why it matters</h4><p>A <code>&lt;b&gt;</code> is text.</p>\
             <ul><li>one more</li><li>two</li></ul><h4>References</h4><ul><li>x</li></ul>"
        );
    }

    #[test]
    fn a_chapter_ends_at_the_next_heading() {
        let chapter = chapter(DOC, "Why it matters").unwrap().into_string();
        assert!(
            chapter.starts_with("<p>A ") && chapter.ends_with("<li>two</li></ul>"),
            "{chapter}"
        );
        assert!(super::chapter(DOC, "Who").is_none());
    }
}
