//! CUDA does not come up at all.

use super::kind::Kind;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "driver_too_old",
        "the NVIDIA driver is older than the CUDA runtime of the build",
        &[
            r"driver on your system is too old \(found version (?<found>\d+)\)",
            r"CUDA driver version is insufficient for CUDA runtime version",
            r"(?i)driver (?:version )?(?:is )?too old",
            r"unsatisfied condition: cuda>=",
            r"(?i)provided PTX was compiled with an unsupported toolchain",
            r"Error 803\b|system has unsupported display driver / cuda driver combination",
        ],
        |t| match t.part("found").and_then(|v| v.parse::<u32>().ok()) {
            Some(found) => format!(
                "the NVIDIA driver is too old for this build (found version {found}, that is CUDA {}.{}); update the driver or install a build for that CUDA",
                found / 1000,
                found % 1000 / 10
            ),
            None => t.say(
                "the NVIDIA driver is too old for this build",
                "update the driver or install a build for its CUDA",
            ),
        },
    ),
    Kind::new(
        "cuda_not_initialized",
        "CUDA could not initialise although a driver is there",
        &[
            r"Error (?<code>80[0-9]): (?<why>.*)",
            r"CUDA initialization:",
            r"CUDA driver initialization failed",
            r"Unexpected error from cudaGetDeviceCount",
            r"CUDA_ERROR_SYSTEM_NOT_READY",
            r"NVMLError_LibRmVersionMismatch|Failed to initialize NVML",
        ],
        |t| match (t.part("code"), t.part("why")) {
            (Some(code @ "802"), Some(why)) => format!(
                "CUDA cannot initialise: Error {code}: {why}; on NVLink switch systems the fabric manager is not running or does not match the driver"
            ),
            (Some(code), Some(why)) => format!(
                "CUDA cannot initialise: Error {code}: {}; check the driver and the container's access to it",
                super::kind::shorten(why, 120)
            ),
            _ => t.say(
                "CUDA cannot initialise",
                "check the driver (nvidia-smi) and the container's access to it",
            ),
        },
    ),
    Kind::new(
        "gpu_busy",
        "the card is in exclusive use or otherwise refuses a context",
        &[
            r"(?i)devices?(?:\(s\))? (?:is/are |is |are )?busy or unavailable",
            r"cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE",
        ],
        |t| {
            t.say(
                "the GPU refuses a context",
                "another process holds it in exclusive mode: see nvidia-smi",
            )
        },
    )
    .fatal(),
    Kind::new(
        "cuda_device_not_ready",
        "the card answered that it is not ready",
        &[
            r"CUDA (?:runtime )?error.*: device not ready",
            r"cudaErrorNotReady|CUDA_ERROR_NOT_READY",
        ],
        |t| {
            t.say(
                "the GPU was not usable",
                "reset the card or restart the driver, then start again",
            )
        },
    )
    .fatal(),
    Kind::new(
        "not_enough_gpus",
        "more ranks were asked for than GPUs are visible",
        &[
            r"(?i)invalid device ordinal",
            r"(?i)(?:tensor parallel|world|tp)[ _]?size \(?(?<want>\d+)\)? (?:is |cannot be )?(?:larger|greater) than the number of available \w+ \(?(?<has>\d+)",
            r"(?i)exceeds the total number of available",
            r"(?i)does not allocate any GPUs on the driver node",
            r"(?i)not enough GPUs",
        ],
        |t| match (t.part("want"), t.part("has")) {
            (Some(want), Some(has)) => format!(
                "{want} ranks were asked for and {has} GPUs are visible: lower the parallel size or give the server more GPUs (CUDA_VISIBLE_DEVICES, --gpus)"
            ),
            _ => t.say(
                "more GPUs were asked for than the server sees",
                "lower the parallel size, or check CUDA_VISIBLE_DEVICES and --gpus",
            ),
        },
    ),
    Kind::new(
        "cuda_in_forked_process",
        "CUDA was in use before the process was forked",
        &[r"Cannot re-initialize \w+ in forked subprocess"],
        |t| {
            t.say(
                "CUDA was initialised before the workers were forked",
                "set VLLM_WORKER_MULTIPROC_METHOD=spawn",
            )
        },
    ),
    Kind::new(
        "no_gpu",
        "no usable GPU is visible to the process",
        &[
            r"No CUDA GPUs are available",
            r"Current node has no GPU available",
            r"Device string must not be empty",
            r"No accelerator .*is available",
            r"unknown or invalid runtime name: nvidia",
            r"no CUDA-capable device is detected",
            r"Found no NVIDIA driver on your system",
            r"Failed to infer device type",
            r"Torch not compiled with CUDA enabled",
            r"could not select device driver",
            r"nvidia-container-cli: ",
            r"(?i)no (?:HIP|supported) (?:GPUs?|devices?) (?:are|is|were) (?:available|found|detected)",
            r"NVMLError_(?:DriverNotLoaded|LibraryNotFound)",
        ],
        |t| {
            t.say(
                "no usable GPU is visible to the server",
                "check CUDA_VISIBLE_DEVICES, --gpus and nvidia-smi where it runs",
            )
        },
    ),
    Kind::new(
        "uva_unavailable",
        "the platform offers no unified virtual addressing (WSL)",
        &[r"UVA is not available", r"(?i)requires uva\b"],
        |t| {
            t.say(
                "this platform has no unified virtual addressing, which this release needs",
                "on WSL use another release or turn off the V2 model runner",
            )
        },
    ),
];
