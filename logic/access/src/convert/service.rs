use super::Notes;
use super::yaml::{Node, same_key};

/// What `application.yml` says of the service as a whole; else what StoRM takes for granted.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) port: u16,
    pub(super) secure_port: u16,
    pub(super) certificate: String,
    pub(super) key: String,
    /// No checksums are computed.
    pub(super) without_checksums: bool,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            port: 8085,
            secure_port: 8443,
            certificate: "/etc/grid-security/storm-webdav/hostcert.pem".to_owned(),
            key: "/etc/grid-security/storm-webdav/hostkey.pem".to_owned(),
            without_checksums: false,
        }
    }
}

/// Sections of `storm:` that StoRM knows, and why they are not carried over.
const NOT_CARRIED_OVER: [(&str, &str); 14] = [
    ("authz-server", "a [token-endpoint.NAME] issues tokens; its key is a file"),
    ("buffer", "there are no buffers to set"),
    ("checksum-filter", "clients get the checksums that they ask for"),
    ("macaroon-filter", "an area with token-endpoint answers macaroon requests"),
    ("nginx", "files are sent without a second server in front"),
    ("redirector", "requests are not redirected to replicas"),
    ("sa", "the files of storage areas are those that were given"),
    ("scitags", "there are no flow markers"),
    ("server", "timeouts are those of the listener"),
    ("tape", "there is no tape"),
    ("tpc", "third-party copies have settings of their own"),
    ("vo-map-files", "VO map files are not read"),
    ("voms", "certificates with VOMS attributes are not read"),
    ("hostnames", "the host is that of the request"),
];

impl Service {
    /// Reads one section of `storm:`.
    pub(super) fn read(&mut self, key: &str, node: &Node, notes: &mut Notes<'_>) {
        if same_key(key, "connector") {
            self.read_connector(node, notes);
        } else if same_key(key, "tls") {
            self.read_tls(node, notes);
        } else if same_key(key, "checksum-strategy") {
            let strategy = node.text().unwrap_or_default();
            self.without_checksums =
                strategy.eq_ignore_ascii_case("no_checksum") || same_key(strategy, "no-checksum");
            if strategy.eq_ignore_ascii_case("late") {
                notes.add(node.line, "storm.checksum-strategy: checksums are computed while uploads arrive");
            }
        } else {
            match NOT_CARRIED_OVER.iter().find(|(name, _)| same_key(key, name)) {
                Some((name, why)) => notes.add(node.line, format!("storm.{name} is not carried over: {why}")),
                None => notes.add(node.line, format!("storm.{key} is not known here")),
            }
        }
    }

    fn read_connector(&mut self, connector: &Node, notes: &mut Notes<'_>) {
        for (key, node) in connector.map() {
            let place = match key {
                key if same_key(key, "port") => &mut self.port,
                key if same_key(key, "secure-port") => &mut self.secure_port,
                key => {
                    notes.add(
                        node.line,
                        format!("storm.connector.{key} is not carried over: workers need no such limits"),
                    );
                    continue;
                }
            };
            match node.text().and_then(|text| text.trim().parse::<u16>().ok()).filter(|port| *port > 0) {
                Some(port) => *place = port,
                None => notes.add(node.line, format!("storm.connector.{key} is no port: {place} is taken")),
            }
        }
    }

    fn read_tls(&mut self, tls: &Node, notes: &mut Notes<'_>) {
        for (key, node) in tls.map() {
            let text = node.text().map(str::trim).unwrap_or_default();
            if same_key(key, "certificate-path") && !text.is_empty() {
                text.clone_into(&mut self.certificate);
            } else if same_key(key, "private-key-path") && !text.is_empty() {
                text.clone_into(&mut self.key);
            } else if same_key(key, "require-client-cert") || same_key(key, "trust-anchors-dir") {
                let why =
                    "client certificates need a PEM file of authorities: [listener.https.tls.client-auth]";
                notes.add(node.line, format!("storm.tls.{key} is not carried over: {why}"));
            } else {
                notes.add(node.line, format!("storm.tls.{key} is not carried over"));
            }
        }
    }
}
