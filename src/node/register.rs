//! The Node as it is created, and what is brought in order on one that exists already
//! (`pkg/kubelet/kubelet_node_status.go`, `initialNode`, `tryRegisterWithAPIServer`).

use super::role::{INSTANCE_ANNOTATION, instance_of};
use crate::host::os::go_arch;
use crate::status::Inputs;
use k8s_openapi::api::core::v1::{Node, NodeSpec, Taint};
use std::collections::BTreeMap;
use std::time::Duration;

/// The taint of a node that runs no pods.
pub const NO_PODS_TAINT: &str = "nodelet/no-pods";

/// The taint that a cloud controller takes off once it has looked at the node.
const UNINITIALIZED_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// GOOS: nodelet runs on Linux only.
pub const OS: &str = "linux";

/// The labels that are kept right on a Node that exists already; of these only, and only where wanted.
const DEFAULT_LABELS: [&str; 12] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/windows-build",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// The wait before each try to register: 100 ms, doubled up to 7 s.
#[derive(Debug, Clone)]
pub struct RegistrationBackoff {
    step: Duration,
}

impl Default for RegistrationBackoff {
    fn default() -> Self {
        Self {
            step: Duration::from_millis(100),
        }
    }
}

impl RegistrationBackoff {
    /// The next wait.
    pub fn next_wait(&mut self) -> Duration {
        let wait = self.step;
        self.step = (self.step * 2).min(Duration::from_secs(7));
        wait
    }
}

/// The Node without its status: name, labels, annotations, taints, providerID.
pub fn initial_node(inputs: &Inputs<'_>) -> Node {
    let settings = inputs.settings;
    let mut node = Node::default();
    node.metadata.name = Some(inputs.node_name.to_owned());
    node.metadata.labels = Some(wanted_labels(inputs));
    set_instance(inputs, &mut node);
    let mut taints = settings.register_with_taints.clone().unwrap_or_else(|| {
        vec![Taint {
            key: NO_PODS_TAINT.to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        }]
    });
    if settings.cloud_provider_external {
        taints.push(Taint {
            key: UNINITIALIZED_TAINT.to_owned(),
            value: Some("true".to_owned()),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        });
    }
    node.spec = Some(NodeSpec {
        taints: (!taints.is_empty()).then_some(taints),
        provider_id: settings.provider_id.clone().filter(|id| !id.is_empty()),
        ..NodeSpec::default()
    });
    node
}

fn wanted_labels(inputs: &Inputs<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    set("kubernetes.io/hostname", inputs.node_name);
    set("kubernetes.io/os", OS);
    set("beta.kubernetes.io/os", OS);
    if let Some(arch) = arch(inputs) {
        set("kubernetes.io/arch", arch);
        set("beta.kubernetes.io/arch", arch);
    }
    labels.extend(inputs.settings.node_labels.clone());
    labels
}

/// GOARCH of the host, from what its kernel says; never from the build.
fn arch(inputs: &Inputs<'_>) -> Option<&'static str> {
    inputs
        .snapshot
        .uname
        .get()
        .and_then(|uname| go_arch(&uname.machine))
}

/// Sets the labels `kubernetes.io/os` and `/arch` right, which is done in every round; whether any was wrong.
pub fn heal_labels(inputs: &Inputs<'_>, node: &mut Node) -> bool {
    let wanted = [
        ("kubernetes.io/os", Some(OS)),
        ("kubernetes.io/arch", arch(inputs)),
    ];
    let labels = node.metadata.labels.get_or_insert_default();
    let mut healed = false;
    for (key, value) in wanted {
        if let Some(value) = value
            && labels.get(key).map(String::as_str) != Some(value)
        {
            labels.insert(key.to_owned(), value.to_owned());
            healed = true;
        }
    }
    healed
}

/// Brings the labels of a Node that exists already in order, as far as registration does: the default ones. Taints,
/// providerID and other labels stay as they are.
pub fn reconcile(inputs: &Inputs<'_>, existing: &mut Node) -> bool {
    update_default_labels(&wanted_labels(inputs), &mut existing.metadata.labels)
}

/// Says on the Node which machine keeps it, as soon as that is known.
pub fn set_instance(inputs: &Inputs<'_>, node: &mut Node) {
    let instance = instance_of(inputs.snapshot);
    if !instance.is_empty() {
        let annotations = node.metadata.annotations.get_or_insert_default();
        annotations.insert(INSTANCE_ANNOTATION.to_owned(), instance);
    }
}

fn update_default_labels(
    wanted: &BTreeMap<String, String>,
    existing: &mut Option<BTreeMap<String, String>>,
) -> bool {
    let existing = existing.get_or_insert_default();
    let mut changed = false;
    for key in DEFAULT_LABELS {
        let Some(value) = wanted.get(key) else {
            continue;
        };
        if existing.get(key).map_or("", String::as_str) != value {
            existing.insert(key.to_owned(), value.clone());
            changed = true;
        }
        if value.is_empty() {
            existing.remove(key);
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_LABELS, RegistrationBackoff, update_default_labels};
    use std::collections::BTreeMap;

    type Labels = BTreeMap<String, String>;

    /// The nine labels of the upstream test.
    fn nine(value: &str) -> Labels {
        DEFAULT_LABELS
            .iter()
            .filter(|key| {
                !key.starts_with("topology") && **key != "node.kubernetes.io/windows-build"
            })
            .take(9)
            .map(|key| ((*key).to_owned(), format!("{value}-{key}")))
            .collect()
    }

    #[test]
    fn test_update_default_labels() {
        let with = |mut labels: Labels, key: &str, value: &str| {
            labels.insert(key.to_owned(), value.to_owned());
            labels
        };
        let some_old: Labels = nine("new")
            .into_iter()
            .filter(|(key, _)| key.contains("beta") || key.ends_with("hostname"))
            .collect();
        for (row, wanted, existing, changed, expected) in [
            ("empty", nine("new"), Some(Labels::new()), true, nine("new")),
            ("all old", nine("new"), Some(nine("old")), true, nine("new")),
            (
                "equal and an extra",
                nine("new"),
                Some(with(nine("new"), "please-persist", "foo")),
                false,
                with(nine("new"), "please-persist", "foo"),
            ),
            (
                "nothing wanted",
                Labels::new(),
                Some(with(nine("new"), "please-persist", "foo")),
                false,
                with(nine("new"), "please-persist", "foo"),
            ),
            (
                "exactly equal",
                nine("new"),
                Some(nine("new")),
                false,
                nine("new"),
            ),
            ("none at all", nine("new"), None, true, nine("new")),
            ("only some", nine("new"), Some(some_old), true, nine("new")),
            (
                "an empty value is taken off",
                with(Labels::new(), "kubernetes.io/os", ""),
                Some(with(Labels::new(), "kubernetes.io/os", "linux")),
                true,
                Labels::new(),
            ),
            (
                "an empty value that is not there",
                with(Labels::new(), "kubernetes.io/os", ""),
                Some(Labels::new()),
                false,
                Labels::new(),
            ),
        ] {
            let mut existing = existing;
            assert_eq!(
                update_default_labels(&wanted, &mut existing),
                changed,
                "{row}"
            );
            assert_eq!(existing, Some(expected), "{row}");
        }
    }

    #[test]
    fn the_wait_before_a_try_doubles_up_to_seven_seconds() {
        let mut backoff = RegistrationBackoff::default();
        let waits: Vec<u128> = (0..9).map(|_| backoff.next_wait().as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 7000, 7000]);
    }
}
