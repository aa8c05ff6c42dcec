//! Huge pages: `/sys/kernel/mm/hugepages/hugepages-<N>kB/nr_hugepages` (kernel `Documentation/admin-guide/mm/hugetlbpage.rst`).

use super::ReadError;
use crate::source::Tracked;

/// Holds one directory for each size; a kernel without huge pages lacks it.
pub const DIRECTORY: &str = "/sys/kernel/mm/hugepages";

/// The pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugePages {
    /// Size of a page, KiB.
    pub page_size_kib: u64,
    /// How many the kernel holds, in use or not.
    pub count: u64,
}

impl HugePages {
    /// The memory that these pages hold, bytes.
    pub fn bytes(&self) -> u64 {
        self.page_size_kib
            .saturating_mul(1024)
            .saturating_mul(self.count)
    }
}

/// The page size, KiB, that an entry of [`DIRECTORY`] is named after.
fn page_size_kib(name: &str) -> Option<u64> {
    let size = name
        .strip_prefix("hugepages-")?
        .strip_suffix("kB")?
        .parse()
        .ok()?;
    (size > 0).then_some(size)
}

/// The huge pages of every size that the kernel knows, also where it holds none, smallest first. An entry that cannot
/// be read or makes no sense is left out; without the directory there is no size.
pub fn read(source: &Tracked<'_>) -> Result<Vec<HugePages>, ReadError> {
    let names = match source.list(DIRECTORY) {
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        names => names?,
    };
    let mut sizes: Vec<HugePages> = names
        .iter()
        .filter_map(|name| {
            let page_size_kib = page_size_kib(name)?;
            let text = source
                .read_text(&format!("{DIRECTORY}/{name}/nr_hugepages"))
                .ok()?;
            Some(HugePages {
                page_size_kib,
                count: text.trim().parse().ok()?,
            })
        })
        .collect();
    sizes.sort_unstable();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORY, HugePages, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    fn nr(name: &str) -> String {
        format!("{DIRECTORY}/{name}/nr_hugepages")
    }

    fn sizes(source: &FakeSource) -> Vec<(u64, u64)> {
        read(&source.tracked())
            .unwrap()
            .iter()
            .map(|pages| (pages.page_size_kib, pages.count))
            .collect()
    }

    #[test]
    fn c76_every_size_is_reported() {
        let source = FakeSource::new()
            .file(&nr("hugepages-2048kB"), "48\n")
            .file(&nr("hugepages-1048576kB"), "16\n");
        assert_eq!(sizes(&source), [(2048, 48), (1_048_576, 16)]);
        let source = FakeSource::new().file(&nr("hugepages-1048576kB"), "0\n");
        assert_eq!(sizes(&source), [(1_048_576, 0)]);
    }

    #[test]
    fn c77_odd_sizes_are_kept_and_bad_entries_skipped() {
        let source = FakeSource::new()
            .file(&nr("hugepages-64kB"), "0")
            .file(&nr("hugepages-2048kB"), "4")
            .file(&nr("hugepages-32768kB"), "2")
            .error(&nr("hugepages-1048576kB"), Errno::IO)
            .file(&nr("hugepages-16777216kB"), "1")
            .file(&nr("hugepages-8kB"), "many")
            .file(&nr("hugepages-0kB"), "1")
            .dir(&format!("{DIRECTORY}/hugepages-foo"))
            .file(&format!("{DIRECTORY}/README"), "");
        let tracked = source.tracked();
        let found: Vec<_> = read(&tracked)
            .unwrap()
            .iter()
            .map(|p| (p.page_size_kib, p.count))
            .collect();
        assert_eq!(found, [(64, 0), (2048, 4), (32_768, 2), (16_777_216, 1)]);
        let unread = [(
            format!("file:{}", nr("hugepages-1048576kB")),
            "EIO".to_owned(),
        )];
        assert_eq!(tracked.into_log().failures, unread);
    }

    #[test]
    fn c77_no_directory_means_no_huge_pages() {
        assert_eq!(sizes(&FakeSource::new()), []);
        assert_eq!(sizes(&FakeSource::new().dir(DIRECTORY)), []);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_is_an_error() {
        let source = FakeSource::new().error(DIRECTORY, Errno::ACCESS);
        assert!(read(&source.tracked()).is_err());
    }

    #[test]
    fn c07_pages_times_size_is_bytes() {
        assert_eq!(
            HugePages {
                page_size_kib: 2048,
                count: 1024
            }
            .bytes(),
            2 << 30
        );
        assert_eq!(
            HugePages {
                page_size_kib: u64::MAX,
                count: 2
            }
            .bytes(),
            u64::MAX
        );
    }
}
