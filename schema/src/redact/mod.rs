//! Masking: nothing that must stay private reaches a bundle.
//!
//! Every string passes a [`Masker`] on its way to the file. It runs the [`RULES`] over each line:
//! known values first ([`Seeds`]), then structure (options, assignments, headers, URLs), then the
//! shapes of tokens, then identities (homes, users, hosts, addresses). What is found is replaced by
//! `<rule-n>`, or by `user-n` and the like where it is part of a path or name, and `n` numbers the
//! distinct values of a bundle: equal things stay equal, and neither length nor hash is kept.
//!
//! A rule leans towards masking too much. What the analyzer reads stays readable all the same:
//! metric names, settings, versions, model paths, and the words for "no key was set".
//!
//! Masking twice changes nothing, so the writer masks again what a collector has masked.

mod environment;
mod masker;
mod msgpack;
#[cfg(test)]
mod properties;
mod rule;
mod seeds;
mod shape;
mod value;
mod vocabulary;

pub use masker::{Lines, Masker};
pub use rule::{Cases, Hits, Rule};
pub use seeds::{Known, Seeds};

/// Declares the modules of the rules and lists them in the order they are applied.
macro_rules! rules {
    ($($module:ident $rule:ident),* $(,)?) => {
        $( mod $module; )*

        /// Every rule, in the order they are applied.
        pub static RULES: &[&dyn Rule] = &[ $( &$module::$rule ),* ];
    };
}

rules! {
    // What was known beforehand, and what is private as a whole.
    secret Secret,
    prompt_text PromptText,
    private_key PrivateKey,
    // Structure.
    auth_header AuthHeader,
    secret_option SecretOption,
    url_userinfo UrlUserinfo,
    netrc RULE,
    webhook RULE,
    azure RULE,
    url_query RULE,
    // Shapes of tokens.
    hf_token RULE,
    sk_key RULE,
    nvidia_key RULE,
    aws_key_id RULE,
    aws_secret RULE,
    gcp_key RULE,
    github_gitlab RULE,
    provider_prefix RULE,
    wandb_key RULE,
    jwt RULE,
    bearer Bearer,
    secret_assignment SecretAssignment,
    // Identities.
    ssh_key_body RULE,
    email Email,
    home_dir HomeDir,
    user_name UserName,
    host_name HostName,
    ip_address IpAddress,
    mac_address RULE,
    machine_id RULE,
    gpu_uuid RULE,
    keyword Keyword,
}
