//! What a container runtime says of itself, as plain data (CRI v1, `cri-api/pkg/apis/runtime/v1/api.proto`). Only
//! the fields that a Node status is made of, written in a recording under the names that are given here.

use serde::{Deserialize, Serialize};

/// `Version`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeVersion {
    /// `runtime_name`: `containerd`.
    #[serde(rename = "runtimeName")]
    pub name: String,
    /// `runtime_version`: `2.3.7`.
    #[serde(rename = "runtimeVersion")]
    pub version: String,
}

/// `Status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeStatus {
    /// `status.conditions`.
    #[serde(default)]
    pub conditions: Vec<RuntimeCondition>,
    /// `runtime_handlers`.
    #[serde(rename = "runtimeHandlers", default)]
    pub handlers: Vec<RuntimeHandler>,
    /// `features`; absent where the runtime is too old to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<RuntimeFeatures>,
}

/// One of the runtime's own conditions: `RuntimeReady`, `NetworkReady`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: bool,
    /// The runtime's reason.
    #[serde(default)]
    pub reason: String,
    /// The runtime's message.
    #[serde(default)]
    pub message: String,
}

/// A handler that a `RuntimeClass` can name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeHandler {
    /// Its name, empty for the default handler.
    pub name: String,
    /// Whether it can mount read-only recursively.
    #[serde(default)]
    pub recursive_read_only_mounts: bool,
    /// Whether it can run pods in a user namespace.
    #[serde(default)]
    pub user_namespaces: bool,
}

/// `features` of `Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeFeatures {
    /// Whether `supplementalGroupsPolicy` of a pod is understood.
    #[serde(default)]
    pub supplemental_groups_policy: bool,
}

/// One of `ListImages`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// `id`.
    pub id: String,
    /// `repo_tags`.
    #[serde(default)]
    pub repo_tags: Vec<String>,
    /// `repo_digests`.
    #[serde(default)]
    pub repo_digests: Vec<String>,
    /// `size`, bytes.
    #[serde(rename = "size")]
    pub size_bytes: u64,
    /// `pinned`: never removed by garbage collection.
    #[serde(default)]
    pub pinned: bool,
}

/// `ImageFsInfo`: where images and writable layers lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageFilesystems {
    /// `image_filesystems[].fs_id.mountpoint`.
    pub image: Vec<String>,
    /// `container_filesystems[].fs_id.mountpoint`.
    pub container: Vec<String>,
}
