//! The model's files: not allowed, not reachable, not there, not whole, or no place for them.

use super::kind::{Kind, shorten};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "disk_full",
        "a disk is full (shared memory has its own kind)",
        &[r"No space left on device", r"(?i)\bdisk quota exceeded"],
        |t| t.say("the disk is full", "free space, or move the cache with HF_HOME"),
    ),
    Kind::new(
        "checkpoint_corrupt",
        "a file of the model is truncated or damaged",
        &[
            r"SafetensorError",
            r"InvalidHeaderDeserialization|MetadataIncompleteBuffer|HeaderTooLarge|HeaderTooSmall|InvalidHeaderLength",
            r"PytorchStreamReader failed",
            r"(?i)invalid load key",
            r"(?i)unexpected EOF, expected \d+ more bytes",
            r"(?i)consistency check failed: file should be of size",
            r"(?i)data is not within the file bounds",
            r"(?i)gguf_init_from_file\w*: (?:failed to read|.*\binvalid)|invalid magic",
            r"incomplete metadata, file not fully covered",
            r"(?i)config file at '[^']*' is not a valid JSON file",
        ],
        |t| t.say("a file of the model is corrupt or truncated", "delete it and download it again"),
    ),
    Kind::new(
        "hf_gated_repo",
        "the model hub demands an account that was granted access",
        &[
            r"GatedRepoError",
            r"(?i)(?:cannot )?access(?: to)?(?: model)? (?:a )?gated repo",
            r"(?i)Access to model .* is restricted",
            r"(?i)you are trying to access a gated repo",
            r"(?i)you must have access to it and be authenticated",
        ],
        |t| {
            let repo = t.find(r"(?:huggingface\.co|hf\.co)/(?:api/models/)?([\w.-]+/[\w.-]+)").unwrap_or("the model");
            format!("the model hub refused {repo} (gated repo): {}; request access on its page and set HF_TOKEN", t.quote(90))
        },
    ),
    Kind::new(
        "model_not_found",
        "the model, or its configuration, is not at the place named",
        &[
            r"RepositoryNotFound",
            r"(?i)Repository Not Found for url",
            r"\b(?:Remote)?EntryNotFoundError",
            r"404 Client Error|Client error '404 ",
            r"(?i)is not a local folder and is not a valid model identifier",
            r"(?i)does not appear to have (?:a file named|files named)",
            r"(?i)Repo id must (?:be in the form|use alphanumeric)",
            r"HFValidationError",
            r"(?i)can't load (?:the configuration|tokenizer|the model) (?:of|for)",
            r"Incorrect path_or_model_id",
            r"No such file or directory: '[^']*(?:config\.json|\.safetensors|\.gguf|tokenizer[^']*)'",
            r"(?i)failed to open GGUF file",
            r"Cannot find any (?:model weights|\.safetensors)",
            r"(?i)no \w* ?config(?:\.json)? (?:file )?found in",
            r"(?i)model (?:path|directory|file) .{0,120}(?:does not exist|not found)",
            r"Invalid repository ID or local directory specified",
            r"No adapter found for \S+",
        ],
        |t| t.say("the model was not found at the place named", "check the name or path, and HF_TOKEN if it is private"),
    ),
    Kind::new(
        "hf_unauthorized",
        "the model hub refused the request",
        &[
            r"40[13] Client Error|Client error '40[13] ", r"(?i)Invalid user token|Invalid credentials in Authorization header|token .* is (?:invalid|expired)"],
        |t| t.say("the model hub refused the download", "set a valid HF_TOKEN with access to the model"),
    )
    // A status without a reason is how the hub answers for a gated model, too.
    .refined(|t| if t.text.contains("Invalid") || t.text.contains("token ") { "hf_unauthorized" } else { "hf_gated_repo" }),
    Kind::new(
        "hf_rate_limited",
        "the model hub asked to come back later",
        &[r"429 Client Error|429 Too Many Requests|\bHTTP Error 429"],
        |t| t.say("the model hub limits this address's requests", "wait, or download once and serve the local path"),
    ),
    Kind::new(
        "hf_unreachable",
        "the model hub cannot be reached and the files are not in the local cache",
        &[
            r"Failed to (?:establish a new connection|resolve '?\\?'?[\w.-]*huggingface)",
            r"(?i)Failed to resolve",
            r"(?i)(?:temporary failure in name resolution|name or service not known|nodename nor servname|getaddrinfo failed)",
            r"(?i)offline mode is enabled",
            r"LocalEntryNotFound",
            r"OfflineModeIsEnabled",
            r"(?i)couldn't connect to '?https://huggingface",
            r"(?i)outgoing traffic has been disabled",
            r"(?i)huggingface\.co.{0,120}(?:Max retries exceeded|timed out|Connection (?:refused|reset)|unreachable)",
            r"(?i)HTTPSConnectionPool\(host=\\?'?(?:huggingface|hf|www\.modelscope)",
            r"(?i)cannot find the requested files in the (?:local|disk) cache",
            r"httpx\.(?:Connect|Proxy|Read)(?:Error|Timeout)|CERTIFICATE_VERIFY_FAILED",
            r"(?i)\berror\b.*xethub\.hf\.co",
        ],
        |t| {
            let host = t.find(r"((?:[\w-]+\.)*(?:huggingface\.co|hf\.co|modelscope\.cn))").unwrap_or("huggingface.co");
            let why = if t.text.contains("ffline") || t.text.contains("HF_HUB_OFFLINE") {
                "offline mode is on"
            } else if t.text.contains("esol") || t.text.contains("not known") {
                "its name could not be resolved"
            } else {
                "no connection"
            };
            format!("{host} cannot be reached ({why}) and the model is not in the local cache: {}; serve a local path or fill the cache first", shorten(plain_tail(t.text), 90))
        },
    ),
    Kind::new(
        "cache_permission_denied",
        "the user the server runs as may not write where it must",
        &[r"Permission denied: '?(?<path>[^']+)'?", r"Read-only file system: '?(?<path>[^']+)'?", r"PermissionError: .*"],
        |t| match t.part("path") {
            Some(path) => format!(
                "permission denied on '{}': the server's user may not write there; set HOME, or the cache's own variable, to a writable folder",
                shorten(path, 120)
            ),
            None => t.say("permission denied", "run as a user that may write there"),
        },
    ),
    Kind::new(
        "weights_mismatch",
        "the weights do not fit the model they are loaded into",
        &[
            r"(?i)following weights were not initialized from checkpoint",
            r"(?i)there is no module or parameter named",
            r"(?i)attempted to load weight .* into parameter",
            r"(?i)size mismatch for ",
            r"(?i)missing key\(s\) in state_dict",
            r"KeyError: '(?:model|transformer|language_model|lm_head)\.[\w.]+'|KeyError: '(?:\w+\.)*layers\.\d+\.[\w.]+'",
            r"weight \S+\.\S+ does not exist",
            // llama.cpp's.
            r"missing tensor '|unable to find tensor \S+|tensor '\S+' not found|wrong number of tensors; expected|tensor '\S+' has wrong shape",
            r"key not found in model: ",
        ],
        |t| t.say("the weights do not fit the model", "the checkpoint is of another architecture or quantization than this version expects"),
    ),
];

/// The last sentence of a chain of nested network errors is the one that says something.
fn plain_tail(text: &str) -> &str {
    text.rsplit("Caused by ").next().unwrap_or(text).trim_end_matches([')', '\'', ',', ' '])
}
