//! Examples of the kinds of `config.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "unsupported_architecture",
        &["mistral9"],
        "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'mistral9'\nmain: exiting due to model loading error\n",
    ),
    boot(
        "unsupported_architecture",
        &["NewForCausalLM"],
        "ValueError: Model architectures ['NewForCausalLM'] are not supported for now. Supported architectures: dict_keys(['LlamaForCausalLM'])\n",
    ),
    boot(
        "unsupported_architecture",
        &["newtok"],
        "llama_model_load: error loading model: error loading model vocabulary: unknown pre-tokenizer type: 'newtok'\nmain: exiting due to model loading error\n",
    ),
    boot(
        "unsupported_architecture",
        &["NewForCausalLM"],
        "[2026-02-27 03:34:58] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/model_loader/utils.py\", line 70, in resolve_transformers_arch\nValueError: NewForCausalLM has no SGlang implementation and the Transformers implementation is not compatible with SGLang.\n",
    ),
    boot(
        "trust_remote_code",
        &["--trust-remote-code"],
        "ValueError: Loading some-org/custom requires you to execute the configuration file in that repo on your local machine. Make sure you have read the code there to avoid malicious use, then set the option `trust_remote_code=True` to remove this error.\n",
    ),
    boot(
        "trust_remote_code",
        &["--trust-remote-code"],
        "(APIServer pid=1) RuntimeError: Failed to load the model config. If the model is a custom model not yet available in the HuggingFace transformers library, consider setting `trust_remote_code=True` in LLM or using the `--trust-remote-code` flag in the CLI.\n",
    ),
    boot("tp_not_divisible", &["14", "4"], "AssertionError: 14 is not divisible by 4\n"),
    boot(
        "tp_not_divisible",
        &["28", "8"],
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n(APIServer pid=7)   Value error, Total number of attention heads (28) must be divisible by tensor parallel size (8). [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n",
    ),
    boot(
        "tp_not_divisible",
        &["192", "block_n"],
        "(EngineCore pid=5) ERROR 09-05 11:20:20 [core.py:1] ValueError: The output_size of gate's and up's weight = 192 is not divisible by weight quantization block_n = 128.\n",
    ),
    boot(
        "lora_rank_too_big",
        &["64", "16"],
        "ValueError: LoRA rank 64 is greater than max_lora_rank 16.\n",
    ),
    boot(
        "lora_rank_too_big",
        &["rank 64", "--max-lora-rank"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/lora/lora_manager.py\", line 3, in validate_new_adapter\nValueError: LoRA adapter support-de with rank 64 is incompatible with the current LoRA memory pool configuration. Please ensure that the LoRA adapter's rank is within the configured `--max-lora-rank` and that the target modules are included in `--lora-target-modules`.\n\n",
    ),
    boot(
        "max_model_len_too_long",
        &["65536", "32768"],
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n(APIServer pid=7)   Value error, User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=32768.0 or model_max_length=None in model's config.json). [type=value_error]\n",
    ),
    boot(
        "max_model_len_too_long",
        &["65536", "32768"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m', context_length=65536)\nTraceback (most recent call last):\n  File \"/s/configs/model_config.py\", line 3, in __init__\nValueError: Warning: User-specified context_length (65536) is greater than the derived context_length (32768). This may lead to incorrect model outputs or CUDA errors. To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1\n",
    ),
    boot(
        "quantization_mismatch",
        &["gptq", "awq"],
        "ValueError: Quantization method specified in the model config (gptq) does not match the quantization method specified in the `quantization` argument (awq).\n",
    ),
    boot(
        "quantization_mismatch",
        &["FP8", "NVFP4"],
        "[TensorRT-LLM] TensorRT LLM version: 1.1.0\n[01/01/2026-10:00:00] [TRT-LLM] [RANK 0] [E] Failed to initialize executor on rank 0: Specified quant_algo=FP8, conflicting with quant_algo=NVFP4 from HF quant config.\n",
    ),
    boot(
        "quantization_mismatch",
        &["awq"],
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n(APIServer pid=7)   Value error, Cannot find the config file for awq [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n",
    ),
    boot(
        "batched_tokens_too_few",
        &["512", "2048"],
        "ValueError: max_num_batched_tokens (512) is smaller than max_model_len (2048). This effectively limits the maximum sequence length.\n",
    ),
    boot(
        "batched_tokens_too_few",
        &["max_num_batched_tokens", "max_num_seqs"],
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n(APIServer pid=1)   Value error, max_num_batched_tokens (128) must be greater than or equal to max_num_seqs (256). [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n",
    ),
    boot(
        "speculative_config_invalid",
        &["num_speculative_tokens"],
        "ValueError: num_speculative_tokens must be provided with speculative_model unless the draft model config contains an n_predict parameter.\n",
    ),
    boot(
        "speculative_config_invalid",
        &["eagle9"],
        "(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/v/config/speculative.py\", line 3, in __post_init__\n(APIServer pid=1) NotImplementedError: Unsupported speculative method: 'eagle9'\n",
    ),
    boot(
        "config_invalid",
        &["CacheConfig", "block_size"],
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\nblock_size\n  Input should be 1, 8, 16, 32, 64 or 128 [type=literal_error, input_value=17, input_type=int]\n",
    ),
    boot(
        "config_invalid",
        &["TorchLlmArgs", "free_gpu_mem_fraction", "Extra inputs"],
        "[TensorRT-LLM] TensorRT LLM version: 1.1.0\nTraceback (most recent call last):\n  File \"/t/commands/serve.py\", line 3, in serve\npydantic_core._pydantic_core.ValidationError: 2 validation errors for TorchLlmArgs\nkv_cache_config.free_gpu_mem_fraction\n  Extra inputs are not permitted [type=extra_forbidden, input_value=0.8, input_type=float]\n    For further information visit https://errors.pydantic.dev/2.11/v/extra_forbidden\n",
    ),
    boot(
        "option_not_supported",
        &["Pipeline parallelism"],
        "NotImplementedError: Pipeline parallelism is not supported for this model. Supported models implement the `SupportsPP` interface.\n",
    ),
    boot(
        "option_not_supported",
        &["Flash Attention"],
        "2026-01-01T10:00:09.1Z ERROR shard-manager: text_generation_launcher: Error when initializing model\nTraceback (most recent call last):\n  File \"/t/models/__init__.py\", line 3, in get_model\nNotImplementedError: Sharded Llama requires Flash Attention enabled models.\n rank=0\nError: ShardCannotStart\n",
    ),
    boot(
        "option_not_supported",
        &["fp8_ds_mla"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(kv_cache_dtype=fp8_ds_mla). Reasons: {FLASH_ATTN: [kv_cache_dtype not supported], FLASHINFER: [kv_cache_dtype not supported]}.\n",
    ),
    boot(
        "option_not_supported",
        &["HybridAttentionBackend"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nAssertionError: Currently HybridAttentionBackend does not support speculative decoding.\n",
    ),
    boot(
        "option_not_supported",
        &["topk=1"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nValueError: Only speculative-eagle-topk=1 is supported on SpecV2\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "unsupported_architecture",
        "ValueError: The checkpoint you are trying to load has model type `newlm` but Transformers does not recognize this architecture.",
    ),
    ("unsupported_architecture", "ValueError: Unsupported model type newlm"),
    (
        "unsupported_architecture",
        "ValueError: Unrecognized model in /models/new. Should have a `model_type` key in its config.json",
    ),
    ("unsupported_architecture", "ValueError: NewForCausalLM is not supported"),
    (
        "trust_remote_code",
        "ValueError: The repository o/m contains custom code which must be executed to correctly load the model.",
    ),
    (
        "trust_remote_code",
        "Please pass the argument `trust_remote_code=True` to allow custom code to be run.",
    ),
    ("tp_not_divisible", "ValueError: 71 heads are not divisible by tensor parallel size 2"),
    ("lora_rank_too_big", "RuntimeError: LoRA rank 128 exceeds the limit of 64"),
    (
        "max_model_len_too_long",
        "ValueError: context length 65536 is greater than the model's maximum of 32768",
    ),
    (
        "speculative_config_invalid",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig",
    ),
    (
        "speculative_config_invalid",
        "ValueError: speculative decoding cannot be used with pipeline parallelism",
    ),
    (
        "speculative_config_invalid",
        "ValueError: The draft model must have the vocabulary of the target model",
    ),
];
