//! Examples of the kinds of `collective.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "nccl_timeout",
        &["ALLGATHER", "1800"],
        "[rank3]:[E101 10:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut=8, Timeout(ms)=1800000) ran for 1800072 milliseconds before timing out.\n",
    ),
    serving(
        "nccl_timeout",
        &["timed out"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m', 'tp_size': 16}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[rank3]:[E227 16:30:43.526301625 ProcessGroupNCCL.cpp:1834] [PG ID 2 PG GUID 3 Rank 3] Timeout at NCCL work: 32, last enqueued NCCL work: 32, last completed NCCL work: 31.\n[rank3]:[E227 16:30:43.526310000 ProcessGroupNCCL.cpp:636] [Rank 3] To avoid data inconsistency, we are taking the entire process down.\n",
    ),
    serving(
        "nccl_timeout",
        &["ALLREDUCE", "600 s"],
        "INFO:     Application startup complete.\n(APIServer pid=1) INFO 01-01 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 99.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%\n[rank3]:[E101 10:10:00.1 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1, NumelOut=8, Timeout(ms)=600000) ran for 600072 milliseconds before timing out.\n(APIServer pid=1) INFO 01-01 10:10:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 4 reqs, Waiting: 9 reqs, GPU KV cache usage: 1.0%\n",
    ),
    boot(
        "mpi_spawn_failed",
        &["MPI"],
        "rank 0 using MpiPoolSession to spawn MPI processes\nException in thread Thread-1 (_manager_spawn):\nTraceback (most recent call last):\n  File \"/m/_lib.py\", line 938, in client_spawn\n    comm = MPI.COMM_SELF.Spawn(python_exe, args, max_workers, info)\nmpi4py.MPI.Exception: MPI_ERR_SPAWN: could not spawn processes\n",
    ),
    boot(
        "mpi_spawn_failed",
        &["slots"],
        "[10/01/2026-01:54:18] [TRT-LLM] [I] Using LLM with PyTorch backend\n--------------------------------------------------------------------------\nThere are not enough slots available in the system to satisfy the 8 slots that were requested by the application\n",
    ),
    boot(
        "mpi_spawn_failed",
        &["root"],
        "[TensorRT-LLM] TensorRT LLM version: 1.1.0\nmpirun has detected an attempt to run as root.\n",
    ),
    boot(
        "engine_version_mismatch",
        &["rebuild"],
        "[TensorRT-LLM][ERROR] IRuntime::deserializeCudaEngine: Error Code 1: Serialization (Serialization assertion failed. Version tag does not match. Note: Current Version: 240, Serialized Engine Version: 239)\n",
    ),
    boot(
        "engine_version_mismatch",
        &["rebuild"],
        "[TRT] [E] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 10.7.0.23 got 10.3.0.26, please rebuild.\n",
    ),
    boot(
        "rendezvous_timeout",
        &["master"],
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).\n",
    ),
    boot(
        "rendezvous_timeout",
        &["connectFullMesh"],
        "(RayWorkerWrapper pid=24271, ip=10.0.0.2) ERROR 07-25 07:05:40 worker_base.py:382] RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no error\n",
    ),
    boot(
        "rendezvous_timeout",
        &["waiting for clients"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/t/distributed/rendezvous.py\", line 3, in _create_c10d_store\ntorch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.\n\n",
    ),
    boot(
        "nccl_error",
        &["NCCL_DEBUG"],
        "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)\n",
    ),
    boot(
        "nccl_error",
        &["unhandled system error"],
        "[rank1]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2006, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5\n[rank1]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n",
    ),
    boot(
        "nccl_error",
        &["invalid usage"],
        "[11/18/2025-09:33:30] [TRT-LLM] [RANK 0] [E] Failed to initialize executor on rank 0: [TensorRT-LLM][ERROR] Assertion failed: Failed, NCCL error /src/ncclCommunicator.cpp:90 'invalid usage (run with NCCL_DEBUG=WARN for details)' (/src/ncclCommunicator.cpp:90)\nRuntimeError: Executor worker returned error\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("nccl_timeout", "RuntimeError: NCCL communicator was aborted on rank 3: collective timed out"),
    (
        "mpi_spawn_failed",
        "[gpu7:00424] PRTE ERROR: Not found in file plm_slurm_module.c at line 424",
    ),
    ("mpi_spawn_failed", "All nodes which are allocated for this job are already filled."),
    (
        "mpi_spawn_failed",
        "[gpu7:00424] [[1,0],0] ORTE_ERROR_LOG: Not found in file ess_hnp_module.c",
    ),
    (
        "mpi_spawn_failed",
        "An ORTE daemon has unexpectedly failed after launch and before communicating back to mpirun.",
    ),
    (
        "engine_version_mismatch",
        "RuntimeError: the engine was built with a different TensorRT version",
    ),
    (
        "rendezvous_timeout",
        "torch.distributed.DistNetworkError: connect() timed out. Original timeout was 600000 ms.",
    ),
    (
        "rendezvous_timeout",
        "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
    ),
];
