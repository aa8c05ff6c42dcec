//! Mount tables and the numbers of filesystems. Where `rootDirectory` does not exist yet, its nearest parent on the
//! same mount is measured, so the mount table decides how far up that may be.

use crate::support::nodelet::Nodelet;
use crate::support::recording::{Recording, disk, disk_of};
use crate::{capacity, condition, stored_node};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const MOUNTINFO: &str = "proc/1/mountinfo";
const MOUNTS: &str = "proc/1/mounts";

fn storage(recording: &Recording) -> Value {
    capacity(&recording.node(), "ephemeral-storage")
}

/// `rootDirectory` lies in `mount_point` and does not exist; there are `blocks` of storage at the mount point.
fn below(mount_point: &str, blocks: u64) -> Recording {
    let directory = format!("{mount_point}/kubelet").replace("//", "/");
    Recording::new()
        .setting("rootDirectory", json!(directory))
        .error(&format!("statfs:{directory}"), "ENOENT")
        .entry("statfs", mount_point, disk_of(blocks, blocks))
}

/// Whether nodelet knows that `mount_point` is one: it is measured for what lies below, and what is mounted around it is
/// not.
#[track_caller]
fn assert_is_mount(mount_point: &str, prepare: impl Fn(Recording) -> Recording) {
    let present = prepare(below(mount_point, 256));
    assert_eq!(storage(&present), "1Mi", "{mount_point}");
    let absent = present.error(&format!("statfs:{mount_point}"), "ENOENT");
    assert_eq!(storage(&absent), Value::Null, "{mount_point}");
}

#[test]
fn c25_an_escape_is_decoded_once() {
    let mounts = "/dev/vda1 / ext4 rw 0 0\n\
                  /dev/sdk1 /run/media/USER\\134p2/DISK vfat rw,nosuid 0 0\n\
                  /dev/sdl1 /mnt/a\\134040b ext4 rw 0 0\n\
                  /dev/sdm1 /mnt/c\\040d ext4 rw 0 0\n";
    for mount_point in ["/run/media/USER\\p2/DISK", "/mnt/a\\040b", "/mnt/c d"] {
        assert_is_mount(mount_point, |recording| recording.file(MOUNTS, mounts));
    }
}

#[test]
fn c26_a_mount_of_nothing() {
    let mountinfo = "880 845 0:93 / / ro,nosuid,nodev,noexec,relatime - tmpfs  ro,size=0k,nr_inodes=2\n\
                     881 880 253:1 / /var rw,relatime - ext4 /dev/vda1 rw\n";
    let mounts = " / tmpfs ro,nosuid,nodev,noexec,relatime,size=0k,nr_inodes=2 0 0\n/dev/vda1 /var ext4 rw 0 0\n";
    for (path, table) in [(MOUNTINFO, mountinfo), (MOUNTS, mounts)] {
        assert_eq!(storage(&below("/", 256).file(path, table)), "1Mi", "{path}");
        assert_is_mount("/var", |recording| recording.file(path, table));
    }
}

#[test]
fn c28_any_number_of_optional_fields() {
    let mountinfo = "29 1 253:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
                     644 29 0:25 /snapd/ns /run/snapd/ns rw,nosuid - tmpfs tmpfs rw,size=196804k,mode=755\n\
                     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
                     37 35 98:0 /mnt1 /mnt3 rw,noatime shared:4 master:1 - ext3 /dev/root rw\n";
    for mount_point in ["/run/snapd/ns", "/mnt2", "/mnt3"] {
        assert_is_mount(mount_point, |recording| {
            recording.file(MOUNTINFO, mountinfo)
        });
    }
}

#[test]
fn c29_a_mount_point_that_is_not_utf_8() {
    let mountinfo = b"278 69 0:54 / /srv/\xff\xff rw,relatime shared:165 - tmpfs tmpfs rw\n\
                      29 1 253:1 / /data rw,relatime shared:1 - ext4 /dev/vda1 rw\n";
    assert_is_mount("/data", |recording| recording.file(MOUNTINFO, mountinfo));
}

#[test]
fn c31_a_device_counts_once_however_often_it_is_mounted() {
    let mounts = "/dev/nvme0n1p2 / ext4 rw 0 0\n/dev/nvme0n1p2 /etc/hosts ext4 rw 0 0\n\
                  /dev/nvme0n1p2 /opt ext4 rw 0 0\n\
                  overlay /var/lib/x/merged overlay rw,lowerdir=/l,upperdir=/u,workdir=/w 0 0\n";
    let recording = ["/", "/etc/hosts", "/opt", "/var/lib/x/merged"]
        .iter()
        .fold(Recording::new().file(MOUNTS, mounts), |recording, path| {
            recording.entry("statfs", path, disk_of(122_512_118, 100_000_000))
        });
    // 501809635328 bytes.
    assert_eq!(storage(&recording), "490048472Ki");
}

#[test]
fn c32_a_btrfs_subvolume_is_measured_not_looked_up() {
    let mountinfo = "60 1 0:33 /@/.snapshots/1/snapshot / rw,relatime - btrfs /dev/sda2 rw,subvol=/@/.snapshots/1/snapshot\n\
                     61 60 0:33 /@/var/lib /var/lib rw,relatime - btrfs /dev/sda2 rw,subvol=/@/var/lib\n";
    let recording = Recording::new()
        .file(MOUNTINFO, mountinfo)
        .file(
            "proc/partitions",
            "major minor  #blocks  name\n\n   8        2   10485760 sda2\n",
        )
        .entry("statfs", "/var/lib/kubelet", disk_of(2_621_440, 2_000_000));
    assert_eq!(storage(&recording), "10Gi");
}

#[test]
fn c34_the_last_line_of_a_mount_point_counts() {
    let mounts =
        "rootfs / rootfs rw 0 0\nsysfs /sys sysfs rw 0 0\n/dev/vda1 / ext4 rw,relatime 0 0\n";
    assert_eq!(storage(&below("/", 256).file(MOUNTS, mounts)), "1Mi");
}

#[test]
fn c35_available_blocks_below_zero() {
    let disk = disk_of(214_724_159, 18_446_744_073_709_550_616);
    let recording = Recording::new().entry("statfs", "/", disk);
    let node = recording.node();
    assert_eq!(condition(&node, "DiskPressure"), "True");
    assert_eq!(capacity(&node, "ephemeral-storage"), "858896636Ki");
    // The filesystem of the images likewise.
    let node = Recording::new()
        .entry(
            "statfs",
            "/images",
            disk_of(214_724_159, 18_446_744_073_709_550_616),
        )
        .fact("cri", json!({"imageFs": [{"mountpoint": "/images"}]}))
        .node();
    assert_eq!(condition(&node, "DiskPressure"), "True");
}

#[test]
fn c37_a_mount_that_may_not_be_measured() {
    let mounts = "/dev/vda1 / ext4 rw 0 0\nportal /run/user/1000/doc fuse.portal rw 0 0\n\
                  shm /var/lib/docker/containers/x/shm tmpfs rw 0 0\n";
    let recording = Recording::new()
        .file(MOUNTS, mounts)
        .error("statfs:/run/user/1000/doc", "EACCES")
        .error("statfs:/var/lib/docker/containers/x/shm", "EACCES");
    assert_eq!(storage(&recording), "4000000Ki");
    let stderr = recording.replay("json").stderr;
    assert!(!stderr.contains("EACCES"), "{stderr}");
}

/// In a container the host's filesystem is measured under the prefix, not the container's own at the same path.
#[test]
fn c38_a_path_of_the_host_is_measured_under_its_prefix() {
    let host = tempfile::tempdir_in("/dev/shm").expect("a directory in another filesystem than /");
    let proc = host.path().join("proc/1");
    fs::create_dir_all(&proc).expect("make a directory");
    fs::write(proc.join("mounts"), "/dev/vda1 / ext4 rw 0 0\n").expect("write the mount table");
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
    let measured = rustix::fs::statvfs(host.path()).expect("measure it");
    let own = rustix::fs::statvfs("/").expect("measure the own root");
    let bytes = measured.f_blocks * measured.f_frsize;
    assert_ne!(
        bytes,
        own.f_blocks * own.f_frsize,
        "these are two filesystems"
    );
    let expected = nodelet::quantity::Quantity::bytes(bytes.into()).to_string();
    assert_eq!(
        capacity(&finished.list()[0], "ephemeral-storage"),
        expected,
        "{}",
        finished.stderr
    );
}

#[test]
fn c40_a_grown_filesystem_is_published_and_an_unknown_one_leaves_the_value() {
    let before = Recording::new().entry("statfs", "/", disk_of(5_242_880, 5_000_000));
    let stored = stored_node(&before.node()["status"]);
    assert_eq!(capacity(&stored, "ephemeral-storage"), "20Gi");
    // The runtime does not answer yet.
    let recording = before.stored(&stored).fact("cri", json!({})).entry(
        "statfs",
        "/",
        disk_of(10_485_760, 10_000_000),
    );
    let patch = recording.patch();
    assert_eq!(
        patch["status"]["capacity"],
        json!({"ephemeral-storage": "40Gi"})
    );

    let recording = recording.error("statfs:/var/lib/kubelet", "EIO");
    assert_eq!(recording.patch()["status"]["capacity"], Value::Null);
    assert_eq!(storage(&recording), "20Gi");
    let recording = recording
        .fact("errors", json!({}))
        .entry("statfs", "/", disk_of(0, 0));
    assert_eq!(storage(&recording), "20Gi");
    // Nor is 0 published where nothing is known yet.
    let new = Recording::new().entry("statfs", "/", disk_of(0, 0)).node();
    assert_eq!(capacity(&new, "ephemeral-storage"), Value::Null);
    assert_eq!(condition(&new, "DiskPressure"), "False");
}

/// The fault of C35, with inodes.
#[test]
fn free_inodes_below_zero() {
    let mut full = disk();
    full["filesFree"] = json!(u64::MAX - 5);
    let node = Recording::new().entry("statfs", "/", full).node();
    assert_eq!(condition(&node, "DiskPressure"), "True");
}
