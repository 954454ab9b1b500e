use super::Check;
use crate::boot::facts::{BackendRole, BootFacts};
use crate::boot::pyrepr;
use crate::evidence::{Log, Missing, Need, Run};
use crate::finding::Verdict;

tripwire! {
    /// # What it checks
    /// Whether the attention backend that was asked for is the one that runs, for the served model
    /// and, apart, for the draft model of speculative decoding.
    ///
    /// # Why it matters
    /// A comparison of backends is worthless when the engine quietly chose another. vLLM gives the
    /// option to the served model only: the drafter gets what is first in its own list, which may
    /// also be what crashes.
    ///
    /// # How it decides
    /// The option in the server's arguments (its log's, else its command line's) against every choice
    /// the log shows; prefill, decode and the draft model have options of their own, which go before.
    /// Failed: any differs. Passed: none was asked for, or all are as asked. Choices
    /// for vision encoders are not the model's and left out.
    /// - vLLM: `Using … attention backend out of potential backends` (0.12 on), `Using
    ///   AttentionBackendEnum.… backend` when asked for, `Using … backend on V1 engine` before 0.12;
    ///   on ROCm, Intel GPUs, TPUs and CPUs `Using … backend.` and `Overriding with … out of potential
    ///   backends`.
    /// - SGLang from 0.5.20 prints the choice in its arguments as if it had been asked for; the line
    ///   `Attention backend not specified` before them says that it was not.
    ///
    /// # What to do
    /// Ask for the drafter's backend too (`attention_backend` in `--speculative-config`), or take the
    /// backend that runs as the one measured.
    ///
    /// # When it cannot tell
    /// No server log, or one was asked for and the log shows no choice.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/platforms/cuda.py` (`get_attn_backend_cls`)
    /// - SGLang 0.5.23: `sglang/srt/server_args.py` (`_handle_attention_backend_compatibility`)
    T06_BACKEND_IGNORED {
        code: "T6",
        slug: "backend-ignored",
        since: "0.1.0",
        summary: "another attention backend runs than was asked for",
        needs: ["log", "process"],
        explained_by: [],
        check: Check::Run(check),
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    if matches!(run.engine.map(|engine| engine.name), Some("llamacpp")) {
        return Err(Missing::never("llama.cpp has no choice of attention backends"));
    }
    let Some(log) = run.logs.iter().max_by_key(|log| log.server.facts.backends.len()) else {
        return Err(Need::Log.lacking(run.form));
    };
    let facts = &log.server.facts;
    let asked = Asked::of(run, facts);
    let Some(first) = asked.first() else { return not_asked(facts) };
    let compared: Vec<_> = facts
        .backends
        .iter()
        .filter_map(|chosen| Some((chosen, asked.of_role(chosen.value.role)?)))
        .collect();
    if compared.is_empty() {
        return Err(Missing::lack(format!(
            "{first} was asked for, and the log shows no choice of a backend"
        )));
    }
    let other = compared.iter().find(|(chosen, asked)| !same(&chosen.value.name, asked));
    let verdict = if let Some((other, asked)) = other {
        Verdict::fail(format!(
            "{asked} was asked for, but {} runs {} (line {}){}",
            role(other.value.role),
            other.value.name,
            other.line,
            as_asked(log, asked)
        ))
    } else {
        let mut names: Vec<&str> = compared.iter().map(|(_, asked)| *asked).collect();
        names.dedup();
        Verdict::pass(format!("{} as asked{}", names.join(", "), places(facts)))
    };
    Ok(verdict.with("asked", first).with("chosen", chosen(facts)))
}

/// What was asked for: in general, and for one role by an option of its own.
struct Asked {
    general: Option<String>,
    roles: Vec<(BackendRole, String)>,
}

impl Asked {
    fn of(run: &Run, facts: &BootFacts) -> Self {
        let general = facts.requested_backend.as_ref().map(|fact| fact.value.clone());
        let printed = |name: &str| facts.argument(name).map(str::to_owned);
        let own = |name: &str, option: &'static str| {
            printed(name).or_else(|| run.server_option(&[option]))
        };
        let drafter = || pyrepr::value(facts.argument("speculative_config")?, "attention_backend");
        let draft =
            own("speculative_draft_attention_backend", "--speculative-draft-attention-backend");
        let roles = [
            (BackendRole::Prefill, own("prefill_attention_backend", "--prefill-attention-backend")),
            (BackendRole::Decode, own("decode_attention_backend", "--decode-attention-backend")),
            (BackendRole::Draft, draft.or_else(drafter)),
        ];
        Self {
            general: general.or_else(|| run.server_option(&["--attention-backend"])),
            roles: roles.into_iter().filter_map(|(role, name)| Some((role, name?))).collect(),
        }
    }

    fn of_role(&self, role: BackendRole) -> Option<&str> {
        let own = self.roles.iter().find(|(of, _)| *of == role).map(|(_, name)| name);
        own.or(self.general.as_ref()).map(String::as_str)
    }

    fn first(&self) -> Option<&str> {
        let own = self.roles.first().map(|(_, name)| name);
        self.general.as_ref().or(own).map(String::as_str)
    }
}

fn not_asked(facts: &BootFacts) -> Result<Verdict, Missing> {
    if facts.arguments.is_none() && !facts.backends.is_empty() {
        return Err(Missing::lack(format!(
            "the log shows {} but not the server's arguments, so what was asked for is not known",
            names(facts)
        )));
    }
    if facts.arguments.is_none() {
        return Err(Missing::lack(
            "the log shows neither the server's arguments nor a choice of a backend",
        ));
    }
    let verdict = if facts.backends.is_empty() {
        Verdict::pass("no attention backend was asked for; the log does not name the one that runs")
    } else {
        Verdict::pass(format!("no attention backend was asked for; {} runs", names(facts)))
    };
    Ok(verdict.with("chosen", chosen(facts)))
}

/// Case and separators are spelling: `flash-attn` is `FLASH_ATTN`.
fn same(chosen: &str, asked: &str) -> bool {
    let plain = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
    };
    plain(chosen) == plain(asked)
}

fn role(role: BackendRole) -> &'static str {
    match role {
        BackendRole::Model => "the model",
        BackendRole::Draft => "the draft model",
        BackendRole::Prefill => "prefill",
        BackendRole::Decode => "decode",
    }
}

/// The choices that are as asked, when another is not.
fn as_asked(log: &Log, asked: &str) -> String {
    match log.server.facts.backends.iter().find(|chosen| same(&chosen.value.name, asked)) {
        Some(right) => format!(
            "; {} runs {} as asked (line {})",
            role(right.value.role),
            right.value.name,
            right.line
        ),
        None => String::new(),
    }
}

fn places(facts: &BootFacts) -> String {
    let lines: Vec<String> = facts.backends.iter().take(4).map(|b| b.line.to_string()).collect();
    format!(" (line {})", lines.join(", "))
}

fn names(facts: &BootFacts) -> String {
    let mut names: Vec<&str> = facts.backends.iter().map(|b| b.value.name.as_str()).collect();
    names.dedup();
    names.truncate(4);
    names.join(", ")
}

fn chosen(facts: &BootFacts) -> serde_json::Value {
    serde_json::to_value(&facts.backends).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    const ASKED: &str = r"
== log
(APIServer pid=1) INFO 09-05 23:28:25 [utils.py:272] non-default args: {'model_tag': '/m', 'attention_backend': 'TRITON_ATTN'}
(EngineCore pid=3) INFO 09-05 23:28:45 [cuda.py:545] Using backend AttentionBackendEnum.FLASH_ATTN for vit attention
(EngineCore pid=3) INFO 09-05 23:28:45 [mm_encoder_attention.py:375] Using AttentionBackendEnum.FLASH_ATTN for MMEncoderAttention.
(EngineCore pid=3) INFO 09-05 23:28:45 [cuda.py:426] Using AttentionBackendEnum.TRITON_ATTN backend.
(EngineCore pid=3) INFO 09-05 23:30:08 [gpu_model_runner.py:5443] Loading drafter model...
(EngineCore pid=3) INFO 09-05 23:30:09 [cuda.py:486] Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'TRITON_ATTN'].
";

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "the drafter got another",
            evidence: ASKED,
            status: Status::Fail,
            says: &[
                "TRITON_ATTN was asked for, but the draft model runs FLASHINFER (line 6)",
                "the model runs TRITON_ATTN as asked",
            ],
        },
        Case {
            name: "as asked, in other words",
            evidence: r"
== log
INFO 05-05 23:28:25 [api_server.py:1] vLLM API server version 0.8.5
INFO 05-05 23:28:25 [api_server.py:1] args: Namespace(model='/m', attention_backend='FLASH_ATTN')
INFO 05-05 23:28:45 [cuda.py:239] Using Flash Attention backend on V1 engine.
",
            status: Status::Pass,
            says: &["FLASH_ATTN as asked (line 3)"],
        },
        Case {
            name: "none asked for",
            evidence: r"
== log
[2026-10-01 01:40:36] Attention backend not specified. Use flashinfer backend by default.
[2026-10-01 01:40:37] server_args={'model_path': '/m', 'attention_backend': 'flashinfer'}
",
            status: Status::Pass,
            says: &["no attention backend was asked for; flashinfer runs"],
        },
        Case {
            name: "ROCm's, in the words of 0.12",
            evidence: r"
== log
(APIServer pid=1) INFO 11-14 21:01:02 [utils.py:253] non-default args: {'model_tag': '/m', 'attention_backend': 'ROCM_AITER_FA'}
(EngineCore_DP0 pid=809) INFO 11-14 21:01:44 [rocm.py:292] Using Aiter Flash Attention backend.
(EngineCore_DP0 pid=809) INFO 11-14 21:01:44 [rocm.py:310] Using Flash Attention backend for ViT model.
(EngineCore_DP0 pid=809) INFO 11-14 21:01:44 [mxfp4.py:131] Using Marlin backend.
",
            status: Status::Pass,
            says: &["ROCM_AITER_FA as asked (line 2)"],
        },
        Case {
            name: "ROCm's, found unfit",
            evidence: r"
== log
(APIServer pid=1) INFO 04-21 12:31:02 [utils.py:253] non-default args: {'model_tag': '/m'}
(EngineCore pid=2) INFO 04-21 12:32:12 [rocm.py:470] Found incompatible backend(s) [ROCM_AITER_FA, ROCM_ATTN] with decoder. Overriding with TRITON_ATTN out of potential backends: ['TRITON_ATTN'].
(EngineCore pid=2) INFO 04-21 12:32:13 [fp8.py:100] Using 'AITER' Fp8 MoE backend out of potential backends: ['AITER', 'TRITON'].
",
            status: Status::Pass,
            says: &["no attention backend was asked for; TRITON_ATTN runs"],
        },
        Case {
            name: "an Intel GPU's, another than asked for",
            evidence: r"
== log
(APIServer pid=1) INFO 08-14 14:34:02 [utils.py:253] non-default args: {'model_tag': '/m', 'attention_backend': 'FLASH_ATTN', 'dtype': 'float32'}
(EngineCore pid=2) WARNING 08-14 14:34:40 [xpu.py:96] Flash Attention on XPU does not support float32 dtype. Falling back to Triton Attention backend.
",
            status: Status::Fail,
            says: &["FLASH_ATTN was asked for, but the model runs TRITON_ATTN (line 2)"],
        },
        Case {
            name: "prefill by an option of its own",
            evidence: r"
== log
[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m', attention_backend='flashinfer', prefill_attention_backend='fa3', decode_attention_backend=None)
[2026-01-01 10:00:30 TP0] Using hybrid attention backend for decode and prefill: decode_backend=flashinfer, prefill_backend=fa3.
",
            status: Status::Pass,
            says: &["flashinfer, fa3 as asked (line 2"],
        },
        Case {
            name: "decode alone by an option, and ignored",
            evidence: r"
== log
[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m', attention_backend=None, decode_attention_backend='flashmla')
[2026-01-01 10:00:30 TP0] Using hybrid attention backend for decode and prefill: decode_backend=fa3, prefill_backend=fa3.
",
            status: Status::Fail,
            says: &["flashmla was asked for, but decode runs fa3"],
        },
        Case {
            name: "the drafter's asked for, too",
            evidence: r"
== log
(APIServer pid=1) INFO 09-05 23:28:25 [utils.py:272] non-default args: {'model_tag': '/m', 'attention_backend': 'TRITON_ATTN', 'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 2, 'attention_backend': 'FLASHINFER'}}
(EngineCore pid=3) INFO 09-05 23:28:45 [cuda.py:426] Using AttentionBackendEnum.TRITON_ATTN backend.
(EngineCore pid=3) INFO 09-05 23:30:08 [gpu_model_runner.py:5443] Loading drafter model...
(EngineCore pid=3) INFO 09-05 23:30:09 [cuda.py:426] Using AttentionBackendEnum.FLASHINFER backend.
",
            status: Status::Pass,
            says: &["TRITON_ATTN, FLASHINFER as asked"],
        },
        Case {
            name: "the model's own, which leaves no choice",
            evidence: r"
== log
[2026-01-01 10:00:00] Use dsv4 attention backend for DeepseekV4ForCausalLM, setting page_size to 256.
[2026-01-01 10:00:01] server_args=ServerArgs(model_path='/m', attention_backend='dsv4', page_size=256)
",
            status: Status::Pass,
            says: &["no attention backend was asked for; dsv4 runs"],
        },
        Case {
            name: "a CPU's",
            evidence: r"
== log
INFO 09-05 05:58:01 [utils.py:326] non-default args: {'model_tag': '/m'}
(EngineCore_0 pid=55) INFO 09-05 05:58:17 [cpu.py:100] Using Torch SDPA backend.
",
            status: Status::Pass,
            says: &["TORCH_SDPA runs"],
        },
        Case {
            name: "asked for, no choice shown",
            evidence: "== log\n[2026-10-01 01:40:37] server_args=ServerArgs(model_path='/m', attention_backend='fa3')\n",
            status: Status::Unknown,
            says: &["fa3 was asked for"],
        },
        Case {
            name: "no log",
            evidence: "== before\nvllm:num_requests_running 0\n",
            status: Status::Unknown,
            says: &["needs the server's log"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "the drafter got another",
        find: "Using FLASHINFER attention",
        replace: "Using TRITON_ATTN attention",
        becomes: Status::Pass,
    };
}
