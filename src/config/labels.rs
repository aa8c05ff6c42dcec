//! Labels and names in the forms that the API server accepts, and the labels that a node may give itself.
//!
//! Defined by `apimachinery/pkg/util/validation` and `kubelet/pkg/apis/well_known_labels.go`; `NodeRestriction` refuses
//! other labels at registration, so they are refused here, where the cause can be named.

/// Keys in the namespaces of Kubernetes that a node may set.
pub const ALLOWED_KEYS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Namespaces of Kubernetes in which, and below which, a node may set any key.
pub const ALLOWED_NAMESPACES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

const KUBERNETES_NAMESPACES: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// The longest label value, and the longest name in a key.
pub const LONGEST_LABEL: usize = 63;
/// The longest DNS subdomain.
pub const LONGEST_SUBDOMAIN: usize = 253;

/// Why a label is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The key belongs to Kubernetes, and is none that a node may set.
    #[error(
        "a node may not set the label {key}: in the kubernetes.io and k8s.io namespaces it may set only keys in {} \
         (or below them) and {}",
        ALLOWED_NAMESPACES.join(", "),
        ALLOWED_KEYS.join(", ")
    )]
    Reserved {
        /// The key.
        key: String,
    },
    /// The key is not `name` or `subdomain/name`.
    #[error("{0:?} is not a label key: {1}")]
    Key(String, &'static str),
    /// The value is none.
    #[error(
        "{0:?} is not a label value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
    )]
    Value(String),
}

/// Refuses a label that the API server or `NodeRestriction` would refuse on this node's own Node.
pub fn check(key: &str, value: &str) -> Result<(), LabelError> {
    check_key(key)?;
    if !may_set(key) {
        return Err(LabelError::Reserved {
            key: key.to_owned(),
        });
    }
    check_value(value)
}

/// Whether a node may set the label `key` on its own Node (`IsKubeletLabel`, and every key that is not Kubernetes' own).
pub fn may_set(key: &str) -> bool {
    let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
    let is_in = |domains: &[&str]| {
        domains
            .iter()
            .any(|domain| is_at_or_below(namespace, domain))
    };
    !is_in(&KUBERNETES_NAMESPACES) || is_in(&ALLOWED_NAMESPACES) || ALLOWED_KEYS.contains(&key)
}

/// Refuses what is no key of a label or taint (`IsQualifiedName`).
pub fn check_key(key: &str) -> Result<(), LabelError> {
    let error = |reason| Err(LabelError::Key(key.to_owned(), reason));
    let name = match key.split_once('/') {
        Some((prefix, _)) if !is_subdomain(prefix) => {
            return error("what precedes the slash must be a DNS subdomain");
        }
        Some((_, name)) => name,
        None => key,
    };
    if name.is_empty() || !is_label_text(name) {
        return error(
            "the name must be 1 to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
        );
    }
    Ok(())
}

/// Refuses what is no value of a label or taint (`IsValidLabelValue`); an empty one is valid.
pub fn check_value(value: &str) -> Result<(), LabelError> {
    if value.is_empty() || is_label_text(value) {
        Ok(())
    } else {
        Err(LabelError::Value(value.to_owned()))
    }
}

/// Whether `name` is a DNS subdomain: lower-case labels, joined by dots (`IsDNS1123Subdomain`).
pub fn is_subdomain(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= LONGEST_SUBDOMAIN && name.split('.').all(is_label)
}

fn is_label_text(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= LONGEST_LABEL
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && edge(text.bytes().next())
        && edge(text.bytes().last())
}

fn is_at_or_below(namespace: &str, domain: &str) -> bool {
    namespace
        .strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C118.
    #[test]
    fn c118_reserved_labels_are_refused_and_named() {
        for (key, value, allowed) in [
            ("node-role.kubernetes.io/worker", "", false),
            (
                "example.com.node-restriction.kubernetes.io/group",
                "a",
                false,
            ),
            ("foo.k8s.io/x", "y", false),
            ("node.kubernetes.io/pool", "a", true),
            ("sub.kubelet.kubernetes.io/x", "y", true),
            ("topology.kubernetes.io/zone", "z1", true),
            ("example.com/x", "y", true),
            ("notkubernetes.io/x", "y", true),
            ("kubernetes.io/x", "y", false),
            ("fakenode.kubernetes.io/x", "y", false),
            ("plain", "y", true),
        ] {
            let result = check(key, value);
            assert_eq!(result.is_ok(), allowed, "{key}: {result:?}");
            if let Err(error) = result {
                let message = error.to_string();
                assert!(message.contains(key), "{message}");
                assert!(
                    message.contains("kubelet.kubernetes.io, node.kubernetes.io"),
                    "{message}"
                );
                assert!(message.contains("topology.kubernetes.io/zone"), "{message}");
            }
        }
    }

    #[test]
    fn keys_and_values_have_the_servers_form() {
        let long = "a".repeat(64);
        for (key, valid) in [
            ("a", true),
            ("A_b.c-d", true),
            ("example.com/a", true),
            ("", false),
            ("/a", false),
            ("Example.com/a", false),
            ("example.com/", false),
            ("a/b/c", false),
            ("-a", false),
            ("a b", false),
            (&long[..63], true),
            (&long, false),
        ] {
            assert_eq!(check_key(key).is_ok(), valid, "{key:?}");
        }
        for (value, valid) in [
            ("", true),
            ("y", true),
            ("A.b_c-1", true),
            ("-y", false),
            ("y.", false),
            ("ü", false),
        ] {
            assert_eq!(check_value(value).is_ok(), valid, "{value:?}");
        }
        assert!(check_value(&long[..63]).is_ok() && check_value(&long).is_err());
    }

    #[test]
    fn subdomains() {
        let label = "a".repeat(50);
        let long = [label.as_str(); 5].join(".");
        for (name, valid) in [
            ("node-a.example.com", true),
            ("1", true),
            ("node_b", false),
            ("Node", false),
            ("a..b", false),
            (".a", false),
            ("a-", false),
            ("", false),
            (long.as_str(), false),
            (&long[..253], true),
        ] {
            assert_eq!(is_subdomain(name), valid, "{name:?}");
        }
    }
}
