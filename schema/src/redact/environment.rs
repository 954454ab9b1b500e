//! Which environment variables are recorded: an allow-list of names by family, less every name that
//! speaks of a secret. Of all others not even the name is kept.

use super::seeds::is_refused;

/// Families whose settings change how a server or a load tool behaves.
const FAMILIES: &[&str] = &[
    "VLLM_",
    "SGLANG_",
    "SGL_",
    "TRTLLM_",
    "TLLM_",
    "TRT_",
    "LLAMA_",
    "GGML_",
    "LMDEPLOY_",
    "DYN_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "NVTE_",
    "CUBLAS_",
    "CUDNN_",
    "FLASHINFER_",
    "TRITON_",
    "TORCH_",
    "TORCHINDUCTOR_",
    "PYTORCH_",
    "OMP_",
    "MKL_",
    "KMP_",
    "GLOO_",
    "UCX_",
    "RAY_",
    "HSA_",
    "LC_",
    "MALLOC_",
];

/// Single names.
const NAMES: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "GOMP_CPU_AFFINITY",
    "OPENBLAS_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    "HF_HUB_OFFLINE",
    "HF_HOME",
    "HF_HUB_CACHE",
    "TRANSFORMERS_OFFLINE",
    "TRANSFORMERS_CACHE",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "PYTHONMALLOC",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PROMETHEUS_MULTIPROC_DIR",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_CPU_BIND",
];

/// Allowed although the name contains a refused word: they hold no secret.
const HARMLESS: &[&str] = &["TOKENIZERS_PARALLELISM"];

/// True when the variable may be recorded.
pub(super) fn is_allowed(name: &str) -> bool {
    let listed = NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    listed && (!is_refused(name) || HARMLESS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_recorded_and_secrets_of_a_family_are_not() {
        for name in ["VLLM_USE_V1", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "LC_ALL", "TZ"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in ["VLLM_API_KEY", "HF_TOKEN", "PATH", "USER", "RAY_AUTH", "NVIDIA_SIGNED", ""] {
            assert!(!is_allowed(name), "{name}");
        }
    }
}
