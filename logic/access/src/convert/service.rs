//! Conversion of the settings of the service as a whole.

use std::collections::BTreeMap;

use super::Notes;
use super::yaml::{Node, YamlError, same_key};

/// Settings of the service from `application.yml`, with StoRM's defaults for the missing ones.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) port: u16,
    pub(super) secure_port: u16,
    pub(super) certificate: String,
    pub(super) key: String,
    /// Set when no checksums are computed.
    pub(super) without_checksums: bool,
    /// Limits of third-party copies, by their names in Weir.
    pub(super) copy_limits: BTreeMap<&'static str, u32>,
    /// Set when a proxy in front terminates TLS and identifies the clients. There is no TLS listener then.
    pub(super) behind_nginx: bool,
    /// Set when clients of the TLS listener must have a certificate.
    client_certificate_required: bool,
    /// State of VO map files; `None` = not set in these files. StoRM's packages set it by an environment
    /// variable.
    vo_maps_enabled: Option<bool>,
    vo_map_directory: String,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            port: 8085,
            secure_port: 8443,
            certificate: "/etc/grid-security/storm-webdav/hostcert.pem".to_owned(),
            key: "/etc/grid-security/storm-webdav/hostkey.pem".to_owned(),
            without_checksums: false,
            copy_limits: BTreeMap::new(),
            behind_nginx: false,
            client_certificate_required: true,
            vo_maps_enabled: None,
            vo_map_directory: "/etc/storm/webdav/vo-mapfiles.d".to_owned(),
        }
    }
}

/// Sections of `storm:` that are not converted, with the reason.
const NOT_CARRIED_OVER: [(&str, &str); 13] = [
    (
        "authz-server",
        "tokens come from a [token-endpoint.NAME] with this issuer, path = \"/.storm-webdav/oauth/token\" and a key in a \
         file, which areas name (token-endpoint)",
    ),
    ("buffer", "there are no buffers to set"),
    ("checksum-filter", "clients get the checksums that they ask for"),
    ("macaroon-filter", "an area with token-endpoint answers macaroon requests"),
    (
        "redirector",
        "a balancer in front redirects: [pool.NAME.redirect] there, redirect-key-file in the areas here",
    ),
    ("sa", "the files of storage areas are those that were given"),
    ("scitags", "there are no flow markers"),
    ("tpc", "StoRM reads tpc at the top of the file, and nothing here"),
    ("access-log-configuration-path", "logs have settings of their own ([log])"),
    ("server", "timeouts are those of the listener"),
    ("tape", "there is no tape"),
    ("voms", "a proxy in front verifies VOMS attributes; areas name it (identity-from)"),
    ("hostnames", "the host is that of the request"),
];

/// Limits of third-party copies, with their names in Weir.
const COPY_LIMITS: [(&str, &str); 2] =
    [("max-connections", "max-transfers"), ("max-connections-per-route", "max-per-peer")];

/// Maximum value of these limits in Weir.
const COPIES_MAX: u32 = 10_000;

/// Other settings of third-party copies, with the corresponding setting in Weir.
const COPY_SETTINGS: [(&str, &str); 5] = [
    ("timeout-in-secs", "see connect-timeout, idle-timeout and answer-timeout of [third-party-copy]"),
    ("report-delay-secs", "see marker-interval of [third-party-copy]"),
    ("verify-checksum", "clients say it with each copy (RequireChecksumVerification)"),
    ("enable-tls-client-auth", "see client-certificate of [third-party-copy]"),
    ("enable-expect-continue-threshold", "it is 1 MiB"),
];

impl Service {
    /// Reads one section of `storm:`.
    ///
    /// # Errors
    /// If the switch for VO map files is invalid. Denials may concern their members.
    pub(super) fn read(&mut self, key: &str, node: &Node, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        if same_key(key, "connector") {
            self.read_connector(node, notes);
        } else if same_key(key, "tls") {
            self.read_tls(node, notes);
        } else if same_key(key, "nginx") {
            self.read_nginx(node, notes);
        } else if same_key(key, "vo-map-files") {
            self.read_vo_maps(node, notes)?;
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
        Ok(())
    }

    /// Returns the VO map file of an organisation, if such files are on. An organisation whose name cannot be
    /// a file name has none.
    pub(super) fn vo_map_of(&self, organisation: &str) -> Option<String> {
        let has_file = self.vo_maps_enabled == Some(true) && !organisation.contains(['/', '\0']);
        has_file.then(|| format!("{}/{organisation}.vomap", self.vo_map_directory.trim_end_matches('/')))
    }

    /// Returns true if VO map files are on, or `None` if these files do not set it.
    pub(super) fn has_vo_maps(&self) -> Option<bool> {
        self.vo_maps_enabled
    }

    /// Returns true if StoRM's TLS listener rejects clients without a certificate.
    pub(super) fn requires_certificates(&self) -> bool {
        self.client_certificate_required && !self.behind_nginx
    }

    fn read_nginx(&mut self, nginx: &Node, notes: &mut Notes<'_>) {
        let Some(switch) = nginx.get("enabled") else { return };
        // Treat an invalid value as true: otherwise the result could have a listener that clients should not
        // reach.
        self.behind_nginx = switch.flag() != Some(false);
        if self.behind_nginx {
            notes.access(
                switch.line,
                "storm.nginx: there is no listener with TLS, as before; StoRM believes X-VOMS-* lines of whoever connects, here areas \
                 name the proxies that are believed (identity-from), and those that may send files themselves (accel-redirect)",
            );
        }
    }

    fn read_vo_maps(&mut self, maps: &Node, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        for (key, node) in maps.map() {
            let text = node.text().map(str::trim).unwrap_or_default();
            if same_key(key, "enabled") {
                let why = || format!("storm.vo-map-files.{key} is neither true nor false");
                let enabled = node.flag().ok_or_else(|| YamlError { line: node.line, why: why() })?;
                self.vo_maps_enabled = Some(enabled);
            } else if !same_key(key, "config-dir") {
                notes.add(
                    node.line,
                    format!("storm.vo-map-files.{key} is not carried over: a reload reads the files again"),
                );
            } else if text.is_empty() || text.contains('\0') {
                let taken = &self.vo_map_directory;
                notes.add(node.line, format!("storm.vo-map-files.{key} is no directory: {taken} is taken"));
            } else {
                text.clone_into(&mut self.vo_map_directory);
            }
        }
        if self.vo_maps_enabled == Some(true) {
            notes.add(
                maps.line,
                format!(
                    "storm.vo-map-files: vo-maps name {}/NAME.vomap for the organisations that areas know: take out those \
                     that are not there",
                    self.vo_map_directory.trim_end_matches('/')
                ),
            );
            notes.access(
                maps.line,
                "storm.vo-map-files: a client is a member by a file as well as by VOMS attributes, and a line that names an issuer \
                 counts for its certificates only; StoRM looks at files only for clients without VOMS attributes, and never at the issuer",
            );
        }
        Ok(())
    }

    /// Reads the section `tpc:`, which stands at the top level.
    pub(super) fn read_copies(&mut self, copies: &Node, notes: &mut Notes<'_>) {
        for (key, node) in copies.map() {
            let Some((_, limit)) = COPY_LIMITS.iter().find(|(name, _)| same_key(key, name)) else {
                let known = COPY_SETTINGS.iter().find(|(name, _)| same_key(key, name));
                let why = known.map_or("there is no such setting", |(_, why)| *why);
                notes.add(node.line, format!("tpc.{key} is not carried over: {why}"));
                continue;
            };
            let number = node.text().and_then(|text| text.trim().parse::<u32>().ok());
            match number.filter(|number| (1..=COPIES_MAX).contains(number)) {
                Some(number) => {
                    self.copy_limits.insert(*limit, number);
                }
                None => {
                    notes.add(node.line, format!("tpc.{key} is no number from 1 to {COPIES_MAX}: left out"))
                }
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
                if same_key(key, "require-client-cert") {
                    self.client_certificate_required = node.flag() != Some(false);
                }
                let why =
                    "client certificates need a PEM file of authorities: [listener.https.tls.client-auth]";
                notes.access(node.line, format!("storm.tls.{key} is not carried over: {why}"));
            } else {
                notes.add(node.line, format!("storm.tls.{key} is not carried over"));
            }
        }
    }
}
