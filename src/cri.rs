//! What a container runtime says of itself, as plain data (CRI v1, `cri-api/pkg/apis/runtime/v1/api.proto`). Only
//! the fields that a Node status is made of.

/// `Version`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeVersion {
    /// `runtime_name`: `containerd`.
    pub name: String,
    /// `runtime_version`: `2.3.7`.
    pub version: String,
}

/// `Status`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeStatus {
    /// `status.conditions`.
    pub conditions: Vec<RuntimeCondition>,
    /// `runtime_handlers`.
    pub handlers: Vec<RuntimeHandler>,
    /// `features`; absent where the runtime is too old to say.
    pub features: Option<RuntimeFeatures>,
}

/// One of the runtime's own conditions: `RuntimeReady`, `NetworkReady`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeCondition {
    /// Its type.
    pub kind: String,
    /// Whether it holds.
    pub status: bool,
    /// The runtime's reason.
    pub reason: String,
    /// The runtime's message.
    pub message: String,
}

/// A handler that a RuntimeClass can name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeHandler {
    /// Its name, empty for the default handler.
    pub name: String,
    /// Whether it can mount read-only recursively.
    pub recursive_read_only_mounts: bool,
    /// Whether it can run pods in a user namespace.
    pub user_namespaces: bool,
}

/// `features` of `Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuntimeFeatures {
    /// Whether `supplementalGroupsPolicy` of a pod is understood.
    pub supplemental_groups_policy: bool,
}

/// One of `ListImages`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// `id`.
    pub id: String,
    /// `repo_tags`.
    pub repo_tags: Vec<String>,
    /// `repo_digests`.
    pub repo_digests: Vec<String>,
    /// `size`, bytes.
    pub size_bytes: u64,
    /// `pinned`: never removed by garbage collection.
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
