//! The setters in kubelet's order (`pkg/kubelet/kubelet_node_status.go`, `defaultNodeStatusFuncs`), and what runs them.
//!
//! A setter that fails is isolated: what it did stays, and the chain goes on.

use super::{
    Explanation, Inputs, SetterError, addresses, conditions, endpoints, images, machine, ready,
    runtime_info, versions, volumes,
};
use crate::config::settings::Settings;
use k8s_openapi::api::core::v1::Node;

/// One setter.
#[derive(Debug, Clone, Copy)]
pub struct Setter {
    /// Its name in the configuration, in metrics and in the summary.
    pub name: &'static str,
    /// Brings its part of the Node up to what was read; never touches the spec.
    pub set: fn(&Inputs<'_>, &mut Node) -> Result<(), SetterError>,
    /// Where each value comes from that `set` would set on this Node; call it with the Node as it was before.
    pub explain: fn(&Inputs<'_>, &Node) -> Vec<Explanation>,
}

/// The setter whose capacity [`READY`] looks at.
const MACHINE_INFO: &str = "machineInfo";
const READY: &str = "ready";

/// All setters, in kubelet's order.
pub const CHAIN: [Setter; 13] = [
    Setter {
        name: "addresses",
        set: addresses::set,
        explain: addresses::explain,
    },
    Setter {
        name: MACHINE_INFO,
        set: machine::set,
        explain: machine::explain,
    },
    Setter {
        name: "versionInfo",
        set: versions::set,
        explain: versions::explain,
    },
    Setter {
        name: "daemonEndpoints",
        set: endpoints::set,
        explain: endpoints::explain,
    },
    Setter {
        name: "images",
        set: images::set,
        explain: images::explain,
    },
    Setter {
        name: "goRuntime",
        set: versions::set_platform,
        explain: versions::explain_platform,
    },
    Setter {
        name: "runtimeHandlers",
        set: runtime_info::set_handlers,
        explain: runtime_info::explain_handlers,
    },
    Setter {
        name: "nodeFeatures",
        set: runtime_info::set_features,
        explain: runtime_info::explain_features,
    },
    Setter {
        name: "volumeLimits",
        set: volumes::set,
        explain: volumes::explain,
    },
    Setter {
        name: "memoryPressure",
        set: conditions::set_memory,
        explain: conditions::explain_memory,
    },
    Setter {
        name: "diskPressure",
        set: conditions::set_disk,
        explain: conditions::explain_disk,
    },
    Setter {
        name: "pidPressure",
        set: conditions::set_pid,
        explain: conditions::explain_pid,
    },
    Setter {
        name: READY,
        set: ready::set,
        explain: ready::explain,
    },
];

/// The setters to run: without those that `setters.disable` names, those first that `setters.order` names, the rest
/// in kubelet's order; but Ready never before the machine's capacity.
pub fn order(settings: &Settings) -> Vec<&'static Setter> {
    let listed = |setter: &Setter| {
        let place = settings
            .setters_order
            .iter()
            .position(|name| name == setter.name);
        place.unwrap_or(usize::MAX)
    };
    let enabled = CHAIN
        .iter()
        .filter(|setter| !settings.setters_disabled.contains(setter.name));
    let mut setters: Vec<&'static Setter> = enabled.collect();
    setters.sort_by_key(|setter| listed(setter));
    let place_of = |name: &str| setters.iter().position(|setter| setter.name == name);
    if let (Some(ready), Some(machine)) = (place_of(READY), place_of(MACHINE_INFO))
        && ready < machine
    {
        setters[ready..=machine].rotate_left(1);
    }
    setters
}

/// Runs `setters` over `node` one after the other, and says how each went.
pub fn run(
    inputs: &Inputs<'_>,
    node: &mut Node,
    setters: &[&Setter],
) -> Vec<(&'static str, Result<(), SetterError>)> {
    setters
        .iter()
        .map(|setter| (setter.name, (setter.set)(inputs, node)))
        .collect()
}

#[cfg(test)]
mod tests;
