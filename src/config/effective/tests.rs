use super::*;
use crate::cli::{Cli, Environment};
use crate::config::file;
use crate::config::merge::merge;
use crate::config::tree::Fault;
use clap::Parser;
use proptest::prelude::*;

fn settings_of(text: &str) -> Result<Settings, Vec<Fault>> {
    let mut faults = Vec::new();
    let layer = file::read_yaml("f.yaml", text, &mut faults);
    assert_eq!(faults, [], "{text}");
    let cli = Cli::try_parse_from(["nodelet"]).unwrap();
    Settings::validate(&merge([layer], &cli, &Environment::default()))
}

#[test]
fn what_is_written_is_read_as_the_same_settings() {
    for text in [
        "",
        "evictionHard: {}",
        "evictionHard: {nodefs.available: 10.5%, memory.available: 0.5Gi}\nevictionSoft: {memory.available: 1Gi}\n\
         evictionSoftGracePeriod: {memory.available: 1m30s}\nevictionMinimumReclaim: {memory.available: 5%}",
        "nodeStatusUpdateFrequency: 1.5s\nnodeStatusMaxImages: -1\ncontainerRuntimeEndpoint: ''\nlistenAddress: ''",
        "nodeStatusMaxImages: 0\nlistenAddress: '[::1]:80'\nport: 1\nregisterWithTaints: []",
        "nodeName: '0123'\nproviderID: 'null'\nnodeLabels: {a: 'true', b: '', c: '1_000'}",
        "registerWithTaints: [{key: a, value: 'no', effect: NoExecute}, {key: b, effect: NoSchedule}]",
        "nodeIP: '2001:db8::1,192.0.2.1'\ncloudProvider: external\nrole: owner\nreservedSystemCPUs: 0,2-3",
        "nodeIPCIDR: 10.0.0.0/8\nvolumeLimits: {attachable-volumes-csi-x: 39}\nsetters: {order: [images]}",
        "capacityOverride: {cpu: 1500m, memory: 16Gi}\nsystemReserved: {cpu: 0.1, pid: 1k}\nnodeIPInterface: eth0",
        "nodeMetric: {scope: 'off', report: true}\nconditions: {memoryContention: {for: 1h}}\nkubeletVersion: v1.2.3+x",
        "providerID: 'a: b # c'\nrootDirectory: '/a very long path that some writers of YAML would rather fold into \
         more than one line than leave as it is, and so on, and so on'\n",
    ] {
        let settings = settings_of(text).unwrap();
        let yaml = effective_yaml(&settings);
        assert_eq!(settings_of(&yaml).as_ref(), Ok(&settings), "{text}\n{yaml}");
        assert_eq!(
            effective_yaml(&settings),
            yaml,
            "the same settings are written in the same way"
        );
    }
}

#[test]
fn flags_stand_in_comments() {
    let settings = Settings {
        root: "/host".into(),
        kubeconfig: Some("/k".into()),
        takeover: true,
        ..Settings::default()
    };
    let yaml = effective_yaml(&settings);
    assert!(
        yaml.starts_with("# --root /host\n# --kubeconfig /k\n# --takeover\n"),
        "{yaml}"
    );
    assert_eq!(settings_of(&yaml), Ok(Settings::default()));
}

proptest! {
    #[test]
    fn texts_survive(provider_id in "\\PC{0,200}", lines in "[a-z \n\t\"'#:\\\\]{0,200}") {
        for provider_id in [provider_id, lines] {
            let provider_id = Some(provider_id).filter(|id| !id.is_empty());
            let settings = Settings { provider_id, ..Settings::default() };
            prop_assert_eq!(settings_of(&effective_yaml(&settings)), Ok(settings));
        }
    }
}
