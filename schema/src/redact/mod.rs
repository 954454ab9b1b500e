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
mod rule;
mod seeds;
mod value;
mod vocabulary;

mod home_dir;
mod secret;
mod secret_assignment;
mod secret_option;
mod url_userinfo;

pub use masker::Masker;
pub use rule::{Cases, Hits, Rule};
pub use seeds::{Known, Seeds};

/// Every rule, in the order they are applied.
pub static RULES: &[&dyn Rule] = &[&secret::Secret, &url_userinfo::UrlUserinfo, &home_dir::HomeDir];
