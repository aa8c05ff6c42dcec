//! Who the machine is: machine-id(5), the DMI or device-tree UUID, the boot id.
//!
//! cAdvisor's `machine/info.go` and `utils/sysfs/sysfs.go` define the files and their order for kubelet.

use super::ReadError;
use crate::source::Tracked;

/// Where a machine id may be, in the order of asking. Each is asked of the same host.
pub const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Where a UUID of the hardware or virtual machine may be, in the order of asking: DMI, the device tree of bare
/// POWER, that of a virtual machine on it, and what stands in for a UUID where there is none (s390x).
pub const SYSTEM_UUID: [&str; 4] = [
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
    "/etc/machine-id",
];

/// Changes with every boot.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The machine id, trimmed. Empty where the machine has none; an error where one may exist that cannot be read.
pub fn machine_id(source: &Tracked<'_>) -> Result<String, ReadError> {
    first(source, &MACHINE_ID)
}

/// The system's UUID as the kernel spells it, trimmed. An unreadable or meaningless one gives way to the next
/// place; empty where the machine has none; an error where one may exist that cannot be read.
pub fn system_uuid(source: &Tracked<'_>) -> Result<String, ReadError> {
    first(source, &SYSTEM_UUID)
}

/// The boot id, trimmed; empty where the kernel has none.
pub fn boot_id(source: &Tracked<'_>) -> Result<String, ReadError> {
    first(source, &[BOOT_ID])
}

/// The host name as the kernel has it, untrimmed: what becomes of it is the business of the node's name.
pub fn hostname(source: &Tracked<'_>) -> Result<String, ReadError> {
    Ok(source.hostname()?)
}

/// The identity in the first of `paths` that holds one.
fn first(source: &Tracked<'_>, paths: &[&str]) -> Result<String, ReadError> {
    let mut unreadable = None;
    for path in paths {
        match source.read_text(path) {
            Ok(text) => {
                match identity(&text) {
                    None => {}
                    // What a damaged disk left.
                    Some(text) if !is_a_line_of_text(text) => {
                        unreadable = unreadable
                            .or_else(|| Some(ReadError::malformed(*path, "not a line of text")));
                    }
                    Some(identity) => return Ok(identity.to_owned()),
                }
            }
            Err(error) if error.is_absent() => {}
            Err(error) => unreadable = unreadable.or_else(|| Some(error.into())),
        }
    }
    unreadable.map_or_else(|| Ok(String::new()), Err)
}

fn is_a_line_of_text(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)
}

/// The text without blanks around it and the NUL that ends a device-tree property; `None` where it identifies
/// nothing: empty, a place holder of the firmware or of systemd's first boot, or a UUID of only zeros or ones.
fn identity(text: &str) -> Option<&str> {
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let place_holder = text.starts_with("Not ") || text == "uninitialized";
    let only = |digit| {
        text.chars()
            .all(|c| c == '-' || c.eq_ignore_ascii_case(&digit))
    };
    (!place_holder && !only('0') && !only('f')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{BOOT_ID, MACHINE_ID, SYSTEM_UUID, boot_id, hostname, machine_id, system_uuid};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    const ETC: &str = MACHINE_ID[0];
    const DBUS: &str = MACHINE_ID[1];
    const DMI: &str = SYSTEM_UUID[0];
    const SYSTEM_ID: &str = SYSTEM_UUID[1];
    const VM_UUID: &str = SYSTEM_UUID[2];
    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn c41_every_place_of_the_machine_id_is_asked_of_the_same_host() {
        let source = FakeSource::new().file(DBUS, format!("{ID}\n"));
        let tracked = source.tracked();
        assert_eq!(machine_id(&tracked).unwrap(), ID);
        assert_eq!(tracked.into_log().sources, [format!("file:{DBUS}")]);
    }

    #[test]
    fn a_machine_id_is_the_first_that_says_something() {
        let other = "ffffffffffffffffffffffffffff0000";
        for (source, expected) in [
            (
                FakeSource::new()
                    .file(ETC, format!(" {ID}\n"))
                    .file(DBUS, other),
                ID,
            ),
            (FakeSource::new().file(ETC, "\n").file(DBUS, other), other),
            (
                FakeSource::new()
                    .file(ETC, "uninitialized\n")
                    .file(DBUS, other),
                other,
            ),
            (
                FakeSource::new()
                    .error(ETC, Errno::ACCESS)
                    .file(DBUS, other),
                other,
            ),
            (
                FakeSource::new()
                    .file(ETC, b"\x01\xff\xfe\x00")
                    .file(DBUS, other),
                other,
            ),
            (
                FakeSource::new()
                    .file(ETC, format!("{ID}\n{other}\n"))
                    .file(DBUS, other),
                other,
            ),
            (FakeSource::new(), ""),
            (FakeSource::new().file(ETC, ""), ""),
        ] {
            assert_eq!(
                machine_id(&source.tracked()).unwrap(),
                expected,
                "{source:?}"
            );
        }
        for source in [
            FakeSource::new().error(ETC, Errno::ACCESS),
            FakeSource::new().file(ETC, b"\x01\xff\xfe\x00"),
        ] {
            let error = machine_id(&source.tracked()).unwrap_err().to_string();
            assert!(error.contains(ETC), "{error}");
        }
    }

    #[test]
    fn c43_unreadable_product_uuid_falls_back() {
        for source in [
            FakeSource::new().error(DMI, Errno::ACCESS).file(ETC, ID),
            FakeSource::new().file(ETC, ID),
            FakeSource::new().file(DMI, "Not Present\n").file(ETC, ID),
            FakeSource::new().file(DMI, "Not Settable\n").file(ETC, ID),
            FakeSource::new()
                .file(DMI, "00000000-0000-0000-0000-000000000000\n")
                .file(ETC, ID),
            FakeSource::new()
                .file(DMI, "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n")
                .file(ETC, ID),
            FakeSource::new().file(DMI, "\n").file(ETC, ID),
        ] {
            assert_eq!(system_uuid(&source.tracked()).unwrap(), ID, "{source:?}");
        }
        assert_eq!(system_uuid(&FakeSource::new().tracked()).unwrap(), "");
        assert!(system_uuid(&FakeSource::new().error(DMI, Errno::ACCESS).tracked()).is_err());
    }

    #[test]
    fn the_device_tree_comes_before_the_machine_id() {
        let source = FakeSource::new()
            .file(SYSTEM_ID, "IBM,0212ABCDE\0")
            .file(VM_UUID, "x")
            .file(ETC, ID);
        assert_eq!(system_uuid(&source.tracked()).unwrap(), "IBM,0212ABCDE");
        let source = FakeSource::new()
            .file(VM_UUID, "1b4e28ba-2fa1-11d2-883f-0016d3cca427\0")
            .file(ETC, ID);
        assert_eq!(
            system_uuid(&source.tracked()).unwrap(),
            "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
        );
    }

    #[test]
    fn c44_the_uuid_is_published_as_the_kernel_spells_it() {
        for uuid in [
            "5c000000-a87f-fa60-6af6-000000000001",
            "5C000000-A87F-FA60-6AF6-000000000001",
        ] {
            let source = FakeSource::new()
                .file(DMI, format!("{uuid}\n"))
                .file(ETC, ID);
            assert_eq!(system_uuid(&source.tracked()).unwrap(), uuid);
        }
    }

    #[test]
    fn a_boot_id_is_trimmed_and_may_be_missing() {
        let source = FakeSource::new().file(BOOT_ID, "6f1d3d4e-7c0b-4b7e-9f53-0d9f4b1d2c3a\n");
        assert_eq!(
            boot_id(&source.tracked()).unwrap(),
            "6f1d3d4e-7c0b-4b7e-9f53-0d9f4b1d2c3a"
        );
        assert_eq!(boot_id(&FakeSource::new().tracked()).unwrap(), "");
        assert!(boot_id(&FakeSource::new().error(BOOT_ID, Errno::IO).tracked()).is_err());
    }

    #[test]
    fn a_host_name_stays_as_it_is() {
        let source = FakeSource::new().hostname("Node-A.Example.COM\n");
        assert_eq!(hostname(&source.tracked()).unwrap(), "Node-A.Example.COM\n");
        assert!(hostname(&FakeSource::new().tracked()).is_err());
    }
}
