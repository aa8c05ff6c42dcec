//! `-o summary`: the role, what each setter did, what was sent.

use crate::api::request::ApiRequest;
use std::time::Duration;

/// One setter's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetterRow {
    /// Its name.
    pub name: &'static str,
    /// What went wrong, if anything.
    pub fault: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// The table. `sent` pairs each request with what became of it.
pub fn table(
    node_name: &str,
    role: &str,
    setters: &[SetterRow],
    sent: &[(ApiRequest, String)],
) -> String {
    let mut text = format!("Node {node_name}, role {role}\n\n");
    let mut rows = vec![["SETTER", "OUTCOME", "MS"].map(str::to_owned)];
    for row in setters {
        let outcome = row.fault.clone().unwrap_or_else(|| "ok".to_owned());
        rows.push([row.name.to_owned(), outcome, milliseconds(row.took)]);
    }
    text += &columns(&rows);
    text.push('\n');
    if sent.is_empty() {
        text += "Nothing to send.\n";
        return text;
    }
    let mut rows = vec![["REQUEST", "BYTES", "OUTCOME"].map(str::to_owned)];
    for (request, outcome) in sent {
        let bytes = request
            .body
            .as_ref()
            .map_or(0, |body| body.to_string().len());
        rows.push([
            format!("{} {}", request.verb.name(), request.path),
            bytes.to_string(),
            outcome.clone(),
        ]);
    }
    text + &columns(&rows)
}

fn milliseconds(took: Duration) -> String {
    let micros = took.as_micros();
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

/// Rows as columns, each as wide as its widest cell.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SetterRow, table};
    use std::time::Duration;

    #[test]
    fn the_table_lines_up_and_names_what_went_wrong() {
        let rows = [
            SetterRow {
                name: "addresses",
                fault: None,
                took: Duration::from_micros(1234),
            },
            SetterRow {
                name: "ready",
                fault: Some("no reading".to_owned()),
                took: Duration::from_micros(7),
            },
        ];
        assert_eq!(
            table("n1", "owner", &rows, &[]),
            "Node n1, role owner\n\n\
             SETTER     OUTCOME     MS\n\
             addresses  ok          1.234\n\
             ready      no reading  0.007\n\n\
             Nothing to send.\n"
        );
    }
}
