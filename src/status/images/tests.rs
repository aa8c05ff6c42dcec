use super::{MAX_LIST_BYTES, set};
use crate::cri::Image;
use crate::gather::Reading;
use crate::status::SetterError;
use crate::status::testing::World;
use k8s_openapi::api::core::v1::{ContainerImage, Node, NodeStatus};

fn image(id: &str, size: u64, tags: &[&str]) -> Image {
    Image {
        id: id.to_owned(),
        repo_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        size_bytes: size,
        ..Image::default()
    }
}

fn run(images: Vec<Image>, max: Option<usize>) -> (Result<(), SetterError>, Vec<ContainerImage>) {
    let mut world = World::new();
    world.settings.node_status_max_images = max;
    world.runtime().images = Reading::of(images);
    let mut node = Node::default();
    let result = set(&world.inputs(), &mut node);
    (result, node.status.unwrap().images.unwrap())
}

fn sizes(images: &[ContainerImage]) -> Vec<i64> {
    images
        .iter()
        .map(|image| image.size_bytes.unwrap())
        .collect()
}

fn first_names(images: &[ContainerImage]) -> Vec<&str> {
    images
        .iter()
        .map(|image| image.names.as_ref().unwrap()[0].as_str())
        .collect()
}

#[test]
fn test_images_max() {
    for (max, expected) in [(Some(1), 1), (None, 2), (Some(0), 0), (Some(50), 2)] {
        let (result, images) = run(vec![image("1", 1, &["a"]), image("2", 2, &["b"])], max);
        assert_eq!((result, images.len()), (Ok(()), expected), "{max:?}");
    }
}

#[test]
fn test_images_names() {
    let (_, images) = run(vec![image("1", 1, &["1", "2", "3", "4", "5", "6"])], None);
    assert_eq!(images[0].names.as_ref().unwrap().len(), 5);
    let digests = ["foo", "bar"].map(str::to_owned).to_vec();
    let (_, images) = run(
        vec![Image {
            repo_digests: digests,
            ..image("1", 1, &["baz", "quux"])
        }],
        None,
    );
    assert_eq!(
        images[0].names.as_ref().unwrap(),
        &["foo", "bar", "baz", "quux"]
    );
}

#[test]
fn test_images_sorted() {
    let images = [3, 1, 4, 2].map(|size| image("id", size, &["a"]));
    assert_eq!(sizes(&run(images.to_vec(), None).1), [4, 3, 2, 1]);
}

#[test]
fn test_images_list_error_keeps_the_stored_list() {
    // kubelet empties the list here (C85).
    let mut world = World::new();
    world.runtime().images = Reading::failed("foo");
    let stored = vec![ContainerImage {
        names: Some(vec!["a".to_owned()]),
        size_bytes: Some(1),
    }];
    let status = NodeStatus {
        images: Some(stored.clone()),
        ..NodeStatus::default()
    };
    let mut node = Node {
        status: Some(status),
        ..Node::default()
    };
    let error = set(&world.inputs(), &mut node).unwrap_err();
    assert_eq!(error.0, "error getting image list: foo");
    assert_eq!(node.status.unwrap().images, Some(stored));
}

#[test]
fn without_a_runtime_the_list_stays() {
    let mut node = Node::default();
    set(&World::new().inputs(), &mut node).unwrap();
    assert_eq!(node, Node::default());
}

#[test]
fn c80_the_fifty_largest_are_listed_ties_by_id() {
    let images: Vec<_> = (0..60u64)
        .map(|n| {
            image(
                &format!("sha256:{n}"),
                1000 + n,
                &[&format!("registry.example.com/i{n}:v1")],
            )
        })
        .collect();
    let (_, listed) = run(images, Some(50));
    let expected: Vec<_> = (10..60)
        .rev()
        .map(|n| format!("registry.example.com/i{n}:v1"))
        .collect();
    assert_eq!(first_names(&listed), expected);
    let ties = ["b", "c", "a"].map(|id| image(id, 7, &[id]));
    assert_eq!(first_names(&run(ties.to_vec(), None).1), ["c", "b", "a"]);
}

#[test]
fn c82_place_holders_are_no_names() {
    let place_holder = Image {
        repo_digests: vec!["<none>@<none>".to_owned()],
        ..image("1", 10, &["<none>:<none>"])
    };
    let digest_only = Image {
        repo_digests: vec!["app@sha256:1".to_owned()],
        ..image("2", 5, &["<none>:<none>"])
    };
    let (result, images) = run(vec![place_holder, digest_only], None);
    assert_eq!(result, Ok(()));
    assert_eq!(first_names(&images), ["app@sha256:1"]);
    assert_eq!(images[0].names.as_ref().unwrap().len(), 1);
}

#[test]
fn c83_a_list_that_no_node_can_hold_is_cut_at_its_end() {
    let long = "x".repeat(250);
    let names = [long.as_str(); 5];
    let images: Vec<_> = (0..5000)
        .map(|n| image(&format!("{n:04}"), n, &names))
        .collect();
    let (result, listed) = run(images, None);
    let length = serde_json::to_string(&listed).unwrap().len();
    assert!(length <= MAX_LIST_BYTES, "{length} bytes");
    assert!(
        length > MAX_LIST_BYTES / 100 * 98,
        "no more is cut than must be: {length} bytes"
    );
    assert_eq!(
        listed[0].size_bytes,
        Some(4999),
        "the smallest are left out"
    );
    let expected = format!(
        "only the {} largest of 5000 images fit into a Node",
        listed.len()
    );
    assert_eq!(result, Err(SetterError(expected)));
}

#[test]
fn c121_the_order_of_the_runtime_s_answer_does_not_matter() {
    let mut images: Vec<_> = (0..20)
        .map(|n| image(&format!("{n:02}"), n / 4, &[&n.to_string()]))
        .collect();
    let expected = serde_json::to_string(&run(images.clone(), Some(10)).1).unwrap();
    let mut random = fastrand::Rng::with_seed(121);
    for _ in 0..100 {
        random.shuffle(&mut images);
        assert_eq!(
            serde_json::to_string(&run(images.clone(), Some(10)).1).unwrap(),
            expected
        );
    }
}
