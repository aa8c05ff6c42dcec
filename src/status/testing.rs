//! A small host and a small configuration for the tables of the setters' tests.

use super::Inputs;
use crate::config::settings::Settings;
use crate::eviction::signals::Pressures;
use crate::gather::{Reading, RuntimeReadings, Snapshot};
use crate::source::{Interface, InterfaceAddress};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;

/// What [`Inputs`] borrow from.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) node_name: &'static str,
    pub(super) settings: Settings,
    pub(super) snapshot: Snapshot,
    pub(super) pressures: Pressures,
    pub(super) runtime_seen: bool,
    pub(super) shutdown: Option<&'static str>,
}

impl World {
    /// A host that answered nothing, under a configuration that asks for nothing.
    pub(super) fn new() -> Self {
        Self {
            now: at(0),
            node_name: "hostname",
            settings: Settings {
                eviction_hard: Vec::new(),
                node_status_max_images: None,
                setters_disabled: BTreeSet::new(),
                ..Settings::default()
            },
            snapshot: Snapshot::default(),
            pressures: Pressures::default(),
            runtime_seen: false,
            shutdown: None,
        }
    }

    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            now: self.now,
            node_name: self.node_name,
            settings: &self.settings,
            snapshot: &self.snapshot,
            pressures: self.pressures,
            runtime_seen: self.runtime_seen,
            shutdown: self.shutdown,
        }
    }

    /// The runtime's answers; there is a runtime from now on.
    pub(super) fn runtime(&mut self) -> &mut RuntimeReadings {
        self.snapshot.runtime.get_or_insert_default()
    }

    /// Gives the host these interfaces.
    pub(super) fn interfaces(&mut self, interfaces: &[Interface]) {
        self.snapshot.interfaces = Reading::of(interfaces.to_vec());
    }
}

/// `seconds` after the instant at which the tests play.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// An interface that is up, with addresses written as `192.0.2.1/24`.
pub(super) fn interface(name: &str, addresses: &[&str]) -> Interface {
    Interface {
        name: name.to_owned(),
        up: true,
        loopback: name == "lo",
        addresses: addresses.iter().map(|text| address(text)).collect(),
        ..Interface::default()
    }
}

/// An address without any flag.
pub(super) fn address(text: &str) -> InterfaceAddress {
    let (address, prefix) = text.split_once('/').unwrap();
    InterfaceAddress {
        address: address.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
        secondary: false,
        temporary: false,
        tentative: false,
        deprecated: false,
    }
}
