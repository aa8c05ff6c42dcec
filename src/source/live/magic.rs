//! Names of filesystem types by the magic number that statfs(2) gives (`include/uapi/linux/magic.h`; some
//! filesystems keep theirs in their own sources). The names are those of `/proc/filesystems`.

/// The name of the type with this `f_type`, empty where it is not known. The width and sign of the kernel's word
/// depend on the architecture; only its lower 32 bits mean something.
pub(super) fn filesystem_name(f_type: i128) -> &'static str {
    let magic = f_type.rem_euclid(1 << 32);
    NAMES
        .iter()
        .find(|(known, _)| i128::from(*known) == magic)
        .map_or("", |(_, name)| *name)
}

/// ext2, ext3 and ext4 share one number, as do FUSE and virtiofs, tmpfs and devtmpfs.
const NAMES: [(u32, &str); 33] = [
    (0x0000_0187, "autofs"),
    (0x0000_4d44, "vfat"),
    (0x0000_6969, "nfs"),
    (0x0000_9660, "iso9660"),
    (0x0000_9fa0, "proc"),
    (0x0000_ef53, "ext4"),
    (0x0000_f15f, "ecryptfs"),
    (0x0027_e0eb, "cgroup"),
    (0x00c3_6400, "ceph"),
    (0x0102_1994, "tmpfs"),
    (0x0102_1997, "9p"),
    (0x0116_1970, "gfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x2011_bab0, "exfat"),
    (0x2fc1_2fc1, "zfs"),
    (0x3153_464a, "jfs"),
    (0x5346_414f, "afs"),
    (0x5846_5342, "xfs"),
    (0x6165_676c, "pstore"),
    (0x6175_6673, "aufs"),
    (0x6265_6572, "sysfs"),
    (0x6367_7270, "cgroup2"),
    (0x6573_5546, "fuse"),
    (0x7366_746e, "ntfs3"),
    (0x7371_7368, "squashfs"),
    (0x7461_636f, "ocfs2"),
    (0x794c_7630, "overlay"),
    (0x8584_58f6, "ramfs"),
    (0x9123_683e, "btrfs"),
    (0x9584_58f6, "hugetlbfs"),
    (0xca45_1a4e, "bcachefs"),
    (0xe0f5_e1e2, "erofs"),
    (0xf2f5_2010, "f2fs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_name_on_every_architecture() {
        assert_eq!(filesystem_name(0xef53), "ext4");
        assert_eq!(filesystem_name(0x9123_683e), "btrfs");
        assert_eq!(
            filesystem_name(i128::from(0x9123_683e_u32.cast_signed())),
            "btrfs",
            "a signed 32-bit word"
        );
        assert_eq!(filesystem_name(1), "");
    }

    /// What `/proc/filesystems` and mountinfo call the filesystems of this machine is what the table calls them.
    #[test]
    fn names_are_the_kernel_s() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mut compared = 0;
        for line in mounts.lines() {
            let mut fields = line.split(' ').skip(1);
            let (mount_point, kind) = (fields.next().unwrap(), fields.next().unwrap());
            let Ok(numbers) = rustix::fs::statfs(mount_point) else {
                continue;
            };
            let name = filesystem_name(i128::from(numbers.f_type));
            // A mount point can be covered by a later mount, so only agreement somewhere is certain.
            compared += u32::from(name == kind);
        }
        assert!(
            compared > 0,
            "no mount of\n{mounts}has the name that the table gives it"
        );
    }
}
