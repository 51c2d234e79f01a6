//! Prints the settings of TLS to clients and to servers.

use super::plan::{Certificate, ClientAuth, TlsIn, TlsOut, TlsVersion};
use crate::common::print::path;
use crate::common::writer::{Printed, Spelled, Writer, table};

/// Prints the TLS settings towards servers, as a table with this name.
pub(crate) fn tls_out(writer: &mut Writer, head: &str, tls: &TlsOut) {
    writer.table(&format!("[{head}]"));
    writer.key("verify", tls.verify);
    writer.key_if("ca", tls.ca.as_deref().map(path));
    writer.key_if("server-name", tls.server_name.as_ref());
    writer.key_if("client-certificate", tls.client_certificate.as_ref().map(certificate));
    writer.key("min-version", version(tls.version_min));
}

/// Prints the TLS settings towards clients. `owner`: the parent table.
pub(crate) fn tls_in(writer: &mut Writer, owner: &str, tls: &TlsIn) {
    writer.table(&format!("[{owner}.tls]"));
    writer.many("certificates", &tls.certificates.iter().map(certificate).collect::<Vec<_>>());
    writer.key("min-version", version(tls.version_min));
    writer.many("ciphers", &tls.ciphers);
    writer.key_if("client-auth", tls.client_auth.as_ref().map(client_auth));
    writer.key_or_off("ticket-rotation", tls.ticket_rotation.map(Printed));
    writer.key("reload-interval", Printed(tls.reload_interval));
}

/// Returns a certificate as one path if its file contains the key, too, otherwise as a table.
pub(crate) fn certificate(certificate: &Certificate) -> toml::Value {
    if certificate.certificate == certificate.key {
        return path(&certificate.certificate).spelled();
    }
    let (chain, key) = (path(&certificate.certificate), path(&certificate.key));
    table([("certificate", Some(chain.spelled())), ("key", Some(key.spelled()))])
}

/// Returns a TLS version in the syntax of the file.
pub(crate) fn version(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::V1_2 => "1.2",
        TlsVersion::V1_3 => "1.3",
    }
}

fn client_auth(auth: &ClientAuth) -> toml::Value {
    let mode = if auth.required { "required" } else { "optional" };
    let crl = auth.crl.as_deref().map(|crl| path(crl).spelled());
    table([("mode", Some(mode.spelled())), ("ca", Some(path(&auth.ca).spelled())), ("crl", crl)])
}
