//! End-to-end tests: what needs the real binaries or the whole workspace.

#[cfg(test)]
mod calls;
mod crates;
#[cfg(test)]
mod seeds;
// What is not under `#[cfg(test)]` may not unwrap: clippy looks at the module, not the file.
#[cfg(test)]
mod readme;
#[cfg(test)]
mod report;
#[cfg(test)]
mod watch;
#[cfg(test)]
mod xray;
