//! What runs on the machine: kernel, distribution, runtime, agent, and the platform in Go's names
//! (`pkg/kubelet/nodestatus/setters.go`, `VersionInfo` and `GoRuntime`).
//!
//! Where a version cannot be read the stored one stays, and only a Node without one says `Unknown`; kubelet writes
//! `Unknown` over what was known.

use super::{Explanation, Inputs, Missing, SetterError, node_info_of};
use crate::cri::RuntimeVersion;
use crate::host::os::{go_arch, go_os};
use k8s_openapi::api::core::v1::Node;

/// A version that nobody knows.
const UNKNOWN: &str = "Unknown";

/// Sets `nodeInfo.kernelVersion`, `osImage`, `containerRuntimeVersion` and `kubeletVersion`, and empties
/// `kubeProxyVersion`, which nobody knows.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let snapshot = inputs.snapshot;
    let mut missing = Missing::default();
    let info = node_info_of(node);
    if let Some(uname) = missing.take("uname", &snapshot.uname) {
        info.kernel_version.clone_from(&uname.release);
    } else if info.kernel_version.is_empty() {
        UNKNOWN.clone_into(&mut info.kernel_version);
    }
    if let Some(image) = missing.take("os-release", &snapshot.os_image) {
        info.os_image.clone_from(image);
    } else if info.os_image.is_empty() {
        UNKNOWN.clone_into(&mut info.os_image);
    }
    if let Some(runtime) = &snapshot.runtime
        && let Some(version) = missing.take("container runtime", &runtime.version)
    {
        info.container_runtime_version = runtime_version(version);
    }
    info.kubelet_version
        .clone_from(&inputs.settings.kubelet_version);
    info.kube_proxy_version.clear();
    missing
        .into_result()
        .map_err(|SetterError(e)| SetterError(format!("error getting version info: {e}")))
}

/// `containerd://2.3.7`; a version that is none reads `Unknown`.
fn runtime_version(runtime: &RuntimeVersion) -> String {
    let version = parsed_version(&runtime.version);
    format!(
        "{}://{}",
        runtime.name,
        version.as_deref().unwrap_or(UNKNOWN)
    )
}

/// The version as kubelet prints it after parsing: semantic where it is one, else the leading numbers
/// (`apimachinery/pkg/util/version`).
fn parsed_version(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = text.strip_prefix('v').unwrap_or(text);
    let length = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (mut numbers, mut extra) = text.split_at(length);
    // A dot belongs to the numbers only in front of one.
    if let Some(end) = numbers
        .find("..")
        .or_else(|| numbers.ends_with('.').then(|| numbers.len() - 1))
    {
        extra = &text[end..];
        numbers = &numbers[..end];
    }
    let components: Vec<&str> = numbers.split('.').collect();
    let parsed: Vec<u64> = components
        .iter()
        .map(|text| text.parse().ok())
        .collect::<Option<_>>()?;
    let padded = |component: &&str| component.len() > 1 && component.starts_with('0');
    let printed = parsed
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(".");
    let semantic = components.len() == 3 && !components.iter().any(padded);
    if semantic && let Some(extra) = pre_release_and_build(extra.trim_end()) {
        return Some(printed + extra);
    }
    (components.len() >= 2 && !padded(&components[0])).then_some(printed)
}

/// `extra` itself, if it is empty or of the form `-pre.release+build.metadata`.
fn pre_release_and_build(extra: &str) -> Option<&str> {
    let identifiers = |text: &str| {
        text.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    let padded_number = |part: &str| {
        part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (pre_release, build) = match extra.split_once('+') {
        Some((pre_release, build)) => (pre_release, Some(build)),
        None => (extra, None),
    };
    let pre_release_fits = pre_release.is_empty()
        || pre_release
            .strip_prefix('-')
            .is_some_and(|text| identifiers(text) && !text.split('.').any(padded_number));
    (pre_release_fits && build.is_none_or(identifiers)).then_some(extra)
}

/// Sets `nodeInfo.operatingSystem` and `architecture`, from uname(2) and never from the build: a recording of another
/// machine has that machine's.
pub fn set_platform(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let mut missing = Missing::default();
    let info = node_info_of(node);
    if let Some(uname) = missing.take("uname", &inputs.snapshot.uname) {
        match go_os(&uname.sysname) {
            Some(system) => system.clone_into(&mut info.operating_system),
            None => missing.note(format!("unknown operating system {:?}", uname.sysname)),
        }
        match go_arch(&uname.machine) {
            Some(arch) => arch.clone_into(&mut info.architecture),
            None => missing.note(format!("unknown architecture {:?}", uname.machine)),
        }
    }
    missing.into_result()
}

/// Where the versions come from.
pub fn explain(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let snapshot = inputs.snapshot;
    let path = |field: &str| {
        (
            format!("/status/nodeInfo/{field}"),
            format!("nodeInfo.{field}"),
        )
    };
    let (kernel, kernel_rule) = path("kernelVersion");
    let (image, image_rule) = path("osImage");
    let (runtime, runtime_rule) = path("containerRuntimeVersion");
    let (kubelet, kubelet_rule) = path("kubeletVersion");
    let version = snapshot.runtime.as_ref().map(|readings| &readings.version);
    [
        Explanation::read(kernel, kernel_rule, &snapshot.uname),
        Explanation::read(image, image_rule, &snapshot.os_image),
        version.and_then(|version| Explanation::read(runtime, runtime_rule, version)),
        Some(Explanation::ruled(kubelet, kubelet_rule).with_setting("kubeletVersion")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where the platform comes from.
pub fn explain_platform(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    ["operatingSystem", "architecture"]
        .into_iter()
        .filter_map(|field| {
            let path = format!("/status/nodeInfo/{field}");
            Explanation::read(path, format!("nodeInfo.{field}"), &inputs.snapshot.uname)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{parsed_version, set, set_platform};
    use crate::cri::RuntimeVersion;
    use crate::gather::Reading;
    use crate::source::Uname;
    use crate::status::testing::World;
    use k8s_openapi::api::core::v1::{Node, NodeStatus, NodeSystemInfo};

    fn world() -> World {
        let mut world = World::new();
        world.settings.kubelet_version = "v1.36.0-nodelet.0.1.0".to_owned();
        world.snapshot.uname = Reading::of(Uname {
            sysname: "Linux".to_owned(),
            release: "6.1.0".to_owned(),
            machine: "aarch64".to_owned(),
        });
        world.snapshot.os_image = Reading::of("Debian GNU/Linux 12 (bookworm)".to_owned());
        world.runtime().version = Reading::of(RuntimeVersion {
            name: "containerd".to_owned(),
            version: "v2.3.7".to_owned(),
        });
        world
    }

    fn stored() -> Node {
        let text = || "before".to_owned();
        let info = NodeSystemInfo {
            kernel_version: text(),
            os_image: text(),
            container_runtime_version: text(),
            kubelet_version: text(),
            kube_proxy_version: text(),
            ..NodeSystemInfo::default()
        };
        let status = NodeStatus {
            node_info: Some(info),
            ..NodeStatus::default()
        };
        Node {
            status: Some(status),
            ..Node::default()
        }
    }

    fn info(node: Node) -> NodeSystemInfo {
        node.status.unwrap().node_info.unwrap()
    }

    #[test]
    fn test_version_info() {
        let mut node = stored();
        set(&world().inputs(), &mut node).unwrap();
        let info = info(node);
        assert_eq!(info.kernel_version, "6.1.0");
        assert_eq!(info.os_image, "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(info.container_runtime_version, "containerd://2.3.7");
        assert_eq!(info.kubelet_version, "v1.36.0-nodelet.0.1.0");
        assert_eq!(info.kube_proxy_version, "", "what was there is cleared");
    }

    #[test]
    fn test_version_info_errors_cost_only_their_own_value() {
        // kubelet leaves the whole of it alone on the first kind of error, and writes `Unknown` on the second.
        let mut world = world();
        world.snapshot.uname = Reading::failed("foo");
        world.runtime().version = Reading::failed("bar");
        let mut node = stored();
        assert_eq!(
            set(&world.inputs(), &mut node).unwrap_err().0,
            "error getting version info: uname: foo; container runtime: bar"
        );
        let info = info(node);
        assert_eq!(info.kernel_version, "before");
        assert_eq!(info.container_runtime_version, "before");
        assert_eq!(info.os_image, "Debian GNU/Linux 12 (bookworm)");
    }

    #[test]
    fn without_a_runtime_its_version_stays() {
        let mut world = world();
        world.snapshot.runtime = None;
        let (mut old, mut new) = (stored(), Node::default());
        set(&world.inputs(), &mut old).unwrap();
        set(&world.inputs(), &mut new).unwrap();
        assert_eq!(info(old).container_runtime_version, "before");
        assert_eq!(info(new).container_runtime_version, "");
    }

    #[test]
    fn a_runtime_version_is_printed_as_kubelet_parses_it() {
        for (text, expected) in [
            ("2.3.7", Some("2.3.7")),
            ("v2.3.7", Some("2.3.7")),
            ("2.3.7+unknown", Some("2.3.7+unknown")),
            ("1.30.0-rc.1+build.5", Some("1.30.0-rc.1+build.5")),
            ("1.30.0-01", Some("1.30.0")),
            ("1.30.0~ds1", Some("1.30.0")),
            ("19.03.5", Some("19.3.5")),
            ("1.2", Some("1.2")),
            ("1.2.", Some("1.2")),
            ("1.2.3.4-x", Some("1.2.3.4")),
            ("01.2.3", None),
            ("2", None),
            ("", None),
            ("git-abcdef", None),
        ] {
            assert_eq!(parsed_version(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_platform_is_that_of_the_host_not_of_the_build() {
        let platform = |sysname: &str, machine: &str| {
            let mut world = world();
            world.snapshot.uname = Reading::of(Uname {
                sysname: sysname.to_owned(),
                machine: machine.to_owned(),
                ..Uname::default()
            });
            let mut node = Node::default();
            let result = set_platform(&world.inputs(), &mut node);
            let info = info(node);
            result.map(|()| (info.operating_system, info.architecture))
        };
        for (machine, arch) in [
            ("x86_64", "amd64"),
            ("aarch64", "arm64"),
            ("s390x", "s390x"),
        ] {
            assert_eq!(
                platform("Linux", machine),
                Ok(("linux".to_owned(), arch.to_owned()))
            );
        }
        assert_eq!(
            platform("Plan9", "pdp11").unwrap_err().0,
            "unknown operating system \"Plan9\"; unknown architecture \"pdp11\""
        );
    }
}
