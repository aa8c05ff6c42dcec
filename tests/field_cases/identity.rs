//! Machine id, UUID, os-release and host name.

use crate::support::nodelet::Nodelet;
use crate::support::recording::Recording;
use crate::support::scratch::Scratch;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const ID: &str = "0123456789abcdef0123456789abcdef";
const UUID_FILE: &str = "sys/class/dmi/id/product_uuid";

fn info(recording: &Recording) -> Value {
    recording.node()["status"]["nodeInfo"].clone()
}

#[test]
fn c41_every_candidate_is_looked_for_under_the_prefix() {
    let host = Scratch::new();
    let dbus = host.path().join("var/lib/dbus");
    fs::create_dir_all(&dbus).expect("make a directory");
    fs::write(dbus.join("machine-id"), ID).expect("write a machine id");
    let finished = Nodelet::new()
        .args([
            "--sync-once",
            "-o",
            "json",
            "--role",
            "owner",
            "--node-name",
            "n1",
            "--root",
        ])
        .arg(host.path())
        .run(Duration::from_mins(1));
    let node = &finished.list()[0];
    assert_eq!(
        node["status"]["nodeInfo"]["machineID"], ID,
        "{}",
        finished.stderr
    );
    // The container's own would be there for the fall backs of the others too.
    assert_eq!(
        node["status"]["nodeInfo"]["systemUUID"], "",
        "{}",
        finished.stderr
    );
}

#[test]
fn c41_an_empty_first_candidate_does_not_hide_the_second() {
    for first in ["", "\n", "uninitialized\n"] {
        let recording = Recording::new()
            .file("etc/machine-id", first)
            .file("var/lib/dbus/machine-id", format!("{ID}\n"));
        assert_eq!(info(&recording)["machineID"], ID, "{first:?}");
    }
}

#[test]
fn c43_a_uuid_that_is_not_there_or_not_readable() {
    for recording in [
        Recording::new().error("/sys/class/dmi/id/product_uuid", "EACCES"),
        Recording::new().error("/sys/class/dmi/id/product_uuid", "ENOENT"),
        Recording::new().file(UUID_FILE, "Not Present\n"),
        Recording::new(),
    ] {
        assert_eq!(info(&recording)["systemUUID"], ID);
        assert_eq!(recording.node()["status"]["capacity"]["cpu"], "4");
    }
    let recording = Recording::new().file(
        "proc/device-tree/vm,uuid",
        "1b4e28ba-2fa1-11d2-883f-0016d3cca427\0",
    );
    assert_eq!(
        info(&recording)["systemUUID"],
        "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    );
    let recording = Recording::new().without("etc/machine-id");
    assert_eq!(info(&recording)["systemUUID"], "");

    let unreadable = Recording::new()
        .without("etc/machine-id")
        .error("/sys/class/dmi/id/product_uuid", "EACCES")
        .replay("json");
    let said = |line: &&str| line.contains("A reading failed") && line.contains("systemUUID");
    assert_eq!(
        unreadable.stderr.lines().filter(said).count(),
        1,
        "{}",
        unreadable.stderr
    );
}

#[test]
fn c44_the_uuid_as_the_kernel_gives_it() {
    for uuid in [
        "5c000000-a87f-fa60-6af6-000000000001",
        "5C000000-A87F-FA60-6AF6-000000000001",
    ] {
        let recording = Recording::new().file(UUID_FILE, format!("{uuid}\n"));
        assert_eq!(info(&recording)["systemUUID"], uuid);
    }
}

#[test]
fn c47_os_release_is_read_as_its_manual_says() {
    for (text, name) in [
        (
            "NAME='Gentoo'\nPRETTY_NAME='Gentoo Linux'\n",
            "Gentoo Linux",
        ),
        (
            "PRETTY_NAME=Source Mage GNU/Linux\n",
            "Source Mage GNU/Linux",
        ),
        (
            "# PRETTY_NAME=\"Commented\"\nOLD_PRETTY_NAME=\"Wrong\"\nPRETTY_NAME=\"A \\\"B\\\" \\$C\"\n",
            "A \"B\" $C",
        ),
        ("NAME=\"X\"\nPRETTY_NAME\n", "Linux"),
        // What has no name of its own is Linux, says os-release(5).
        ("NAME=\"X\"\nPRETTY_NAME=\n", "Linux"),
        ("NAME=\"X\"\nPRETTY_NAME=\"\"\n", "Linux"),
    ] {
        let recording = Recording::new().file("etc/os-release", text);
        assert_eq!(info(&recording)["osImage"], name, "{text:?}");
    }
}

#[test]
fn c49_one_spelling_of_the_name() {
    let items = Recording::new()
        .fact("hostname", json!("Node-A.Example.COM\n"))
        .items();
    let (node, lease) = (&items[0], &items[1]);
    let name = "node-a.example.com";
    assert_eq!(node["metadata"]["name"], name);
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], name);
    assert_eq!(
        node["status"]["addresses"][1],
        json!({"type": "Hostname", "address": name})
    );
    assert_eq!(lease["metadata"]["name"], name);
    assert_eq!(lease["spec"]["holderIdentity"], name);

    let refused = Recording::new()
        .fact("hostname", json!("node_b"))
        .replay("json");
    assert_eq!(
        (refused.status.code(), refused.stdout.as_str()),
        (Some(1), "")
    );
    assert!(
        refused
            .stderr
            .contains("\"node_b\" cannot be the name of a Node"),
        "{}",
        refused.stderr
    );
}

#[test]
fn c50_a_name_that_is_too_long_for_its_label() {
    let name = "i-0123456789abcdef0-abc-abcdefg-abcd-abcdefghij-1-17-abcd-abcdef";
    let said = |stderr: &str| {
        stderr.contains("kubernetes.io/hostname") && stderr.contains("64 characters")
    };
    let refused = Recording::new()
        .fact("hostname", json!(name))
        .replay("patch");
    assert_eq!(
        (refused.status.code(), refused.stdout.as_str()),
        (Some(1), "")
    );
    assert!(said(&refused.stderr), "{}", refused.stderr);
    let configured = Recording::new()
        .setting("nodeName", json!(name))
        .replay("patch");
    assert_eq!(
        (configured.status.code(), configured.stdout.as_str()),
        (Some(2), "")
    );
    assert!(said(&configured.stderr), "{}", configured.stderr);
    let passes = Recording::new().fact("hostname", json!(&name[..63])).node();
    assert_eq!(
        passes["metadata"]["labels"]["kubernetes.io/hostname"],
        name[..63]
    );
}
