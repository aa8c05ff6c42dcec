//! A request to the apiserver as plain data: what is sent, what `-o patch` prints and what a test compares are the
//! same value.

use serde_json::{Value, json};
use std::time::Duration;

/// The field manager of every write (`managedFields`, DESIGN §2).
pub const FIELD_MANAGER: &str = "nodelet";

/// Kubernetes' verb, as an audit log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// GET.
    Get,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
}

impl Verb {
    /// The name in an audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
        }
    }

    /// The HTTP method.
    pub fn method(self) -> http::Method {
        match self {
            Self::Get => http::Method::GET,
            Self::Create => http::Method::POST,
            Self::Update => http::Method::PUT,
            Self::Patch => http::Method::PATCH,
        }
    }
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// What to do.
    pub verb: Verb,
    /// The absolute path.
    pub path: String,
    /// The query without its question mark.
    pub query: String,
    /// The media type of the body; empty without one.
    pub content_type: &'static str,
    /// The body.
    pub body: Option<Value>,
}

impl ApiRequest {
    fn new(verb: Verb, path: String, content_type: &'static str, body: Option<Value>) -> Self {
        let query = match verb {
            Verb::Get => String::new(),
            _ => format!("fieldManager={FIELD_MANAGER}"),
        };
        Self {
            verb,
            path,
            query,
            content_type,
            body,
        }
    }

    /// GET of the Node `name`: a quorum read.
    pub fn get_node(name: &str) -> Self {
        Self::new(Verb::Get, format!("/api/v1/nodes/{name}"), "", None)
    }

    /// POST of a Node.
    pub fn create_node(node: Value) -> Self {
        Self::new(
            Verb::Create,
            "/api/v1/nodes".to_owned(),
            "application/json",
            Some(node),
        )
    }

    /// Strategic merge patch of the Node's `status` subresource.
    pub fn patch_node_status(name: &str, patch: Value) -> Self {
        Self::new(
            Verb::Patch,
            format!("/api/v1/nodes/{name}/status"),
            "application/strategic-merge-patch+json",
            Some(patch),
        )
    }

    /// GET of the Node's Lease.
    pub fn get_lease(name: &str) -> Self {
        Self::new(Verb::Get, format!("{LEASES}/{name}"), "", None)
    }

    /// POST of the Node's Lease.
    pub fn create_lease(lease: Value) -> Self {
        Self::new(
            Verb::Create,
            LEASES.to_owned(),
            "application/json",
            Some(lease),
        )
    }

    /// PUT of the Node's Lease.
    pub fn update_lease(name: &str, lease: Value) -> Self {
        Self::new(
            Verb::Update,
            format!("{LEASES}/{name}"),
            "application/json",
            Some(lease),
        )
    }

    /// The same request with the server's own deadline, whole seconds and at least one.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        let separator = if self.query.is_empty() { "" } else { "&" };
        self.query = format!(
            "{}{separator}timeout={}s",
            self.query,
            timeout.as_secs().max(1)
        );
        self
    }

    /// The line that `-o patch` prints for it.
    pub fn to_line(&self) -> Value {
        json!({
            "verb": self.verb.name(),
            "path": self.path,
            "query": self.query,
            "contentType": self.content_type,
            "body": self.body,
        })
    }
}

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
