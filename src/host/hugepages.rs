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
    /// How many the kernel holds, in use or not; `None` where that cannot be read or makes no sense.
    pub count: Option<u64>,
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

/// The huge pages of every size that the kernel knows, also where it holds none, smallest first. What is not
/// named after a size is left out; without the directory there is no size.
pub fn read(source: &Tracked<'_>) -> Result<Vec<HugePages>, ReadError> {
    let names = match source.list(DIRECTORY) {
        Err(error) if error.is_absent() => return Ok(Vec::new()),
        names => names?,
    };
    let mut sizes: Vec<HugePages> = names
        .iter()
        .filter_map(|name| {
            let page_size_kib = page_size_kib(name)?;
            let text = source.read_text(&format!("{DIRECTORY}/{name}/nr_hugepages"));
            Some(HugePages {
                page_size_kib,
                count: text.ok().and_then(|text| text.trim().parse().ok()),
            })
        })
        .collect();
    sizes.sort_unstable();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::{DIRECTORY, read};
    use crate::host::fake::FakeSource;
    use rustix::io::Errno;

    fn nr(name: &str) -> String {
        format!("{DIRECTORY}/{name}/nr_hugepages")
    }

    fn sizes(source: &FakeSource) -> Vec<(u64, Option<u64>)> {
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
        assert_eq!(sizes(&source), [(2048, Some(48)), (1_048_576, Some(16))]);
        let source = FakeSource::new().file(&nr("hugepages-1048576kB"), "0\n");
        assert_eq!(sizes(&source), [(1_048_576, Some(0))]);
    }

    #[test]
    fn c77_odd_sizes_are_kept_and_bad_entries_cost_only_themselves() {
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
        let expected = [
            (8, None),
            (64, Some(0)),
            (2048, Some(4)),
            (32_768, Some(2)),
            (1_048_576, None),
            (16_777_216, Some(1)),
        ];
        assert_eq!(found, expected);
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
}
