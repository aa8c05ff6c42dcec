//! Configuration: as written ([`file`]), merged ([`merge`]), validated ([`settings`]).

pub mod file;
pub mod labels;
pub mod merge;
pub mod node_ip;
pub mod settings;
