//! What the Node is: its name, role, labels, taints and addresses.

use crate::config::labels;
use crate::config::node_ip::{self, Cidr};
use crate::config::node_name::node_name_from;
use crate::config::reader::{Reader, text_of};
use crate::config::settings::Settings;
use crate::config::tree::{Fault, entry_key, item_key};
use k8s_openapi::api::core::v1::Taint;
use std::path::PathBuf;

const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

impl Reader<'_> {
    pub(super) fn identity(&mut self, settings: &mut Settings) {
        self.word("role", &mut settings.role);
        // As with kubelet's flag, an empty name is none.
        if let Some(name) = self.text("nodeName").filter(|name| !name.is_empty()) {
            settings.node_name = self.accept("nodeName", node_name_from(name));
        }
        if let Some(version) = self.text("kubeletVersion") {
            if is_version(version) {
                version.clone_into(&mut settings.kubelet_version);
            } else {
                self.refuse(
                    "kubeletVersion",
                    format!("{version:?} is not a version such as v1.36.0"),
                );
            }
        }
        if let Some(path) = self.text("kubeletConfig").filter(|path| !path.is_empty()) {
            settings.kubelet_config = Some(PathBuf::from(path));
            self.refuse(
                "kubeletConfig",
                "inheriting from a KubeletConfiguration is not supported yet",
            );
        }
        if let Some(path) = self.text("rootDirectory") {
            if path.starts_with('/') {
                path.clone_into(&mut settings.root_directory);
            } else {
                self.refuse("rootDirectory", format!("{path:?} is not an absolute path"));
            }
        }
        if let Some(endpoint) = self.text("containerRuntimeEndpoint") {
            if endpoint.is_empty() || endpoint.starts_with("unix:///") || endpoint.starts_with('/')
            {
                settings.container_runtime_endpoint = Some(endpoint.to_owned());
            } else {
                let message = format!(
                    "{endpoint:?} is not a socket such as unix:///run/containerd/containerd.sock"
                );
                self.refuse("containerRuntimeEndpoint", message);
            }
        }
    }

    pub(super) fn registration(&mut self, settings: &mut Settings) {
        self.boolean("reRegister", &mut settings.re_register);
        self.boolean("registerNode", &mut settings.register_node);
        self.taints(settings);
        settings.provider_id = self
            .text("providerID")
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        for (key, node) in self.entries("nodeLabels") {
            let value = text_of(node).unwrap_or_default();
            match labels::check(key, value) {
                Ok(()) => {
                    settings
                        .node_labels
                        .insert(key.to_owned(), value.to_owned());
                }
                Err(error) => self.refuse_entry("nodeLabels", key, node, error),
            }
        }
        if self.node("port").is_some() {
            let mut port = 0;
            self.whole("port", 1..=65_535, &mut port);
            settings.port = Some(port);
        }
    }

    fn taints(&mut self, settings: &mut Settings) {
        const KEY: &str = "registerWithTaints";
        let Some(items) = self.items(KEY) else { return };
        let mut taints: Vec<Taint> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = item_key(KEY, index);
            let field = |name: &str| item.get(name).and_then(text_of).unwrap_or_default();
            let (key, value, effect) = (field("key"), field("value"), field("effect"));
            let mut refuse = |name: &str, message: String| {
                let origin = &item.get(name).unwrap_or(item).origin;
                self.faults
                    .push(Fault::new(origin, entry_key(&path, name), message));
            };
            if let Err(error) = labels::check_key(key) {
                refuse("key", error.to_string());
            }
            if let Err(error) = labels::check_value(value) {
                refuse("value", error.to_string());
            }
            if !TAINT_EFFECTS.contains(&effect) {
                refuse(
                    "effect",
                    format!(
                        "must be one of {}, not {effect:?}",
                        TAINT_EFFECTS.join(", ")
                    ),
                );
            } else if taints
                .iter()
                .any(|other| other.key == key && other.effect == effect)
            {
                refuse(
                    "key",
                    "taints must be unique by key and effect pair".to_owned(),
                );
            }
            taints.push(Taint {
                key: key.to_owned(),
                value: (!value.is_empty()).then(|| value.to_owned()),
                effect: effect.to_owned(),
                time_added: None,
            });
        }
        settings.register_with_taints = Some(taints);
    }

    pub(super) fn addresses(&mut self, settings: &mut Settings) {
        let cloud_provider = self.text("cloudProvider").unwrap_or_default();
        match cloud_provider {
            "" => {}
            "external" => settings.cloud_provider_external = true,
            other => self.refuse(
                "cloudProvider",
                format!("must be external or empty, not {other:?}"),
            ),
        }
        if let Some(text) = self.text("nodeIP") {
            let argument = node_ip::parse_node_ip_argument(text, cloud_provider);
            let argument = self.accept("nodeIP", argument).unwrap_or_default();
            for item in &argument.ignored {
                self.refuse("nodeIP", format!("{item:?} is not an IP address"));
            }
            for address in &argument.addresses {
                if let Err(error) = node_ip::check_kind(*address) {
                    self.refuse("nodeIP", format!("{error}: {address}"));
                }
            }
            settings.node_ips = argument.addresses;
        }
        if let Some(name) = self.text("nodeIPInterface").filter(|name| !name.is_empty()) {
            settings.node_ip_interface = Some(name.to_owned());
        }
        if let Some(text) = self.text("nodeIPCIDR").filter(|text| !text.is_empty()) {
            let cidrs = text
                .split(',')
                .map(|item| Cidr::parse(item.trim()))
                .collect::<Result<Vec<_>, _>>();
            settings.node_ip_cidrs = self.accept("nodeIPCIDR", cidrs).unwrap_or_default();
        }
        if !matches!(&settings.node_ip_cidrs[..], [] | [_])
            && !matches!(&settings.node_ip_cidrs[..], [a, b] if a.is_ipv6() != b.is_ipv6())
        {
            self.refuse(
                "nodeIPCIDR",
                "must be a single network or one of each family",
            );
        }
        self.one_way_to_choose(settings);
    }

    /// Each of these says where the address comes from; two of them might not agree.
    fn one_way_to_choose(&mut self, settings: &Settings) {
        let ways = [
            (
                "nodeIP",
                settings.node_ips.iter().any(|ip| !ip.is_unspecified()),
            ),
            ("nodeIPInterface", settings.node_ip_interface.is_some()),
            ("nodeIPCIDR", !settings.node_ip_cidrs.is_empty()),
        ];
        let mut given = ways.iter().filter(|(_, given)| *given).map(|(key, _)| key);
        if let Some(first) = given.next() {
            for other in given {
                self.refuse(other, format!("cannot be used together with {first}"));
            }
        }
    }
}

/// Whether `text` is `v`, three numbers, and perhaps something behind them.
fn is_version(text: &str) -> bool {
    let numbers = text
        .strip_prefix('v')
        .map(|rest| rest.split(['-', '+']).next().unwrap_or(rest));
    numbers.is_some_and(|numbers| {
        let mut parts = numbers.split('.');
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        parts
            .by_ref()
            .take(3)
            .filter(|part| is_number(part))
            .count()
            == 3
            && parts.next().is_none()
    })
}
