//! An independent second reader of this machine: sysinfo, which shares no code with the readers under [`crate::host`]
//! and cannot follow `--root` or a recording.

use crate::gather::Snapshot;
use crate::output::explain::SecondOpinion;
use crate::quantity::Quantity;
use serde_json::Value;
use sysinfo::{MemoryRefreshKind, System};

const READER: &str = "sysinfo";

/// What sysinfo says of the values that it knows too. `snapshot` only says which of them the host has.
pub(super) fn opinions(snapshot: &Snapshot) -> Vec<SecondOpinion> {
    let Ok(mut system) = System::new() else {
        return Vec::new();
    };
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram().with_swap());
    system.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
    let opinion = |path, value| SecondOpinion {
        path,
        reader: READER,
        value,
    };
    let mut opinions = vec![
        opinion(
            "/status/capacity/memory",
            text(Quantity::bytes(system.total_memory().into())),
        ),
        opinion(
            "/status/capacity/cpu",
            text(Quantity::count(system.cpus().len() as i128)),
        ),
    ];
    opinions.extend(
        System::kernel_version()
            .map(|release| opinion("/status/nodeInfo/kernelVersion", Value::String(release))),
    );
    if snapshot
        .memory
        .get()
        .is_some_and(|memory| memory.swap_total_bytes > 0)
    {
        opinions.push(opinion(
            "/status/nodeInfo/swap/capacity",
            system.total_swap().into(),
        ));
    }
    opinions
}

fn text(quantity: Quantity) -> Value {
    Value::String(quantity.to_string())
}
