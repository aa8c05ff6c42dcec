//! `-o explain`: where each value of the Node comes from.

use super::keyed::values_at;
use crate::status::Explanation;
use serde_json::{Value, json};

/// What an independent second reader says of the same value.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOpinion {
    /// The path of the value.
    pub path: &'static str,
    /// Which reader.
    pub reader: &'static str,
    /// What it says, in the form of the Node.
    pub value: Value,
}

/// The lines of `-o explain` for the Node called `object` (`Node/n1`): one for each explanation whose value the Node
/// has. Explanations of the same path belong to its values in their order.
pub fn lines(
    object: &str,
    node: &Value,
    explanations: &[Explanation],
    second: &[SecondOpinion],
) -> Vec<Value> {
    let mut used: Vec<(&str, usize)> = Vec::new();
    explanations
        .iter()
        .filter_map(|explanation| {
            let values = values_at(node, &explanation.path);
            let seen = used.iter().filter(|(path, _)| *path == explanation.path).count();
            used.push((&explanation.path, seen));
            let value = *values.get(seen).or(values.first())?;
            Some(json!({
                "object": object,
                "path": explanation.path,
                "value": value,
                "sources": explanation.sources,
                "rule": explanation.rule,
                "rejected": explanation.rejected.iter()
                    .map(|rejected| json!({"value": rejected.value, "reason": rejected.reason}))
                    .collect::<Vec<_>>(),
                "second": second.iter().find(|opinion| opinion.path == explanation.path).map(|opinion| json!({
                    "reader": opinion.reader,
                    "value": opinion.value,
                    "agrees": opinion.value == *value,
                })),
                "stale": explanation.stale,
            }))
        })
        .collect()
}

/// The same lines as a table for a person.
pub fn table(lines: &[Value]) -> String {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut rows = vec![["PATH", "VALUE", "RULE", "SOURCES", "NOTES"].map(str::to_owned)];
    for line in lines {
        let list = |key: &str| line[key].as_array().cloned().unwrap_or_default();
        let mut notes: Vec<String> = list("rejected")
            .iter()
            .map(|rejected| {
                format!(
                    "not {}: {}",
                    text(&rejected["value"]),
                    text(&rejected["reason"])
                )
            })
            .collect();
        if line["stale"] == true {
            notes.push("left from an earlier reading".to_owned());
        }
        if line["second"]["agrees"] == false {
            notes.push(format!(
                "{} says {}",
                text(&line["second"]["reader"]),
                text(&line["second"]["value"])
            ));
        }
        let sources = list("sources")
            .iter()
            .map(text)
            .collect::<Vec<_>>()
            .join(" ");
        rows.push([
            text(&line["path"]),
            text(&line["value"]),
            text(&line["rule"]),
            sources,
            notes.join("; "),
        ]);
    }
    super::summary::columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::{SecondOpinion, lines};
    use crate::status::{Explanation, Rejected};
    use serde_json::json;

    fn explanation(path: &str, rule: &str) -> Explanation {
        Explanation {
            path: path.to_owned(),
            rule: rule.to_owned(),
            sources: vec!["file:/proc/meminfo".to_owned()],
            rejected: vec![Rejected {
                value: "192.0.2.9".to_owned(),
                reason: "loopback".to_owned(),
            }],
            stale: false,
        }
    }

    #[test]
    fn a_value_comes_with_its_sources_its_rule_and_the_second_opinion() {
        let node = json!({"status": {"capacity": {"memory": "1Gi"}}});
        let second = SecondOpinion {
            path: "/status/capacity/memory",
            reader: "sysinfo",
            value: json!("2Gi"),
        };
        assert_eq!(
            lines(
                "Node/n1",
                &node,
                &[explanation("/status/capacity/memory", "capacity.memory")],
                &[second]
            ),
            [json!({
                "object": "Node/n1", "path": "/status/capacity/memory", "value": "1Gi",
                "sources": ["file:/proc/meminfo"], "rule": "capacity.memory",
                "rejected": [{"value": "192.0.2.9", "reason": "loopback"}],
                "second": {"reader": "sysinfo", "value": "2Gi", "agrees": false}, "stale": false,
            })]
        );
    }

    #[test]
    fn two_addresses_are_explained_in_their_order_and_an_absent_value_is_not() {
        let node = json!({"status": {"addresses": [
            {"type": "InternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "2001:db8::1"}]}});
        let path = "/status/addresses/InternalIP/address";
        let lines = lines(
            "Node/n1",
            &node,
            &[
                explanation(path, "first"),
                explanation(path, "second"),
                explanation("/status/phase", "none"),
            ],
            &[],
        );
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["rule"], &lines[0]["value"]),
            (&json!("first"), &json!("192.0.2.1"))
        );
        assert_eq!(
            (&lines[1]["rule"], &lines[1]["value"]),
            (&json!("second"), &json!("2001:db8::1"))
        );
    }
}
