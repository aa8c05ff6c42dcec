//! Real parts for the tests: etcd, kube-apiserver, kube-controller-manager, kubectl, the Go oracle, and the built
//! nodelet itself. What a test needs from Kubernetes is asked of the real programs; only faults and orders of calls
//! that they do not produce on demand come from [`scripted`].
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "every test binary includes this module and uses a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a helper that fails fails the test, and real processes run on real time"
)]

pub mod assets;
pub mod audit;
pub mod client;
pub mod controlplane;
pub mod daemon;
pub mod nodelet;
pub mod nodes;
pub mod oracle;
pub mod pki;
pub mod process;
pub mod proxy;
pub mod recording;
pub mod scratch;
pub mod scripted;
pub mod statuses;
pub mod time;
pub mod wait;
