//! What an evidence bundle is: the records, the file they stand in, and how both are read and
//! written.
//!
//! Start with [`record`] (the vocabulary), then [`container`] (the file), [`delta`] (how readings
//! become records and back) and [`prom`] (the text a server exposes). [`redact`] is the stage every
//! string passes on its way to the file; [`engine`] knows how each inference engine is recognised.
//!
//! This crate opens no socket, reads no `/proc` and starts no task.

pub mod container;
pub mod delta;
pub mod engine;
pub mod error;
pub mod limits;
pub mod prom;
pub mod record;
pub mod redact;
pub mod version;
pub mod wire;
