//! Judges a recorded benchmark run.
//!
//! Data flows one way: files are read by [`load`] into [`evidence`]; each [`tripwire`] is a pure
//! function from evidence to a verdict, speaking of signals that [`engine`] maps to metric names;
//! [`limit`] says what held the
//! run back; [`output`] prints the [`finding`]s. Nothing is collected here and nothing is sent anywhere.

pub mod boot;
pub mod cli;
pub mod client;
pub mod command;
pub mod engine;
pub mod error;
pub mod evidence;
pub mod failure;
pub mod finding;
pub mod limit;
pub mod load;
pub mod number;
pub mod output;
mod pattern;
mod patterns;
pub mod report;
pub mod tripwire;
pub mod visible;
