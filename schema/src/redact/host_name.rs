//! Rule `host_name`: names of hosts: those known beforehand, and those in URLs, in NCCL's and
//! SLURM's notations, of pods and of private networks. Public sites stay.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use super::vocabulary::{is_own_word, is_protected};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct HostName;

/// Each group is a host's name.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    compile(&[
        // URLs and NCCL/gloo/ray addresses.
        r"(?i)(?:https?|tcp|udp|grpcs?|wss?|rediss?|postgres(?:ql)?|mysql|mongodb|amqps?|nats|ray|etcd|kafka|zmq|ipc\+tcp)://(?:[^/@\s]*@)?([A-Za-z0-9_][A-Za-z0-9_.-]*)",
        // NCCL's prefix: host:pid:tid [device] NCCL.
        r"([A-Za-z][A-Za-z0-9.-]*):[0-9]+:[0-9]+ \[[0-9]+\] NCCL",
        // Names of variables and options that hold a host or a list of hosts.
        r#"(?i)(?:nodelist|nodename|node_name|hostname|host_name|master_addr|submit_host|launch_host|topology_addr|pod_name|fqdn)["']?[ \t]*[=:][ \t]*["']?([A-Za-z][A-Za-z0-9.-]*(?:\[[0-9,-]+\])?(?:,[A-Za-z][A-Za-z0-9.-]*(?:\[[0-9,-]+\])?)*)"#,
        // Pods of a deployment: the two random parts have an alphabet of their own.
        r"(?:^|[^A-Za-z0-9.-])([a-z0-9](?:[a-z0-9-]*[a-z0-9])?-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5})(?:[^A-Za-z0-9-]|$)",
        // Private domains, and Amazon's private names.
        r"(?i)(?:^|[^a-z0-9_.-])([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:cluster\.local|compute\.internal|ec2\.internal|corp|lan|intranet|localdomain))(?:[^a-z0-9-]|$)",
        r"(?:^|[^A-Za-z0-9])(ip-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3})(?:[^0-9-]|$)",
    ].join("|"))
});

/// Sites whose name says nothing about the user.
const PUBLIC: &[&str] = &[
    "huggingface.co",
    "hf.co",
    "hf-mirror.com",
    "modelscope.cn",
    "github.com",
    "github.io",
    "githubusercontent.com",
    "gitlab.com",
    "pypi.org",
    "pythonhosted.org",
    "pytorch.org",
    "python.org",
    "readthedocs.io",
    "vllm.ai",
    "sglang.io",
    "sglang.ai",
    "nvidia.com",
    "nvcr.io",
    "docker.io",
    "docker.com",
    "ghcr.io",
    "quay.io",
    "k8s.io",
    "openai.com",
    "anthropic.com",
    "pydantic.dev",
    "prometheus.io",
    "ray.io",
    "apache.org",
    "kernel.org",
    "ubuntu.com",
    "wikipedia.org",
    "stackoverflow.com",
    "arxiv.org",
    "w3.org",
    "perfetto.dev",
    "tiangolo.com",
    "example.com",
    "example.org",
    "opentelemetry.io",
    "grafana.com",
    "google.com",
    "gnu.org",
    "dmlc.ai",
    "amd.com",
    "intel.com",
    "microsoft.com",
    "aka.ms",
    "mozilla.org",
];

impl Rule for HostName {
    fn name(&self) -> &'static str {
        "host_name"
    }

    fn hint(&self) -> &'static str {
        r"(?i)://|NCCL|nodelist|nodename|node_name|hostname|host_name|_addr|_host|pod_name|fqdn|-[a-z0-9]{8,10}-[a-z0-9]{5}|cluster\.local|\.internal|\.corp|\.lan|\.intranet|\.localdomain|ip-[0-9]"
    }

    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits) {
        known.hosts.find(line, |span, name| {
            if is_own_word(line, &span) {
                hits.rename(span, name, "host");
            }
        });
        for found in PLACES.captures_iter(line) {
            for host in found.iter().skip(1).flatten() {
                let name = host.as_bytes().to_ascii_lowercase();
                let name = name.strip_suffix(b".").unwrap_or(&name);
                if is_private(name) {
                    hits.rename(host.start()..host.start() + name.len(), name, "host");
                }
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("on gpu-17.corp.example and GPU-17:", "on host-1 and host-1:"),
                ("http://gpu3:8000/metrics", "http://host-1:8000/metrics"),
                ("tcp://node-a.site.org:29500,", "tcp://host-1:29500,"),
                ("n07:123:456 [0] NCCL INFO x", "host-1:123:456 [0] NCCL INFO x"),
                ("SLURM_JOB_NODELIST=gpu[01-04,7]", "SLURM_JOB_NODELIST=host-1"),
                ("'pod_name': 'serve-7d9f8b6c5d-x2x4z'", "'pod_name': 'host-1'"),
                ("Pod llm-7d9f8b6c5d-x2x4z is up", "Pod host-1 is up"),
                ("llm.prod.svc.cluster.local:80", "host-1:80"),
                ("from ip-10-0-12-7 port", "from host-1 port"),
            ],
            keeps: &[
                "http://localhost:8000/v1",
                "http://127.0.0.1:8000/metrics",
                "https://huggingface.co/Qwen/Qwen3-8B",
                "https://docs.vllm.ai/en/latest",
                "http://vllm:8000/metrics",
                "http://host-1:8000",
                "hostname: 0.0.0.0, port: 8080",
                "vllm.distributed.local",
                "Qwen3-8B-quantized",
            ],
        }
    }
}

/// False for addresses, for the words that stand for this machine and for public sites.
fn is_private(name: &[u8]) -> bool {
    let public = PUBLIC.iter().any(|site| {
        name.strip_suffix(site.as_bytes())
            .is_some_and(|before| before.is_empty() || before.ends_with(b"."))
    });
    let address = name.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    !public && !address && !is_protected(name)
}
