//! What a command line starts, read as its shell and its launchers would read it.

/// One way in which a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A program by its file name, and its first argument, one of these; none given: any.
    Program(&'static str, &'static [&'static str]),
    /// `python -m MODULE`.
    Module(&'static str),
    /// A container image by the end of its repository's path, whose entry point serves when its tag
    /// begins with the second text.
    Image(&'static str, &'static str),
}

/// Shells inside launchers inside shells: as deep as this is looked.
pub(super) const DEPTH: u32 = 5;
/// Arguments of one command that are looked at.
const ARGS: usize = 1_000;

/// Programs that run the command among their arguments, as most of [`ELSEWHERE`] do too. Options of
/// theirs may take values, so the command is looked for at each later argument.
const LAUNCHERS: &[&str] = &[
    "env",
    "exec",
    "nohup",
    "setsid",
    "time",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "numactl",
    "timeout",
    "stdbuf",
    "sudo",
    "su",
    "runuser",
    "doas",
    "unbuffer",
    "script",
    "tini",
    "dumb-init",
    "gosu",
    "torchrun",
    "uv",
    "uvx",
    "poetry",
    "conda",
    "micromamba",
    "pixi",
    "nsys",
    "ncu",
    "perf",
    "trtllm-llmapi-launch",
];

/// Launchers behind which the server may run where we do not see it start: under a daemon's hand, in
/// another job step, on another host.
const ELSEWHERE: &[&str] = &[
    "docker",
    "podman",
    "nerdctl",
    "srun",
    "sbatch",
    "mpirun",
    "mpiexec",
    "apptainer",
    "singularity",
    "enroot",
    "udocker",
    "kubectl",
    "ssh",
    "systemctl",
    "systemd-run",
    "tmux",
    "screen",
];

/// Container programs that take an image.
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl"];

/// Shells whose `-c` takes a script.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ash", "ksh"];

/// Arguments of a shell among which its `-c` is looked for (`-o pipefail -c`).
const SHELL_OPTIONS: usize = 4;

/// Options of python that take a value of their own.
const PYTHON_VALUES: &[&str] = &["-W", "-X", "--check-hash-based-pycs"];

/// True when `argv` runs one of `commands`, itself or through shells, launchers and containers.
pub(super) fn runs(argv: &[&str], commands: &[Command]) -> bool {
    Search { commands, depth: DEPTH, behind_launcher: false }.runs(argv.get(..ARGS).unwrap_or(argv))
}

fn is_launcher(name: &str) -> bool {
    LAUNCHERS.contains(&name) || ELSEWHERE.contains(&name)
}

/// True when a process with this `argv` is one of `commands`, not one that only started it.
pub(super) fn is(argv: &[&str], commands: &[Command]) -> bool {
    let Some((program, rest)) = argv.split_first() else { return false };
    let name = file_name(program);
    let search = Search { commands, depth: 1, behind_launcher: true };
    is_program(name, rest, commands) || (is_python(name) && search.python(rest))
}

/// The launcher in `argv` behind which the server may run elsewhere: itself, behind another one
/// (`sudo docker run …`), as a script's name, or inside the script of a shell.
pub(super) fn launcher(argv: &[&str], depth: u32) -> Option<&'static str> {
    let depth = depth.checked_sub(1)?;
    let assignments = argv.iter().take_while(|word| is_assignment(word)).count();
    let (program, rest) = argv.get(assignments..)?.split_first()?;
    let named = |word: &&str| ELSEWHERE.iter().find(|name| file_name(word) == **name).copied();
    let name = file_name(program);
    let shell = SHELLS.contains(&name);
    match script_of(rest).filter(|_| shell) {
        _ if ELSEWHERE.contains(&name) => named(program),
        Some(script) => simple_commands(script).iter().find_map(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            launcher(&words, depth)
        }),
        None if shell || is_python(name) => named(rest.iter().find(|arg| !arg.starts_with('-'))?),
        None if is_launcher(name) => rest.iter().find_map(named),
        None => None,
    }
}

/// A search for one of some commands.
#[derive(Clone, Copy)]
struct Search<'c> {
    commands: &'c [Command],
    /// Shells, interpreters and launchers that may still be entered.
    depth: u32,
    /// True inside the arguments of a launcher, each of which is looked at anyway: another launcher
    /// among them need not be entered.
    behind_launcher: bool,
}

impl Search<'_> {
    fn runs(self, argv: &[&str]) -> bool {
        let Some(depth) = self.depth.checked_sub(1) else { return false };
        let inner = Self { depth, ..self };
        let assignments = argv.iter().take_while(|word| is_assignment(word)).count();
        let Some((program, rest)) = argv.get(assignments..).and_then(<[&str]>::split_first) else {
            return false;
        };
        let name = file_name(program);
        if is_program(name, rest, self.commands) {
            return true;
        }
        match name {
            _ if is_python(name) => inner.python(rest),
            _ if SHELLS.contains(&name) => inner.shell(rest),
            _ if CONTAINERS.contains(&name) => inner.container(rest),
            _ if is_launcher(name) && !self.behind_launcher => inner.behind(rest),
            _ => false,
        }
    }

    /// The command that begins at some argument of a launcher, or stands in one as a script.
    fn behind(self, args: &[&str]) -> bool {
        let within = Self { behind_launcher: true, ..self };
        (0..args.len()).any(|i| within.runs(args.get(i..).unwrap_or_default()))
            || args.iter().any(|arg| arg.contains(' ') && self.script(arg))
    }

    /// `python [options] -m MODULE …`, or a script such as `/opt/venv/bin/vllm`.
    fn python(self, args: &[&str]) -> bool {
        let mut i = 0;
        while let Some(arg) = args.get(i) {
            match *arg {
                "-m" => {
                    return args.get(i + 1).is_some_and(|module| {
                        let mut own = self.commands.iter();
                        own.any(|own| matches!(own, Command::Module(name) if name == module))
                    });
                }
                "-c" => return false,
                value if PYTHON_VALUES.contains(&value) => i += 2,
                option if option.starts_with('-') => i += 1,
                _ => return self.runs(args.get(i..).unwrap_or_default()),
            }
        }
        false
    }

    /// `sh -c SCRIPT`.
    fn shell(self, args: &[&str]) -> bool {
        script_of(args).is_some_and(|script| self.script(script))
    }

    /// Each simple command of a shell script.
    fn script(self, script: &str) -> bool {
        let fresh = Self { behind_launcher: false, ..self };
        simple_commands(script).iter().any(|words| {
            let words: Vec<&str> = words.iter().map(String::as_str).take(ARGS).collect();
            fresh.runs(&words)
        })
    }

    /// `docker run [options] IMAGE [command]` and `docker exec CONTAINER command`.
    fn container(self, args: &[&str]) -> bool {
        let image = args
            .iter()
            .enumerate()
            .find_map(|(i, word)| image_serves(word, self.commands).map(|serves| (i, serves)));
        let Some((at, serves)) = image else {
            return !self.behind_launcher && self.behind(args);
        };
        let command = args.get(at + 1..).unwrap_or_default();
        let entry_point = args.iter().take(at).enumerate().find_map(|(i, arg)| {
            let value = arg.strip_prefix("--entrypoint")?;
            value.strip_prefix('=').or_else(|| args.get(i + 1).copied())
        });
        match entry_point {
            Some(program) => self.runs(&[&[program][..], command].concat()),
            None => serves || self.runs(command),
        }
    }
}

/// The script that a shell with these arguments is given by `-c`.
fn script_of<'a>(args: &[&'a str]) -> Option<&'a str> {
    let option = args.iter().take(SHELL_OPTIONS).position(|arg| {
        arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('c') && arg.len() <= 5
    });
    args.iter().skip(option? + 1).find(|arg| !arg.starts_with('-')).copied()
}

fn is_program(name: &str, rest: &[&str], commands: &[Command]) -> bool {
    commands.iter().any(|command| match command {
        Command::Program(own, first) => {
            name == *own
                && (first.is_empty() || rest.first().is_some_and(|word| first.contains(word)))
        }
        _ => false,
    })
}

/// For an image of the engine, whether its entry point serves.
fn image_serves(word: &str, commands: &[Command]) -> Option<bool> {
    let word = word.split('@').next().unwrap_or(word);
    let (repository, tag) = match word.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (word, "latest"),
    };
    commands.iter().find_map(|command| match command {
        Command::Image(own, serving) => {
            let same = repository
                .strip_suffix(own)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'));
            same.then(|| tag.starts_with(serving))
        }
        _ => None,
    })
}

fn is_python(name: &str) -> bool {
    name.starts_with("python") || name == "pypy3"
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The simple commands of a script as words, without quotes: enough of the shell's grammar to see
/// which programs it starts.
fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = script.chars().peekable();
    let mut quote: Option<char> = None;
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            (None, ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}' | '`') => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            (None, '#') if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, _) if c.is_whitespace() => end_word(&mut word, &mut commands),
            _ => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut commands);
    for words in &mut commands {
        let keyword = |word: &String| {
            ["then", "do", "else", "if", "while", "until", "!"].contains(&word.as_str())
        };
        while words.first().is_some_and(keyword) {
            words.remove(0);
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use crate::engine::of_argv;

    fn engine_of(line: &str) -> &'static str {
        let words = super::simple_commands(line);
        let words: Vec<&str> = words[0].iter().map(String::as_str).collect();
        of_argv(&words).map_or("", |engine| engine.name)
    }

    #[test]
    fn servers_are_recognised_by_the_structure_of_their_command() {
        for (line, engine) in [
            ("vllm serve /models/m --port 8000", "vllm"),
            ("/opt/venv/bin/python3 /opt/venv/bin/vllm serve m", "vllm"),
            ("python3 -u -W ignore -m vllm.entrypoints.openai.api_server --model m", "vllm"),
            ("VLLM_USE_V1=1 CUDA_VISIBLE_DEVICES=0 vllm serve m", "vllm"),
            ("env -u X numactl --cpunodebind 0 vllm serve m", "vllm"),
            (
                "docker run --gpus all -v /m:/m -p 8000:8000 vllm/vllm-openai:v0.28.0 --model m",
                "vllm",
            ),
            ("docker run reg.corp:5000/mirror/vllm/vllm-openai@sha256:ab m", "vllm"),
            ("docker run --entrypoint bash vllm/vllm-openai -c 'vllm serve m'", "vllm"),
            ("docker exec -it box vllm serve m", "vllm"),
            ("sh -c 'cd /x && exec vllm serve m > log 2>&1'", "vllm"),
            ("bash -lc \"if true; then vllm serve m | tee log; fi\"", "vllm"),
            ("ssh gpu1 'source a/bin/activate; vllm serve m'", "vllm"),
            ("srun -N1 --gpus 8 bash -c 'vllm serve m'", "vllm"),
            ("kubectl exec pod -- vllm serve m", "vllm"),
            ("uv run --with vllm vllm serve m", "vllm"),
            ("python -m sglang.launch_server --model-path m", "sglang"),
            ("sglang serve --model-path m", "sglang"),
            (
                "docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model m",
                "sglang",
            ),
            ("trtllm-serve m --config c.yaml", "trtllm"),
            ("trtllm-serve serve m", "trtllm"),
            ("mpirun -n 2 trtllm-llmapi-launch trtllm-serve m", "trtllm"),
            ("docker run nvcr.io/nvidia/tensorrt-llm/release:1.2.0 trtllm-serve m", "trtllm"),
            ("/app/llama-server -m m.gguf --metrics", "llamacpp"),
            ("llama serve -m m.gguf", "llamacpp"),
            ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m m.gguf", "llamacpp"),
            ("text-generation-launcher --model-id m", "tgi"),
            ("docker run ghcr.io/huggingface/text-generation-inference:3.3.7 --model-id m", "tgi"),
        ] {
            assert_eq!(engine_of(line), engine, "{line}");
        }
    }

    #[test]
    fn what_only_names_an_engine_is_no_server() {
        for line in [
            "vllm bench serve --model m",
            "vllm",
            "timeout 600 vllm bench serve --model m",
            "sh -c 'vllm bench serve --model m'",
            "docker run --entrypoint vllm vllm/vllm-openai bench serve --model m",
            "docker exec box vllm bench serve",
            "python -m sglang.bench_serving --backend sglang",
            "python -m vllm.benchmarks.serve",
            "python -c 'vllm serve'",
            "trtllm-bench --model m throughput",
            "pkill -f 'vllm serve'",
            "grep -r sglang.launch_server .",
            "vim launch_server.py",
            "tail -f vllm.log",
            "docker run lmsysorg/sglang:latest python3 -m sglang.bench_serving",
            "docker pull vllm/vllm-openaix",
            "llama-bench -m m",
            "echo vllm serve m",
            "sh -c 'echo \"; vllm serve m\"'",
            "bash serve.sh",
        ] {
            assert_eq!(engine_of(line), "", "{line}");
        }
    }

    #[test]
    fn odd_arguments_end_soon() {
        let nested = "sh -c '".repeat(40);
        let shells = "sh ".repeat(900) + "-c x";
        let shells = format!("env {} -c \"env {shells}\"", "sh ".repeat(900));
        let mut launched = vec!["env"];
        launched.extend(["sh"; 900]);
        launched.extend(["-c", &shells]);
        for argv in
            [&[][..], &["sh"], &["sh", "-c"], &["python"], &["env"; 200], &[nested.as_str()]]
        {
            assert_eq!(of_argv(argv), None);
        }
    }
}
