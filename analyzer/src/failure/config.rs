//! The model and the options do not go together.

use super::kind::{Kind, shorten};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "unsupported_architecture",
        "neither the engine nor its model library knows the model's architecture",
        &[
            r"model type `?(?<name>[\w.-]+)`? but Transformers does not recognize this architecture",
            r"does not recognize this architecture",
            r"unknown model architecture: '?(?<name>[\w.-]+)",
            r"Model architectures? (?<name>\[[^\]]*\]) (?:are|is) not supported",
            r"(?<name>[\w.\[\]']+) (?:are|is) not supported for now",
            r"unknown pre-tokenizer type: '(?<name>[\w.-]+)",
            r"(?i)unsupported model type (?<name>[\w.-]+)",
            r"(?i)unrecognized model in (?<name>\S+)",
            r"(?<name>\w+) has no (?:vLLM|SG[Ll]ang) implementation and the Transformers implementation is not compatible",
            r"(?i)(?:unknown|unsupported) (?:model )?architecture:? '?(?<name>[\w.-]+)",
            r"(?<name>\w+ForC\w+) is not (?:yet )?supported",
        ],
        |t| {
            let name = t.part("name").unwrap_or_default().trim_matches(['[', ']', '\'']);
            if name.is_empty() {
                return t.say(
                    "the model's architecture is not supported",
                    "upgrade the engine and transformers",
                );
            }
            let who = if t.text.contains("Transformers") {
                "the installed Transformers"
            } else {
                "this version"
            };
            format!(
                "the model's architecture {name} is not supported by {who}: {}; upgrade the engine and transformers",
                t.quote(110)
            )
        },
    ),
    Kind::new(
        "trust_remote_code",
        "the model repository holds code of its own, which must be allowed to run",
        &[
            r"contains custom code which must be executed",
            r"(?i)(?:requires you to execute|pass the (?:argument|option)|setting|set|enable)\b.{0,60}trust[-_]remote[-_]code",
            r"trust_remote_code=True` to allow",
        ],
        |t| {
            let repo = t
                .find(r"repository (?:for )?(\S+) contains custom code")
                .unwrap_or("the model's repository");
            format!(
                "{repo} contains custom code: pass --trust-remote-code (trust_remote_code=True) if you trust it"
            )
        },
    ),
    Kind::new(
        "tp_not_divisible",
        "a size of the model cannot be split over the ranks",
        &[
            r"(?<what>[Tt]otal number of attention heads|[\w ]+?) \((?<n>\d+)\) must be divisible by (?<by>[\w ]+?) \((?<ranks>\d+)\)",
            r"(?i)must be divisible by .{0,60}(?:parallel|shard|rank|world|gpus|partition|\b(?:attn_)?[tempd]p(?:[_ -]size)?\b)",
            r"(?i)(?:heads?|hidden|intermediate|vocab|experts?|layers?)\w*.{0,60} must be divisible by",
            r"(?<n>\d+) is not divisible by (?<ranks>\d+)",
            r"not divisible by weight quantization block_[nk]",
            r"(?i)not divisible by .{0,60}(?:parallel|shard|rank|world|gpus|partition|\b(?:attn_)?[tempd]p(?:[_ -]size)?\b)",
        ],
        |t| match (t.part("n"), t.part("ranks")) {
            (Some(n), Some(ranks)) => {
                let what = t
                    .part("what")
                    .map_or_else(|| "a size of the model".to_owned(), |w| shorten(w, 60));
                format!(
                    "{what} ({n}) is not divisible by the parallel size ({ranks}): choose a parallel size that divides {n}{}",
                    divisors(n)
                )
            }
            _ => t.say(
                "a size of the model is not divisible by the parallel size",
                "choose another one",
            ),
        },
    ),
    Kind::new(
        "lora_rank_too_big",
        "an adapter is larger than the limit set for adapters",
        &[
            r"LoRA rank (?<rank>\d+) is greater than max_lora_rank (?<max>\d+)",
            r"greater than max_lora_rank",
            r"with rank (?<rank>\d+) is incompatible with the current LoRA memory pool",
            r"(?i)lora rank .{0,40}(?:exceeds|larger than|must be)",
        ],
        |t| match (t.part("rank"), t.part("max")) {
            (Some(rank), Some(max)) => format!(
                "a LoRA adapter has rank {rank}, greater than max_lora_rank {max}: start with --max-lora-rank {rank}"
            ),
            (Some(rank), None) => format!(
                "a LoRA adapter of rank {rank} does not fit the adapters' memory pool: raise --max-lora-rank to {rank}, or list its modules in --lora-target-modules"
            ),
            _ => t.say("a LoRA adapter's rank is greater than the limit", "raise --max-lora-rank"),
        },
    ),
    Kind::new(
        "max_model_len_too_long",
        "the length asked for is longer than the model was made for",
        &[
            r"max_model_len \((?<n>\d+)\) is greater than the derived max_model_len \((?:\w+=)?(?<max>[\d.]+)",
            r"(?:Error: .*)context_length \((?<n>\d+)\) is greater than the derived context_length \((?<max>\d+)\)",
            r"greater than the derived max_model_len",
            r"(?i)context length \(?\d+\)? (?:is )?(?:greater|longer) than the model's",
        ],
        |t| match (t.part("n"), t.part("max")) {
            (Some(n), Some(max)) => format!(
                "a length of {n} is greater than the model's own length {}: lower {}",
                whole(max),
                t.advise("--max-model-len", "--context-length", "--max_seq_len")
            ),
            _ => t.say("the length asked for is longer than the model's own", "lower it"),
        },
    ),
    Kind::new(
        "quantization_mismatch",
        "the quantization asked for is not the checkpoint's",
        &[
            r"(?i)quantization method specified in the model config \((?<is>[\w-]+)\) does not match .*?\((?<asked>[\w-]+)\)",
            r"does not match the quantization method",
            r"Specified quant_algo=(?<asked>\w+), conflicting with quant_algo=(?<is>\w+)",
            r"Cannot find the config file for (?<asked>\w+)",
        ],
        |t| match (t.part("is"), t.part("asked")) {
            (Some(is), Some(asked)) => format!(
                "the checkpoint is quantized as {is}, but {asked} was asked for: leave --quantization out or name {is}"
            ),
            (None, Some(asked)) => format!(
                "the checkpoint is not quantized as {asked}, which was asked for (no config file for {asked}): leave --quantization out or serve a quantized checkpoint"
            ),
            _ => t.say(
                "the quantization asked for is not the checkpoint's",
                "leave --quantization out",
            ),
        },
    ),
    Kind::new(
        "batched_tokens_too_few",
        "a step may not hold even one request of the longest length",
        &[
            r"max_num_batched_tokens \((?<n>\d+)\) is smaller than (?<what>max_model_len|max_num_seqs) \((?<m>\d+)\)",
            r"max_num_batched_tokens .{0,40}(?:must be|smaller)",
        ],
        |t| match (t.part("n"), t.part("what"), t.part("m")) {
            (Some(n), Some(what), Some(m)) => format!(
                "max_num_batched_tokens {n} is smaller than {what} {m}: raise --max-num-batched-tokens, lower the other, or allow chunked prefill"
            ),
            _ => t.say("max_num_batched_tokens is too small", "raise --max-num-batched-tokens"),
        },
    ),
    Kind::new(
        "speculative_config_invalid",
        "the options for speculative decoding are incomplete or contradict the model",
        &[
            r"num_speculative_tokens (?:must|should|is required)",
            r"(?i)validation errors? for SpeculativeConfig",
            r"(?i)(?:unsupported|unknown|invalid) speculative",
            r"(?i)speculative[ _-](?:config|decoding|model|method|algorithm)\b.{0,80}(?:must|invalid|not supported|unsupported|required|cannot|unknown)",
            r"(?i)(?:draft model|eagle|medusa|mtp)\b.{0,80}(?:must|invalid|not supported|does not support|required|mismatch)",
        ],
        |t| {
            let why = t
                .find(r"Value error, (.*?)(?: \[type=|$)")
                .map_or_else(|| t.quote(150), |w| shorten(w, 150));
            format!(
                "the speculative decoding options are invalid: {why}; give what is missing in --speculative-config"
            )
        },
    ),
    Kind::new(
        "config_invalid",
        "the options were checked and refused",
        &[r"\d+ validation errors? for (?<what>\w+)"],
        |t| {
            let what = t.part("what").unwrap_or("the configuration");
            let why = t
                .find(r"Value error, (.*?)(?: \[type=|$)")
                .or_else(|| t.find(r"Assertion failed, (.*?)(?: \[type=|$)"))
                .or_else(|| t.find(r"^\s+(Input should be .*?)(?: \[type=|$)"))
                .or_else(|| t.find(r"^\s+(.*?) \[type="));
            let field =
                t.tail.first().map(|f| f.trim()).filter(|f| !f.is_empty() && !f.contains(' '));
            match (why, field) {
                (Some(why), Some(field)) => format!(
                    "{what} refused the option {}: {}",
                    shorten(field, 40),
                    shorten(why, 150)
                ),
                (Some(why), None) => format!("{what} refused the options: {}", shorten(why, 170)),
                (None, _) => t.say("the configuration was refused", "see the lines below this one"),
            }
        },
    ),
    Kind::new(
        "option_not_supported",
        "an option does not go with this model, platform or other option",
        &[
            r"(?:NotImplementedError|ValueError|AssertionError|RuntimeError): .{0,160}\b(?:is|are) not (?:yet |currently )?supported\b.{0,120}",
            r"(?:NotImplementedError|ValueError|AssertionError|RuntimeError): .{0,120}\bdoes(?: not|n't) (?:yet |currently )?support\b.{0,120}",
            r"(?:NotImplementedError|ValueError|AssertionError|RuntimeError): (?:.{0,80} )?[Oo]nly\b.{0,80}\b(?:is|are) supported\b.{0,80}",
            r"(?:NotImplementedError|ValueError): (?:Cannot use|Unknown|Unsupported|Invalid) .*",
            r"No valid attention backend found.*",
            r"NotImplementedError: .{0,160}\b(?:requires?|only|support|implemented|available)\b.{0,120}",
        ],
        |t| t.say("an option or feature is not supported here", "change it or the version"),
    ),
];

/// `32768.0` as `32768`.
fn whole(number: &str) -> &str {
    number.split_once('.').map_or(number, |(whole, _)| whole)
}

fn divisors(n: &str) -> String {
    let Ok(n) = n.parse::<u32>() else { return String::new() };
    let fits: Vec<String> =
        [1, 2, 4, 8, 16].iter().filter(|d| n % **d == 0).map(ToString::to_string).collect();
    if fits.len() > 1 { format!(" (such as {})", fits.join(", ")) } else { String::new() }
}
