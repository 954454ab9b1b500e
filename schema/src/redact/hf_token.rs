//! Rule `hf_token`: tokens of the Hugging Face hub, `hf_` and `api_org_`.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "hf_token",
    hint: "hf_|api_org_",
    pattern: LazyLock::new(|| compile("(?:^|[^A-Za-z0-9])((?:hf|api_org)_[A-Za-z0-9]{20,})")),
    cases: Cases {
        masks: &[
            ("token hf_AbCdEfGhIjKlMnOpQrStUvWxYz12345678 used", "token <hf_token-1> used"),
            ("hf_abcdefghijklmnopqrst", "<hf_token-1>"),
            (
                "'hf_abcdefghijklmnopqrst1','hf_abcdefghijklmnopqrst2'",
                "'<hf_token-1>','<hf_token-2>'",
            ),
            ("api_org_abcdefghijklmnopqrstuvwxyz", "<hf_token-1>"),
            (
                "x=https://u:hf_abcdefghijklmnopqrst@huggingface.co",
                "x=https://u:<hf_token-1>@huggingface.co",
            ),
        ],
        keeps: &[
            "hf_chat",
            "hf_output_len=128",
            "hf_overrides_of_the_model_config",
            "--hf-token",
            "hf_abcdefghij",
            "shf_abcdefghijklmnopqrst",
        ],
    },
};
