//! nodelet keeps a machine's Kubernetes Node true.
//!
//! It reads the host through one seam ([`source`]), gathers a [`gather::Snapshot`], runs an ordered chain of
//! pure setters over it ([`status`]), compares the result with the cached Node and sends a strategic-merge
//! patch of the status ([`node`]), while the Lease is renewed beside it ([`lease`]).

pub mod agent;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod cri;
pub mod eviction;
pub mod exit_code;
pub mod gather;
pub mod host;
pub mod lease;
pub mod node;
pub mod output;
pub mod probe;
pub mod quantity;
pub mod source;
pub mod start;
pub mod status;
pub mod supervise;
pub mod sync_once;
pub mod telemetry;
