//! Rule `prompt_text`: prompts and generated text, in request logs and result files, become their
//! length. Never matched by what they say: only by the name before them.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use super::value::value;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// See the module.
pub(super) struct PromptText;

/// A name whose quoted value, or list of quoted values, is text of the user or of the model.
static TEXT: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)(?:^|[^A-Za-z0-9_./-])(?:(?:system_|user_|raw_|input_|output_)?prompts?|messages|content|reasoning(?:_content)?|(?:generated_|output_|input_|prompt_|response_)?texts?|inputs?|outputs?|completions?|question|answer)(?:\\*["'])?[ \t]*[:=][ \t]*"#,
    )
});

/// A name whose list of numbers is text as token ids.
static IDS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?:^|[^A-Za-z0-9_])(?:prompt_token_ids|output_token_ids|input_ids|output_ids|token_ids)(?:\\*["'])?[ \t]*[:=][ \t]*\[([0-9][0-9, ]*)"#,
    )
});

impl Rule for PromptText {
    fn name(&self) -> &'static str {
        "prompt_text"
    }

    fn hint(&self) -> &'static str {
        r#"(?i)(?:prompts?|messages|content|reasoning|texts?|inputs?|outputs?|completions?|question|answer)\\*["']?[ \t]*[:=][ \t]*(?:[bur]?\\*["']|\[)|_ids\\*["']?[ \t]*[:=][ \t]*\[[0-9]"#
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for name in TEXT.find_iter(line) {
            if line.get(name.end()) == Some(&b'[') {
                let end = listed(line, name.end() + 1, hits);
                if !hits.look_at(end - name.end(), line) {
                    return;
                }
            } else {
                let found = value(line, name.end());
                let text = line.get(found.span.clone()).unwrap_or_default();
                // A scrape that is kept in JSON is no one's text.
                if found.quoted && !text.starts_with(b"# HELP") && !text.starts_with(b"# TYPE") {
                    mask(found.span, hits);
                }
            }
        }
        for ids in IDS.captures_iter(line).filter_map(|found| found.get(1)) {
            let text = format!("\"<prompt_text {} bytes>\"", ids.as_bytes().trim_ascii_end().len());
            hits.replace(ids.start()..ids.start() + ids.as_bytes().trim_ascii_end().len(), text);
        }
    }

    fn opens(&self, line: &[u8]) -> bool {
        let open =
            TEXT.find_iter(line).last().map(|name| line.get(name.end()..).unwrap_or_default());
        open.is_some_and(|rest| rest.trim_ascii() == b"[")
    }

    fn inside(&self, line: &[u8], _: usize, hits: &mut Hits) -> bool {
        let start = line.len() - line.trim_ascii_start().len();
        if line.get(start).is_some_and(|b| b"\"'".contains(b)) {
            let found = value(line, start);
            let behind = line.get(found.end..).unwrap_or_default().trim_ascii();
            if matches!(behind, b"" | b"," | b"]" | b"],") {
                mask(found.span, hits);
            }
        }
        !line.trim_ascii().starts_with(b"]") && !line.trim_ascii().ends_with(b"]")
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                (
                    "Received request c-1: prompt: 'Hello you', params: SamplingParams(n=1)",
                    "Received request c-1: prompt: '<prompt_text 9 bytes>', params: SamplingParams(n=1)",
                ),
                (
                    r#"{"role": "user", "content": "a \"b\" c", "n": 1}"#,
                    r#"{"role": "user", "content": "<prompt_text 9 bytes>", "n": 1}"#,
                ),
                (
                    r#""generated_texts": ["one", "two two"], "x": "y""#,
                    r#""generated_texts": ["<prompt_text 3 bytes>", "<prompt_text 7 bytes>"], "x": "y""#,
                ),
                (
                    "text='a', input_ids=[1, 22, 3])",
                    "text='<prompt_text 1 bytes>', input_ids=[\"<prompt_text 8 bytes>\"])",
                ),
                (r#"\"prompt\": \"abc\","#, r#"\"prompt\": \"<prompt_text 3 bytes>\","#),
                (
                    "{'text': 'one', 'output_ids': [5]}",
                    "{'text': '<prompt_text 3 bytes>', 'output_ids': [\"<prompt_text 1 bytes>\"]}",
                ),
            ],
            keeps: &[
                "prompt: None, prompt_token_ids: None",
                "\"input_lens\": [128, 128], \"output_lens\": [5]",
                "{\"error\": {\"message\": \"Start it with --metrics\"}}",
                "Avg prompt throughput: 512.0 tokens/s",
                "stop_token_ids=[1, 2], text=5",
                "\"content\": \"<prompt_text 9 bytes>\"",
                "content-type: 'application/json'",
                "{\"text\": \"# HELP vllm:x y\\nvllm:x 1\"}",
                "\"prompt\": {\"input_tokens\": 128}",
            ],
        }
    }
}

fn mask(span: Range<usize>, hits: &mut Hits) {
    let text = format!("<prompt_text {} bytes>", span.len());
    hits.replace(span, text);
}

/// Masks the quoted strings of a list whose first element begins at `at`; inner lists and maps end
/// it. Gives where it ends.
fn listed(line: &[u8], mut at: usize, hits: &mut Hits) -> usize {
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' | b'\t' | b',' => at += 1,
            b'"' | b'\'' | b'\\' => {
                let found = value(line, at);
                if !found.quoted {
                    return at;
                }
                at = found.end.max(at + 1);
                mask(found.span, hits);
            }
            _ => return at,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::redact::{Masker, Seeds};

    #[test]
    fn a_list_of_texts_over_many_lines_is_masked() {
        let json = "{\n \"generated_texts\": [\n  \"one, two\",\n  \"three\"\n ],\n \"model\": \"Qwen\"\n}\n";
        let masked = Masker::new(Seeds::default()).text(json.as_bytes()).into_owned();
        let expected = "{\n \"generated_texts\": [\n  \"<prompt_text 8 bytes>\",\n  \
                        \"<prompt_text 5 bytes>\"\n ],\n \"model\": \"Qwen\"\n}\n";
        assert_eq!(String::from_utf8(masked).unwrap(), expected);
    }
}
