//! The setters: pure functions that bring a Node's status up to what was read.

pub mod addresses;
pub mod chain;
pub mod conditions;
pub mod endpoints;
pub mod images;
pub mod machine;
pub mod ready;
pub mod runtime_info;
pub mod versions;
pub mod volumes;
