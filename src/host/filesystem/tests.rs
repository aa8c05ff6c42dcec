use super::{
    MOUNTINFO, MOUNTS, Mount, covering, mounts, parse_mountinfo, parse_mounts, read, unescape,
};
use crate::host::fake::FakeSource;
use crate::source::Statfs;
use proptest::prelude::*;
use rustix::io::Errno;

const KUBELET: &str = "/var/lib/kubelet";

fn ext4(blocks: u64) -> Statfs {
    Statfs {
        fs_type: "ext4".to_owned(),
        block_size: 4096,
        fragment_size: 4096,
        blocks,
        blocks_free: blocks / 2,
        blocks_available: blocks / 4,
        files: 65_536,
        files_free: 60_000,
        read_only: false,
    }
}

fn points(table: &[Mount]) -> Vec<&[u8]> {
    table
        .iter()
        .map(|mount| mount.mount_point.as_slice())
        .collect()
}

#[test]
fn c25_a_backslash_is_decoded_once() {
    let table = parse_mounts(
        b"/dev/sdk1 /run/media/USER\\134p2/DISK vfat rw,nosuid 0 0\n/dev/sdl1 /mnt/a\\134040b ext4 rw 0 0\n",
    );
    assert_eq!(
        points(&table),
        [&b"/run/media/USER\\p2/DISK"[..], b"/mnt/a\\040b"]
    );
}

#[test]
fn escapes_of_three_octal_digits_and_nothing_else() {
    for (field, plain) in [
        ("/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e"),
        ("\\04", "\\04"),
        ("\\999", "\\999"),
        ("\\400", "\\400"),
        ("\\", "\\"),
        ("a\\\\040", "a\\ "),
    ] {
        assert_eq!(unescape(field.as_bytes()), plain.as_bytes(), "{field}");
    }
}

#[test]
fn c26_an_empty_source() {
    let table =
        b"880 845 0:93 / / ro,nosuid,nodev,noexec,relatime - tmpfs  ro,size=0k,nr_inodes=2\n\
                  27 1 254:0 / /data rw,relatime - ext4 /dev/vda rw\n";
    let mut expected = vec![
        Mount {
            mount_point: b"/".to_vec(),
            fs_type: "tmpfs".to_owned(),
            source: Vec::new(),
            read_only: true,
            device: Some((0, 93)),
        },
        Mount {
            mount_point: b"/data".to_vec(),
            fs_type: "ext4".to_owned(),
            source: b"/dev/vda".to_vec(),
            read_only: false,
            device: Some((254, 0)),
        },
    ];
    assert_eq!(parse_mountinfo(table), expected);

    let table = b" / tmpfs ro,nosuid,nodev,noexec,relatime,size=0k,nr_inodes=2 0 0\n/dev/vda /data ext4 rw 0 0\n";
    for mount in &mut expected {
        mount.device = None;
    }
    assert_eq!(parse_mounts(table), expected);
}

#[test]
fn c28_any_number_of_optional_fields() {
    let table = parse_mountinfo(
        b"644 29 0:25 /snapd/ns /run/snapd/ns rw,nosuid - tmpfs tmpfs rw,size=196804k,mode=755\n\
          36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
          37 35 98:0 /mnt1 /mnt3 rw,noatime shared:4 master:1 - ext3 /dev/root rw\n",
    );
    assert_eq!(points(&table), [&b"/run/snapd/ns"[..], b"/mnt2", b"/mnt3"]);
    let types: Vec<&str> = table.iter().map(|mount| mount.fs_type.as_str()).collect();
    assert_eq!(types, ["tmpfs", "ext3", "ext3"]);
}

#[test]
fn c29_a_mount_point_that_is_not_utf8() {
    let table = parse_mountinfo(
        b"278 69 0:54 / /srv/\xff\xff rw,relatime shared:165 - tmpfs tmpfs rw\n27 1 254:0 / / rw - ext4 /dev/vda rw\n",
    );
    assert_eq!(points(&table), [&b"/srv/\xff\xff"[..], b"/"]);
}

#[test]
fn c31_a_device_counts_once() {
    let table = "/dev/nvme0n1p2 / ext4 rw 0 0\n/dev/nvme0n1p2 /etc/hosts ext4 rw 0 0\n\
                 /dev/nvme0n1p2 /opt ext4 rw 0 0\n\
                 overlay /var/lib/x/merged overlay rw,lowerdir=/l,upperdir=/u,workdir=/w 0 0\n";
    let source = ["/etc/hosts", "/opt", "/var/lib/x/merged"]
        .into_iter()
        .fold(
            FakeSource::new()
                .file(MOUNTS, table)
                .statfs("/", ext4(122_512_118)),
            |source, path| source.statfs(path, ext4(122_512_118)),
        );
    let nodefs = read(&source.tracked(), KUBELET).unwrap();
    assert_eq!(
        (nodefs.path.as_str(), nodefs.capacity_bytes),
        ("/", 501_809_635_328)
    );
}

#[test]
fn c32_a_btrfs_subvolume_is_measured_by_its_directory() {
    let table = "60 1 0:33 /@/.snapshots/1/snapshot / rw,relatime - btrfs /dev/sda2 rw,subvol=/@/.snapshots/1/snapshot\n\
                 61 60 0:33 /@/var/lib /var/lib rw,relatime - btrfs /dev/sda2 rw,subvol=/@/var/lib\n";
    let pool = Statfs {
        fs_type: "btrfs".to_owned(),
        files: 0,
        files_free: 0,
        ..ext4(26_214_400)
    };
    let source = FakeSource::new()
        .file(MOUNTINFO, table)
        .statfs(KUBELET, pool);
    let nodefs = read(&source.tracked(), KUBELET).unwrap();
    assert_eq!(
        (
            nodefs.fs_type.as_str(),
            nodefs.capacity_bytes,
            nodefs.inodes
        ),
        ("btrfs", 100 << 30, 0)
    );
}

#[test]
fn c34_the_last_of_equal_mount_points_wins() {
    let table = parse_mounts(
        b"rootfs / rootfs rw 0 0\nsysfs /sys sysfs rw 0 0\n/dev/vda1 / ext4 rw,relatime 0 0\n",
    );
    assert_eq!(covering(&table, "/var").unwrap().source, b"/dev/vda1");
    assert_eq!(covering(&table, "/").unwrap().source, b"/dev/vda1");
    assert_eq!(covering(&table, "/sys").unwrap().source, b"sysfs");
    assert_eq!(covering(&table, "/sys/fs").unwrap().source, b"sysfs");
    assert_eq!(covering(&table, "/system").unwrap().source, b"/dev/vda1");
    assert_eq!(covering(&[], "/"), None);
}

#[test]
fn c35_available_blocks_below_zero() {
    let numbers = Statfs {
        blocks: 214_724_159,
        blocks_free: 900,
        blocks_available: 18_446_744_073_709_550_616,
        ..ext4(0)
    };
    let nodefs = read(&FakeSource::new().statfs("/", numbers).tracked(), "/").unwrap();
    assert_eq!(
        (nodefs.capacity_bytes, nodefs.available_bytes),
        (214_724_159 * 4096, 0)
    );
}

#[test]
fn c37_other_mounts_are_not_touched() {
    let table = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                 90 27 0:60 / /run/user/1000/doc rw - fuse.portal portal rw\n";
    let source = FakeSource::new()
        .file(MOUNTINFO, table)
        .error("/run/user/1000/doc", Errno::ACCESS)
        .statfs("/var/lib", ext4(1000));
    let tracked = source.tracked();
    assert_eq!(read(&tracked, KUBELET).unwrap().capacity_bytes, 4_096_000);
    let log = tracked.into_log();
    assert_eq!(log.sources, ["file:/proc/1/mountinfo", "statfs:/var/lib"]);
    assert_eq!(
        log.failures,
        [(format!("statfs:{KUBELET}"), "ENOENT".to_owned())]
    );
}

#[test]
fn c38_the_table_and_the_path_are_the_hosts() {
    let source = FakeSource::new()
        .file(MOUNTS, "/dev/vda1 / ext4 rw 0 0\n")
        .statfs("/", ext4(122_512_118));
    for directory in ["/", KUBELET, "/var/lib/kubelet/", "//"] {
        let nodefs = read(&source.tracked(), directory).unwrap();
        assert_eq!(
            (nodefs.path.as_str(), nodefs.capacity_bytes),
            ("/", 501_809_635_328),
            "{directory}"
        );
    }
}

#[test]
fn c40_each_reading_is_new_and_never_zero() {
    for capacity in [21_474_836_480, 42_949_672_960] {
        let source = FakeSource::new().statfs(KUBELET, ext4(capacity / 4096));
        assert_eq!(
            read(&source.tracked(), KUBELET).unwrap().capacity_bytes,
            capacity
        );
    }
    let error = read(
        &FakeSource::new().statfs(KUBELET, ext4(0)).tracked(),
        KUBELET,
    )
    .unwrap_err();
    assert!(error.to_string().contains(KUBELET), "{error}");
}

#[test]
fn no_parent_above_the_mount_is_measured() {
    let table =
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 254:1 / /var/lib rw - ext4 /dev/vdb rw\n";
    let host = || {
        FakeSource::new()
            .file(MOUNTINFO, table)
            .statfs("/", ext4(1))
            .statfs("/var", ext4(2))
    };
    let error = read(&host().tracked(), KUBELET).unwrap_err();
    assert_eq!(error.to_string(), "statfs /var/lib/kubelet: ENOENT");
    let nodefs = read(&host().statfs("/var/lib", ext4(3)).tracked(), KUBELET).unwrap();
    assert_eq!(
        (nodefs.path.as_str(), nodefs.capacity_bytes),
        ("/var/lib", 3 * 4096)
    );
    let nodefs = read(&host().tracked(), "/srv/a/b/c").unwrap();
    assert_eq!((nodefs.path.as_str(), nodefs.capacity_bytes), ("/", 4096));
}

#[test]
fn only_a_missing_directory_gives_way_to_its_parent() {
    let table = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
    let host = || {
        FakeSource::new()
            .file(MOUNTINFO, table)
            .statfs("/", ext4(1))
    };
    assert!(
        read(&host().error(KUBELET, Errno::IO).tracked(), KUBELET)
            .unwrap_err()
            .to_string()
            .contains("EIO")
    );
    assert!(read(&host().error("/var/lib", Errno::STALE).tracked(), KUBELET).is_err());
}

#[test]
fn without_a_mount_table_no_parent_is_measured() {
    let source = FakeSource::new().statfs("/", ext4(1));
    assert!(
        read(&source.tracked(), KUBELET)
            .unwrap_err()
            .to_string()
            .contains(MOUNTS)
    );
    let source = FakeSource::new().file(MOUNTINFO, "").statfs("/", ext4(1));
    assert!(
        read(&source.tracked(), KUBELET)
            .unwrap_err()
            .to_string()
            .contains(MOUNTINFO)
    );
}

#[test]
fn mountinfo_is_preferred_and_its_failure_not_hidden() {
    let info = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
    let source = FakeSource::new()
        .file(MOUNTINFO, info)
        .file(MOUNTS, "x / tmpfs rw 0 0\n");
    assert_eq!(mounts(&source.tracked()).unwrap()[0].fs_type, "ext4");
    let source = FakeSource::new()
        .error(MOUNTINFO, Errno::ACCESS)
        .file(MOUNTS, "x / tmpfs rw 0 0\n");
    assert!(mounts(&source.tracked()).is_err());
}

#[test]
fn blocks_count_in_fragments_and_saturate() {
    for (block_size, fragment_size, blocks, capacity) in [
        (1_048_576, 4096, 10, 40_960),
        (4096, 0, 10, 40_960),
        (4096, 4096, u64::MAX, u64::MAX),
    ] {
        let numbers = Statfs {
            block_size,
            fragment_size,
            ..ext4(blocks)
        };
        assert_eq!(
            read(&FakeSource::new().statfs("/", numbers).tracked(), "/")
                .unwrap()
                .capacity_bytes,
            capacity
        );
    }
}

#[test]
fn a_line_that_is_not_understood_costs_only_itself() {
    let table = b"garbage\n\n1 2 3\n27 1 x:0 / / rw - ext4 /dev/vda rw\n27 1 254:0 / / rw ext4 /dev/vda rw\n\
                  27 1 254:0 / /good ro - ext4 /dev/vda rw\n28 1 254:0 / /super rw - ext4 /dev/vda ro,quota";
    let table = parse_mountinfo(table);
    assert_eq!(points(&table), [&b"/good"[..], b"/super"]);
    assert!(table.iter().all(|mount| mount.read_only));
    assert_eq!(
        parse_mounts(b"a /b\n\n/dev/vda / ext4 rw,errors=remount-ro 0 0\n").len(),
        1
    );
    assert!(!parse_mounts(b"/dev/vda / ext4 rw,errors=remount-ro 0 0\n")[0].read_only);
}

proptest! {
    #[test]
    fn what_the_kernel_escapes_is_what_comes_back(path in proptest::collection::vec(1_u8.., 0..40)) {
        let mut escaped = Vec::new();
        for byte in &path {
            match byte {
                b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
                plain => escaped.push(*plain),
            }
        }
        let line = [b"27 1 254:0 / ".as_slice(), &escaped, b" rw - ext4 /dev/vda rw\n"].concat();
        prop_assert_eq!(&parse_mountinfo(&line)[0].mount_point, &path);
    }
}
