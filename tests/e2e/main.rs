//! End-to-end tests: what needs the real binaries or the whole workspace.

mod crates;
