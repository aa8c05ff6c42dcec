//! The operating system's name for people, os-release(5), and the names that Go gives systems and architectures.

use super::ReadError;
use crate::source::Tracked;

/// Where os-release may be; the second is the vendor's and counts only where the first does not exist.
pub const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// What os-release(5) gives a system that does not name itself.
pub const UNNAMED: &str = "Linux";

/// `PRETTY_NAME` in the text of os-release, unquoted as os-release(5) says; `None` where it is missing or empty.
pub fn parse_pretty_name(text: &str) -> Option<String> {
    // The last assignment counts, as it does for a shell that reads the file.
    let assigned = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("PRETTY_NAME="))
        .next_back()?;
    Some(unquote(assigned.trim())).filter(|name| !name.is_empty())
}

/// Takes off the quotes and escapes of a shell-like value. What follows a closing quote is dropped; a value without
/// quotes runs to the end of the line, blanks included, because distributions write it so.
fn unquote(value: &str) -> String {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let mut rest = value[quote.map_or(0, char::len_utf8)..].chars();
    let mut name = String::with_capacity(value.len());
    while let Some(c) = rest.next() {
        match c {
            _ if Some(c) == quote => break,
            '\\' if quote != Some('\'') => match rest.next() {
                Some(escaped) => {
                    if quote.is_some() && !matches!(escaped, '"' | '$' | '\\' | '`') {
                        name.push('\\');
                    }
                    name.push(escaped);
                }
                None => name.push('\\'),
            },
            _ => name.push(c),
        }
    }
    name
}

/// The operating system's name for people; [`UNNAMED`] where the file gives none.
pub fn read(source: &Tracked<'_>) -> Result<String, ReadError> {
    let text = match source.read_text(OS_RELEASE[0]) {
        Err(error) if error.is_absent() => source.read_text(OS_RELEASE[1])?,
        text => text?,
    };
    Ok(parse_pretty_name(&text).unwrap_or_else(|| UNNAMED.to_owned()))
}

/// Go's name (`GOOS`) of the system that uname(2) calls `sysname`.
pub fn go_os(sysname: &str) -> Option<&'static str> {
    (sysname == "Linux").then_some("linux")
}

/// Go's name (`GOARCH`) of the architecture that uname(2) calls `machine`; `None` for one that Go does not know. On
/// MIPS the kernel does not tell the byte order, so that a plain name is taken as big-endian.
pub fn go_arch(machine: &str) -> Option<&'static str> {
    Some(match machine {
        "x86_64" | "amd64" => "amd64",
        "i386" | "i486" | "i586" | "i686" => "386",
        "aarch64" | "arm64" => "arm64",
        "ppc64" => "ppc64",
        "ppc64le" => "ppc64le",
        "s390x" => "s390x",
        "riscv64" => "riscv64",
        "loongarch64" => "loong64",
        "mips" => "mips",
        "mipsel" => "mipsle",
        "mips64" => "mips64",
        "mips64el" => "mips64le",
        // armv5tel, armv6l, armv7l; armv8l is a 64-bit processor in 32-bit mode. A trailing b is big-endian.
        arm if arm.starts_with("armv") && arm.ends_with('l') => "arm",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{OS_RELEASE, go_arch, go_os, parse_pretty_name, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    const ETC: &str = OS_RELEASE[0];
    const VENDOR: &str = OS_RELEASE[1];

    #[test]
    fn c47_quotes_escapes_comments_and_empty_values() {
        for (text, expected) in [
            (
                "NAME='Gentoo'\nPRETTY_NAME='Gentoo Linux'\n",
                Some("Gentoo Linux"),
            ),
            (
                "PRETTY_NAME=Source Mage GNU/Linux\n",
                Some("Source Mage GNU/Linux"),
            ),
            (
                "# PRETTY_NAME=\"Commented\"\nOLD_PRETTY_NAME=\"Wrong\"\nPRETTY_NAME=\"A \\\"B\\\" \\$C\"\n",
                Some("A \"B\" $C"),
            ),
            ("NAME=\"X\"\nPRETTY_NAME\n", None),
            ("PRETTY_NAME=\n", None),
            ("PRETTY_NAME=\"\"\n", None),
            ("NAME=X\n", None),
            ("", None),
        ] {
            assert_eq!(parse_pretty_name(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn other_spellings_of_a_value() {
        for (text, expected) in [
            (
                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"",
                "Debian GNU/Linux 12 (bookworm)",
            ),
            ("PRETTY_NAME=\"Debian\"\r\n", "Debian"),
            ("  PRETTY_NAME=\"Indented\" # remark\n", "Indented"),
            ("PRETTY_NAME='a \\$ b'\n", "a \\$ b"),
            ("PRETTY_NAME=\"a \\n \\\\ \\` b\"\n", "a \\n \\ ` b"),
            ("PRETTY_NAME=a\\ b\n", "a b"),
            ("PRETTY_NAME=\"not closed\n", "not closed"),
            ("PRETTY_NAME=trailing\\", "trailing\\"),
            ("PRETTY_NAME=first\nPRETTY_NAME=last\n", "last"),
        ] {
            assert_eq!(
                parse_pretty_name(text).as_deref(),
                Some(expected),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_vendors_file_counts_only_where_the_first_does_not_exist() {
        for (source, expected) in [
            (
                FakeSource::new()
                    .file(ETC, "PRETTY_NAME=a")
                    .file(VENDOR, "PRETTY_NAME=b"),
                "a",
            ),
            (FakeSource::new().file(VENDOR, "PRETTY_NAME=b"), "b"),
            (
                FakeSource::new()
                    .file(ETC, "NAME=a")
                    .file(VENDOR, "PRETTY_NAME=b"),
                "Linux",
            ),
        ] {
            assert_eq!(read(&source.tracked()).unwrap(), expected, "{source:?}");
        }
        assert!(read(&FakeSource::new().tracked()).is_err());
        let source = FakeSource::new()
            .error(ETC, Errno::IO)
            .file(VENDOR, "PRETTY_NAME=b");
        assert!(
            read(&source.tracked())
                .unwrap_err()
                .to_string()
                .contains("EIO")
        );
    }

    #[test]
    fn names_of_architectures() {
        for (machine, expected) in [
            ("x86_64", Some("amd64")),
            ("aarch64", Some("arm64")),
            ("armv5tel", Some("arm")),
            ("armv6l", Some("arm")),
            ("armv7l", Some("arm")),
            ("armv8l", Some("arm")),
            ("armv7b", None),
            ("i386", Some("386")),
            ("i686", Some("386")),
            ("ppc64le", Some("ppc64le")),
            ("ppc64", Some("ppc64")),
            ("s390x", Some("s390x")),
            ("riscv64", Some("riscv64")),
            ("loongarch64", Some("loong64")),
            ("mips", Some("mips")),
            ("mips64", Some("mips64")),
            ("mipsel", Some("mipsle")),
            ("mips64el", Some("mips64le")),
            ("sparc64", None),
            ("", None),
        ] {
            assert_eq!(go_arch(machine), expected, "{machine}");
        }
    }

    #[test]
    fn names_of_systems() {
        assert_eq!(go_os("Linux"), Some("linux"));
        assert_eq!(go_os("Darwin"), None);
    }
}
