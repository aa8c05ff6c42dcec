//! The link to the apiserver: one client with its own timeouts, and what each failure means.

pub mod client;
pub mod failure;
