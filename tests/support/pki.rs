//! The certificates of a test cluster, and kubeconfig files that point at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use serde_json::json;

/// When every certificate begins: 1975-01-01, as rcgen has it.
const NOT_BEFORE: Duration = Duration::from_hours(43_824);

/// One certificate authority for servers and clients, with every file under one directory.
pub struct Pki {
    directory: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
    /// Held while files are written, so that two threads which want the same identity share it.
    writing: Mutex<()>,
}

impl Pki {
    /// Makes the authority (`ca.crt`, `ca.key`), the servers' certificate for loopback (`server.crt`, `server.key`) and the
    /// pair that signs service account tokens (`service-account.key`, `.pub`).
    pub fn new(directory: PathBuf) -> Self {
        fs::create_dir_all(&directory).expect("create the directory of certificates");
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "test-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let authority =
            CertifiedIssuer::self_signed(params, new_key()).expect("sign the authority");
        let pki = Self {
            directory,
            authority,
            writing: Mutex::new(()),
        };
        pki.write("ca.crt", &pki.authority.pem());
        pki.write("ca.key", &pki.authority.key().serialize_pem());

        let mut serving = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])
            .expect("names of the loopback interface");
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        pki.issue("server", serving, "kube-apiserver", None);

        let service_account = new_key();
        pki.write("service-account.key", &service_account.serialize_pem());
        pki.write("service-account.pub", &service_account.public_key_pem());
        pki
    }

    /// The path of one of the files, which need not exist yet.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A kubeconfig for `user` in `group` at `server`, with the paths of its certificate and key files.
    /// Asked for again, it gives the same file and leaves it alone.
    pub fn kubeconfig(&self, user: &str, group: Option<&str>, server: &str) -> PathBuf {
        let _writing = self.writing.lock().expect("no earlier caller panicked");
        let certificate = self.file(&format!("{user}.crt"));
        if !certificate.exists() {
            let mut params = CertificateParams::default();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            self.issue(user, params, user, group);
        }
        let server_in_name = server.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name = format!("{user}-{server_in_name}.kubeconfig");
        if !self.file(&name).exists() {
            let kubeconfig = json!({
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "test", "cluster": {
                    "server": server,
                    "certificate-authority": self.file("ca.crt"),
                }}],
                "users": [{"name": user, "user": {
                    "client-certificate": certificate,
                    "client-key": self.file(&format!("{user}.key")),
                }}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
                "current-context": "test",
            });
            self.write(&name, &format!("{kubeconfig:#}\n"));
        }
        self.file(&name)
    }

    /// Puts a new certificate and key for `user` in `group` in the place of what `user` had, each file in one step.
    /// It is good for `lifetime` from now.
    pub fn renew(&self, user: &str, group: &str, lifetime: Duration) {
        let _writing = self.writing.lock().expect("no earlier caller panicked");
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let end = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a clock after 1970")
            + lifetime;
        params.not_after = params.not_before + end.saturating_sub(NOT_BEFORE);
        self.issue(&format!("{user}.new"), params, user, Some(group));
        for kind in ["crt", "key"] {
            fs::rename(
                self.file(&format!("{user}.new.{kind}")),
                self.file(&format!("{user}.{kind}")),
            )
            .expect("replace a file");
        }
    }

    fn issue(&self, file: &str, mut params: CertificateParams, name: &str, group: Option<&str>) {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = new_key();
        let certificate = params
            .signed_by(&key, &self.authority)
            .expect("sign a certificate");
        self.write(&format!("{file}.key"), &key.serialize_pem());
        self.write(&format!("{file}.crt"), &certificate.pem());
    }

    fn write(&self, name: &str, content: &str) {
        let path: &Path = &self.file(name);
        fs::write(path, content).unwrap_or_else(|e| panic!("write {}: {e}", path.display()));
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("generate a key")
}
