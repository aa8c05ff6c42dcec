//! One parser per source of the host. Parsers know nothing of Kubernetes clients and never touch the host
//! themselves: they read through [`crate::source::Source`].

pub mod cgroup;
pub mod cpu;
pub mod filesystem;
pub mod hugepages;
pub mod identity;
pub mod memory;
pub mod network;
pub mod os;
pub mod pids;
pub mod pressure;
