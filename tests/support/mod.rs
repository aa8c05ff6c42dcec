//! Real parts for the tests: etcd, kube-apiserver, kube-controller-manager, kubectl, the Go oracle, and the built
//! nodelet itself. Nothing here imitates Kubernetes; what a test needs from it is asked of the real programs.
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
    clippy::disallowed_methods,
    reason = "a helper that fails fails the test, and real processes run on real time"
)]

pub mod assets;
pub mod audit;
pub mod client;
pub mod controlplane;
pub mod nodelet;
pub mod oracle;
pub mod pki;
pub mod process;
pub mod scratch;
pub mod wait;
