//! The images on the machine, the largest first (`pkg/kubelet/nodestatus/setters.go`, `Images`;
//! `pkg/kubelet/images/image_gc_manager.go`).
//!
//! Differences from kubelet, on purpose: a list that could not be read leaves the stored one (kubelet empties it);
//! names and images that stand for "no name" are left out; and a list that no Node can hold is cut.

use super::{Explanation, Inputs, Missing, Rejected, SetterError, status_of};
use crate::cri::Image;
use k8s_openapi::api::core::v1::{ContainerImage, Node};

/// Names of one image, digests before tags.
const MAX_NAMES: usize = 5;

/// What the list may take of a Node, bytes: etcd refuses an object of more than 1.5 MiB.
const MAX_LIST_BYTES: usize = 1 << 20;

/// Sets `status.images` where there is a runtime.
pub fn set(inputs: &Inputs<'_>, node: &mut Node) -> Result<(), SetterError> {
    let Some(runtime) = &inputs.snapshot.runtime else {
        return Ok(());
    };
    let images = runtime
        .images
        .required()
        .map_err(|error| SetterError(format!("error getting image list: {error}")))?;
    let (kept, too_many) = listed(images, inputs.settings.node_status_max_images);
    let total = kept.len() + too_many.len();
    let mut missing = Missing::default();
    if !too_many.is_empty() {
        missing.note(format!(
            "only the {} largest of {total} images fit into a Node",
            kept.len()
        ));
    }
    status_of(node).images = Some(kept);
    missing.into_result()
}

/// The images to list, and those that do not fit into a Node. The order does not depend on that of `images`.
fn listed(images: &[Image], max: Option<usize>) -> (Vec<ContainerImage>, Vec<ContainerImage>) {
    let mut named: Vec<_> = images.iter().map(|image| (image, names(image))).collect();
    named.retain(|(_, names)| !names.is_empty());
    named.sort_by(|(a, _), (b, _)| (b.size_bytes, &b.id).cmp(&(a.size_bytes, &a.id)));
    named.truncate(max.unwrap_or(usize::MAX));
    let mut left_bytes = MAX_LIST_BYTES;
    let fitting = named
        .iter()
        .take_while(|(_, names)| {
            let fits = left_bytes.checked_sub(json_bytes(names));
            left_bytes = fits.unwrap_or(0);
            fits.is_some()
        })
        .count();
    let mut listed: Vec<_> = named
        .into_iter()
        .map(|(image, names)| ContainerImage {
            names: Some(names),
            size_bytes: Some(i64::try_from(image.size_bytes).unwrap_or(i64::MAX)),
        })
        .collect();
    let too_many = listed.split_off(fitting);
    (listed, too_many)
}

/// Digests, then tags, without the `<none>` that a runtime writes where an image has neither.
fn names(image: &Image) -> Vec<String> {
    let all = image.repo_digests.iter().chain(&image.repo_tags);
    all.filter(|name| !name.contains("<none>"))
        .take(MAX_NAMES)
        .cloned()
        .collect()
}

/// About what an image takes in JSON; names hold nothing that would have to be escaped.
fn json_bytes(names: &[String]) -> usize {
    const FRAME: usize = r#"{"names":[],"sizeBytes":18446744073709551615},"#.len();
    const QUOTES: usize = r#""","#.len();
    names.iter().map(|name| name.len() + QUOTES).sum::<usize>() + FRAME
}

/// Where the images come from, and which do not fit.
pub fn explain(inputs: &Inputs<'_>, _node: &Node) -> Vec<Explanation> {
    let Some(reading) = inputs
        .snapshot
        .runtime
        .as_ref()
        .map(|runtime| &runtime.images)
    else {
        return Vec::new();
    };
    let explanation = Explanation::read("/status/images", "images", reading);
    let too_many = reading
        .get()
        .map(|images| listed(images, inputs.settings.node_status_max_images).1);
    explanation
        .into_iter()
        .map(|mut explanation| {
            let names = too_many
                .iter()
                .flatten()
                .filter_map(|image| image.names.as_ref()?.first());
            explanation.rejected.extend(names.map(|name| Rejected {
                value: name.clone(),
                reason: "the list would not fit into a Node".to_owned(),
            }));
            explanation.with_setting("nodeStatusMaxImages")
        })
        .collect()
}

#[cfg(test)]
mod tests;
