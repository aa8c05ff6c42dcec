//! The exit codes of the program (DESIGN §1).

/// Done.
pub const DONE: u8 = 0;
/// A write, a task or a required reading failed.
pub const FAILED: u8 = 1;
/// Bad usage or configuration.
pub const USAGE: u8 = 2;
/// The role is refused.
pub const REFUSED: u8 = 3;
/// A second signal.
pub const ABORTED: u8 = 130;
