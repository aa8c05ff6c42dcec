//! Images and the runtime.

use crate::stored_node;
use crate::support::recording::Recording;
use serde_json::{Value, json};

fn image(number: u32) -> Value {
    json!({"id": format!("sha256:{number}"), "repoTags": [format!("registry.example.com/i{number}:v1")],
           "size": 1000 + number})
}

fn with(images: &[Value]) -> Recording {
    Recording::new().fact("cri", json!({"images": images}))
}

/// The first name of each image in the Node.
fn names(recording: &Recording) -> Vec<String> {
    let node = recording.node();
    let images = node["status"]["images"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    images
        .iter()
        .map(|image| {
            image["names"][0]
                .as_str()
                .expect("an image has a name")
                .to_owned()
        })
        .collect()
}

#[test]
fn c80_the_largest_fifty() {
    let images: Vec<Value> = (0..60).map(image).collect();
    let expected: Vec<String> = (0..60)
        .rev()
        .map(|n| format!("registry.example.com/i{n}:v1"))
        .collect();
    let recording = with(&images);
    assert_eq!(names(&recording), expected[..50]);
    let recording = recording.setting("nodeStatusMaxImages", json!(-1));
    assert_eq!(names(&recording), expected);
    let recording = recording.setting("nodeStatusMaxImages", json!(0));
    assert_eq!(names(&recording), Vec::<String>::new());
}

#[test]
fn c80_images_of_one_size_have_one_order() {
    let images: Vec<Value> = (0..60)
        .map(|number| {
            let mut image = image(number);
            image["size"] = json!(1000);
            image
        })
        .collect();
    let forward = names(&with(&images));
    let reversed: Vec<Value> = images.into_iter().rev().collect();
    assert_eq!(names(&with(&reversed)), forward);
}

#[test]
fn c82_place_holders_are_no_names() {
    let digest = format!("registry.example.com/a@sha256:{:0>64}", 1);
    let recording = with(&[
        json!({"id": "sha256:1", "repoTags": ["<none>:<none>"], "repoDigests": ["<none>@<none>"], "size": 10}),
        json!({"id": "sha256:2", "repoTags": [], "repoDigests": [digest], "size": 20}),
        json!({"id": "sha256:3", "repoTags": [], "repoDigests": [], "size": 30}),
    ]);
    assert_eq!(
        recording.node()["status"]["images"],
        json!([{"names": [digest], "sizeBytes": 20}])
    );
}

#[test]
fn c83_a_list_that_no_node_can_hold() {
    let images: Vec<Value> = (0..5000_u32)
        .map(|number| {
            let tags: Vec<String> = (0..5).map(|tag| format!("{number:0>248}:{tag}")).collect();
            json!({"id": format!("sha256:{number}"), "repoTags": tags, "size": 1000 + number})
        })
        .collect();
    let recording = with(&images)
        .setting("nodeStatusMaxImages", json!(-1))
        .stored(&stored_node(&json!({})));
    let finished = recording.replay("patch");
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let patch = &finished.lines()[0]["body"];
    let listed = patch["status"]["images"].as_array().expect("images");
    assert!(patch.to_string().len() < 3 << 19, "etcd takes 1.5 MiB");
    assert!(listed.len() > 500, "{}", listed.len());
    let size = |image: &Value| image["sizeBytes"].as_u64().expect("a size");
    assert_eq!(size(&listed[0]), 5999, "the smallest are left out");
    assert_eq!(
        size(&listed[0]) - size(&listed[listed.len() - 1]),
        listed.len() as u64 - 1
    );
    let warnings = finished
        .stderr
        .lines()
        .filter(|line| line.contains("images fit into a Node"));
    assert_eq!(warnings.count(), 1, "{}", finished.stderr);
}

#[test]
fn c85_a_failing_runtime_does_not_empty_the_list() {
    let stored = json!([{"names": ["registry.example.com/a:v1"], "sizeBytes": 7}]);
    for error in ["EIO", "hang"] {
        let recording = with(&[image(1)])
            .error("cri:ListImages", error)
            .setting("timeouts", json!({"cri": "200ms"}))
            .stored(&stored_node(&json!({"images": stored})));
        assert_eq!(recording.node()["status"]["images"], stored, "{error}");
        assert_eq!(
            recording.patch()["status"]["images"],
            Value::Null,
            "{error}"
        );
    }
}
