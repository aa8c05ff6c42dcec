//! Shows that the real parts which the other tests rely on start, answer and go away.

mod support;

use serde_json::json;
use support::oracle::Oracle;

#[test]
fn the_oracle_answers_with_the_go_packages() {
    let oracle = Oracle::start();
    let sum = oracle.ask(&json!({"op": "add", "a": "1Gi", "b": "1"}));
    assert_eq!(sum["text"], "1073741825");
    let refused = oracle.ask(&json!({"op": "parse", "a": "1Zi"}));
    assert!(refused["error"].is_string(), "{refused}");
    let patch = oracle.ask(&json!({
        "op": "diff",
        "old": {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        "new": {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    }));
    assert_eq!(
        patch["value"]["status"]["conditions"],
        json!([{"type": "Ready", "status": "True"}]),
    );
}
