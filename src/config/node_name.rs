//! The name under which this machine is a Node: one spelling for Node, Lease and NodeMetric.
//!
//! Defined by `component-helpers/node/util/hostname.go` (`GetHostname`) and the server's checks of a Node.

use super::labels::{LONGEST_LABEL, is_subdomain};

/// Why a name can be no Node's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeNameError {
    /// Nothing, or blanks only.
    #[error("empty hostname is invalid")]
    Empty,
    /// Not a name that the API server accepts.
    #[error(
        "{0:?} cannot be the name of a Node: it must be a DNS subdomain (RFC 1123) of lower-case letters, digits, '-' \
         and '.', beginning and ending with a letter or digit; set another one with nodeName or --node-name"
    )]
    NotASubdomain(String),
    /// A Node of that name could not have the label that every Node has.
    #[error(
        "{0:?} is too long for the label kubernetes.io/hostname: {length} characters, at most {longest} fit; \
         set another one with nodeName or --node-name",
        length = .0.len(),
        longest = LONGEST_LABEL
    )]
    TooLongForLabel(String),
}

/// The Node's name for a host name, or for one that was configured: without blanks around it and in lower case.
pub fn node_name_from(hostname: &str) -> Result<String, NodeNameError> {
    let name = hostname.trim().to_lowercase();
    if name.is_empty() {
        Err(NodeNameError::Empty)
    } else if name.len() > LONGEST_LABEL && is_subdomain(&name) {
        Err(NodeNameError::TooLongForLabel(name))
    } else if is_subdomain(&name) {
        Ok(name)
    } else {
        Err(NodeNameError::NotASubdomain(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_hostname() {
        for (given, expected) in [
            ("overridden", Ok("overridden")),
            ("OVERRIDDEN", Ok("overridden")),
            (" OVERRIDDEN ", Ok("overridden")),
            ("  ", Err(NodeNameError::Empty)),
            ("", Err(NodeNameError::Empty)),
        ] {
            assert_eq!(
                node_name_from(given),
                expected.map(str::to_owned),
                "{given:?}"
            );
        }
    }

    #[test]
    fn c49_one_spelling_and_no_underscore() {
        assert_eq!(
            node_name_from("Node-A.Example.COM\n").unwrap(),
            "node-a.example.com"
        );
        let message = node_name_from("node_b").unwrap_err().to_string();
        assert!(
            message.starts_with("\"node_b\" cannot be the name of a Node"),
            "{message}"
        );
    }

    #[test]
    fn c50_a_name_too_long_for_the_hostname_label() {
        let long = "i-0123456789abcdef0-abc-abcdefg-abcd-abcdefghij-1-17-abcd-abcdef";
        assert_eq!(long.len(), 64);
        let message = node_name_from(long).unwrap_err().to_string();
        assert!(
            message.contains("kubernetes.io/hostname: 64 characters, at most 63 fit"),
            "{message}"
        );
        assert_eq!(
            node_name_from(&long[1..]),
            Err(NodeNameError::NotASubdomain(long[1..].to_owned()))
        );
        assert_eq!(node_name_from(&long[2..]).unwrap(), &long[2..]);
        assert_eq!(node_name_from(&"a".repeat(63)).unwrap().len(), 63);
    }
}
