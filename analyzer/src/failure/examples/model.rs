//! Examples of the kinds of `model.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "disk_full",
        &["No space left"],
        "OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/hub/tmp1'\n",
    ),
    boot(
        "disk_full",
        &["quota"],
        "OSError: [Errno 122] Disk quota exceeded: '/home/u/.cache/huggingface/hub/models--o--m/blobs/ab.incomplete'\n",
    ),
    boot(
        "disk_full",
        &["os error 28"],
        "RuntimeError: Data processing error: File reconstruction error: IO Error: No space left on device (os error 28)\n",
    ),
    boot(
        "checkpoint_corrupt",
        &["MetadataIncompleteBuffer"],
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer\n",
    ),
    boot(
        "checkpoint_corrupt",
        &["corrupt"],
        "llama_model_load: error loading model: tensor 'blk.3.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete\nmain: exiting due to model loading error\n",
    ),
    boot(
        "checkpoint_corrupt",
        &["/m/config.json"],
        "(APIServer pid=1) OSError: It looks like the config file at '/m/config.json' is not a valid JSON file.\n",
    ),
    boot(
        "hf_gated_repo",
        &["HF_TOKEN"],
        "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1)\n\nCannot access gated repo for url https://huggingface.co/some-org/gated-8b/resolve/main/config.json.\n",
    ),
    boot(
        "hf_gated_repo",
        &["gated"],
        "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/some-org/gated-8b.\n401 Client Error. (Request ID: Root=1)\n",
    ),
    boot(
        "hf_gated_repo",
        &["HF_TOKEN"],
        "huggingface_hub.errors.HfHubHTTPError: Client error '403 Forbidden' for url 'https://huggingface.co/some-org/gated-8b/resolve/main/config.json'\n",
    ),
    boot(
        "model_not_found",
        &["no-such-org/m"],
        "OSError: no-such-org/m is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'\nIf this is a private repository, make sure to pass a token\n",
    ),
    boot(
        "model_not_found",
        &["config.json"],
        "ValueError: No such file or directory: '/models/gone/config.json'\n",
    ),
    boot(
        "model_not_found",
        &["nope.gguf"],
        "build: 6000 (abcdef12) with cc (Ubuntu) 13.3.0 for x86_64-linux-gnu\ngguf_init_from_file: failed to open GGUF file '/models/nope.gguf'\nllama_model_load: error loading model: llama_model_loader: failed to load model from /models/nope.gguf\nmain: exiting due to model loading error\n",
    ),
    boot("hf_unauthorized", &["HF_TOKEN"], "requests.exceptions.HTTPError: Invalid user token.\n"),
    boot(
        "hf_unauthorized",
        &["HF_TOKEN"],
        "Traceback (most recent call last):\n  File \"/h/utils/_http.py\", line 3, in hf_raise_for_status\nhuggingface_hub.errors.HfHubHTTPError: Invalid credentials in Authorization header\n",
    ),
    boot(
        "hf_rate_limited",
        &["limit"],
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/x/y\n",
    ),
    boot(
        "hf_rate_limited",
        &["rate limit"],
        "huggingface_hub.errors.HfHubHTTPError: Client error '429 Too Many Requests' for url 'https://huggingface.co/api/models/x/y/tree/main'. We had to rate limit your IP (192.0.2.7).\n",
    ),
    boot(
        "hf_unreachable",
        &["huggingface.co", "offline"],
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/x/y: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n",
    ),
    boot(
        "hf_unreachable",
        &["huggingface.co", "connect"],
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n",
    ),
    boot(
        "hf_unreachable",
        &["huggingface.co"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nhttpx.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1000)\n",
    ),
    boot(
        "cache_permission_denied",
        &["/.cache"],
        "Traceback (most recent call last):\n  File \"/h/file_download.py\", line 3, in f\nPermissionError: [Errno 13] Permission denied: '/.cache'\n",
    ),
    boot(
        "cache_permission_denied",
        &["/data/cache"],
        "OSError: [Errno 30] Read-only file system: '/data/cache'\n",
    ),
    boot(
        "weights_mismatch",
        &["checkpoint"],
        "ValueError: Following weights were not initialized from checkpoint: {'lm_head.weight'}\n",
    ),
    boot(
        "weights_mismatch",
        &["input_scale"],
        "[2026-01-01 10:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/models/llama.py\", line 3, in load_weights\n    param = params_dict[name]\nKeyError: 'model.layers.5.mlp.gate_up_proj.input_scale'\n\n",
    ),
    boot(
        "weights_mismatch",
        &["inv_freq"],
        "2026-01-01T10:00:09.1Z ERROR shard-manager: text_generation_launcher: Error when initializing model\nTraceback (most recent call last):\n  File \"/t/utils/weights.py\", line 3, in get_filename\nRuntimeError: weight gpt_neox.layers.0.attention.rotary_emb.inv_freq does not exist\n rank=0\n",
    ),
    boot(
        "weights_mismatch",
        &["patch_embd"],
        "build: 6000 (abcdef12) with cc (Ubuntu) 13.3.0 for x86_64-linux-gnu\nclip_init: failed to load model '/models/mmproj.gguf': operator(): unable to find tensor v.patch_embd.weight\nmain: exiting due to model loading error\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "checkpoint_corrupt",
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
    ),
    ("checkpoint_corrupt", "_pickle.UnpicklingError: invalid load key, 'v'."),
    (
        "checkpoint_corrupt",
        "RuntimeError: unexpected EOF, expected 4096 more bytes. The file might be corrupted.",
    ),
    (
        "checkpoint_corrupt",
        "OSError: Consistency check failed: file should be of size 4976698672 but has size 2488349336 (model-1.safetensors).",
    ),
    ("checkpoint_corrupt", "gguf_init_from_file_impl: failed to read key-value pairs"),
    ("checkpoint_corrupt", "RuntimeError: incomplete metadata, file not fully covered"),
    (
        "hf_gated_repo",
        "OSError: Access to model o/m is restricted and you are not in the authorized list.",
    ),
    (
        "hf_gated_repo",
        "OSError: You must have access to it and be authenticated to access it. Please log in.",
    ),
    (
        "model_not_found",
        "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. (Request ID: Root=1)",
    ),
    (
        "model_not_found",
        "OSError: Repository Not Found for url: https://huggingface.co/api/models/o/m.",
    ),
    (
        "model_not_found",
        "huggingface_hub.errors.RemoteEntryNotFoundError: 404 Client Error. (Request ID: Root=1)",
    ),
    (
        "model_not_found",
        "httpx.HTTPStatusError: Client error '404 Not Found' for url 'https://huggingface.co/o/m/resolve/main/config.json'",
    ),
    ("model_not_found", "OSError: o/m does not appear to have a file named config.json."),
    (
        "model_not_found",
        "huggingface_hub.errors.HFValidationError: Repo id must use alphanumeric chars or '-', '_', '.': 'o/m:q4'.",
    ),
    ("model_not_found", "OSError: Can't load tokenizer for 'o/m'."),
    (
        "model_not_found",
        "OSError: Incorrect path_or_model_id: '/models/gone'. Please provide either the path to a local folder or the repo_id",
    ),
    ("model_not_found", "RuntimeError: Cannot find any model weights with `/models/empty`"),
    ("model_not_found", "ValueError: No supported config file found in /models/empty"),
    ("model_not_found", "FileNotFoundError: model path /models/gone does not exist"),
    (
        "model_not_found",
        "ValueError: Invalid repository ID or local directory specified: '/models/gone'.",
    ),
    (
        "model_not_found",
        "ValueError: Loading lora /adapters/x failed: No adapter found for /adapters/x",
    ),
    (
        "hf_unreachable",
        "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /o/m (Caused by NameResolutionError(\\\"Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)\\\"))\"))",
    ),
    (
        "hf_unreachable",
        "urllib3.exceptions.NewConnectionError: Failed to establish a new connection: [Errno 101] Network is unreachable",
    ),
    (
        "hf_unreachable",
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache.",
    ),
    (
        "hf_unreachable",
        "OSError: outgoing traffic has been disabled and the file is not in the cache.",
    ),
    ("hf_unreachable", "requests.exceptions.ReadTimeout: huggingface.co read timed out"),
    (
        "hf_unreachable",
        "RuntimeError: Data processing error: CAS service error : Reqwest Error: url: https://cas-server.xethub.hf.co/reconstruction",
    ),
    (
        "weights_mismatch",
        "ValueError: There is no module or parameter named 'model.layers.0.x' in LlamaForCausalLM",
    ),
    (
        "weights_mismatch",
        "AssertionError: Attempted to load weight (torch.Size([4096])) into parameter (torch.Size([2048]))",
    ),
    (
        "weights_mismatch",
        "RuntimeError: size mismatch for lm_head.weight: copying a param with shape torch.Size([2])",
    ),
    ("weights_mismatch", "RuntimeError: Missing key(s) in state_dict: \"lm_head.weight\"."),
    (
        "weights_mismatch",
        "llama_model_load: error loading model: key not found in model: llama.context_length",
    ),
];
