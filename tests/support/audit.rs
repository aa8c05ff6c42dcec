//! Reads the apiserver's audit log: who asked for what, when, with which body, and with which outcome.

use std::fs;
use std::path::PathBuf;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;
use serde_json::Value;

/// Writes to what nodelet writes are logged with their bodies, everything else without.
pub const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: RequestResponse
    verbs: [create, update, patch, delete, deletecollection]
    resources:
      - group: ""
        resources: [nodes, nodes/status, events]
      - group: events.k8s.io
        resources: [events]
      - group: coordination.k8s.io
        resources: [leases]
  - level: Metadata
"#;

/// A query of the log. It gives finished requests, or with [`Audit::started`] long-running ones that have begun.
///
/// A request is logged just after its answer was sent: a test that has the answer may have to wait for the entry.
pub struct Audit {
    log: PathBuf,
    stage: &'static str,
    user: Option<String>,
    verb: Option<String>,
    resource: Option<String>,
    name: Option<String>,
}

/// One request; the fields are those of `audit.k8s.io/v1` Event.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub stage: String,
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    pub verb: String,
    pub user: User,
    pub user_agent: Option<String>,
    #[serde(default)]
    pub object_ref: ObjectRef,
    #[serde(default)]
    pub response_status: ResponseStatus,
    pub request_object: Option<Value>,
    pub response_object: Option<Value>,
    pub request_received_timestamp: MicroTime,
    pub stage_timestamp: MicroTime,
}

/// Who asked; nobody's name where the credential was refused.
#[derive(Debug, Clone, Deserialize)]
pub struct User {
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    pub groups: Vec<String>,
    /// `authentication.kubernetes.io/credential-id` tells one certificate from another.
    #[serde(default)]
    pub extra: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ResponseStatus {
    pub code: u16,
    pub reason: String,
    pub message: String,
}

impl Entry {
    /// `nodes`, or `nodes/status` where there is a subresource.
    pub fn resource(&self) -> String {
        match self.object_ref.subresource.as_str() {
            "" => self.object_ref.resource.clone(),
            subresource => format!("{}/{subresource}", self.object_ref.resource),
        }
    }
}

impl Audit {
    pub fn new(log: PathBuf) -> Self {
        Self {
            log,
            stage: "ResponseComplete",
            user: None,
            verb: None,
            resource: None,
            name: None,
        }
    }

    /// Long-running requests (watches) at their begin; their end is a finished request like any other.
    pub fn started(mut self) -> Self {
        self.stage = "ResponseStarted";
        self
    }

    /// Requests whose handling broke off: the apiserver panicked, or the client went away before its answer.
    pub fn panicked(mut self) -> Self {
        self.stage = "Panic";
        self
    }

    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// The requests of the Node `name` itself.
    pub fn node(self, name: &str) -> Self {
        self.user(&format!("system:node:{name}"))
    }

    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub fn verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.to_owned());
        self
    }

    /// `nodes` leaves `nodes/status` out and the other way round.
    pub fn resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// The object's name. A create has one only where the path or the body gives it.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The entries so far, in the order of the log, which is that of the answers.
    pub fn entries(&self) -> Vec<Entry> {
        let log = fs::read_to_string(&self.log)
            .unwrap_or_else(|e| panic!("read {}: {e}", self.log.display()));
        log.split_inclusive('\n')
            // The last line may be still in the writing.
            .filter(|line| line.ends_with('\n'))
            // Cheaper than parsing the many lines of others.
            .filter(|line| {
                self.user
                    .as_ref()
                    .is_none_or(|user| line.contains(user.as_str()))
            })
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|e| panic!("audit entry {line}: {e}"))
            })
            .filter(|entry| self.matches(entry))
            .collect()
    }

    fn matches(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, actual: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == actual)
        };
        entry.stage == self.stage
            && is(&self.user, &entry.user.username)
            && is(&self.verb, &entry.verb)
            && is(&self.resource, &entry.resource())
            && is(&self.name, &entry.object_ref.name)
    }
}
