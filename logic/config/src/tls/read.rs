//! Reads the settings of TLS to clients and to servers.

use super::keys::CERTIFICATE;
use super::plan::{Certificate, ClientAuth, TlsIn, TlsOut, TlsVersion};
use crate::common::paths::{path, path_if};
use crate::syntax::tree::{Node, Value};
use crate::values::table::Table;

pub(crate) fn inbound(table: &Table<'_, '_>) -> TlsIn {
    let certificates = table.many("certificates");
    if let (Some(node), []) = (table.get("certificates"), certificates) {
        table.error("certificates", node.span, "expected at least one certificate");
    }
    TlsIn {
        certificates: certificates
            .iter()
            .filter_map(|node| certificate(table, "certificates", node))
            .collect(),
        version_min: version(table),
        ciphers: table.many("ciphers").iter().filter_map(Node::text).map(str::to_owned).collect(),
        client_auth: table.table_if("client-auth").map(|table| client_auth(&table)),
        ticket_rotation: (!table.is_off("ticket-rotation")).then(|| table.duration("ticket-rotation")),
        reload_interval: table.duration("reload-interval"),
    }
}

pub(crate) fn outbound(table: &Table<'_, '_>) -> TlsOut {
    let client_certificate = table.get("client-certificate");
    TlsOut {
        verify: table.flag("verify"),
        ca: path_if(table, "ca"),
        server_name: table.text_if("server-name").map(|name| name.value),
        client_certificate: client_certificate
            .and_then(|node| certificate(table, "client-certificate", node)),
        version_min: version(table),
    }
}

fn client_auth(table: &Table<'_, '_>) -> ClientAuth {
    ClientAuth {
        required: table.text("mode") != "optional",
        ca: path(table, "ca"),
        crl: path_if(table, "crl"),
    }
}

/// Reads a certificate: one file with chain and key, or a table with two files.
pub(crate) fn certificate(table: &Table<'_, '_>, key: &str, node: &Node) -> Option<Certificate> {
    match &node.value {
        Value::Table(_) => {
            let table = Table::new(table.cx, table.subject.key(key), &CERTIFICATE, node);
            let certificate = path(&table, "certificate");
            let key = path_if(&table, "key").unwrap_or_else(|| certificate.clone());
            Some(Certificate { certificate, key })
        }
        _ => {
            let file = node.text()?;
            if file.is_empty() {
                table.error(key, node.span, "expected a path");
            }
            Some(Certificate { certificate: file.into(), key: file.into() })
        }
    }
}

fn version(table: &Table<'_, '_>) -> TlsVersion {
    if table.text("min-version") == "1.3" { TlsVersion::V1_3 } else { TlsVersion::V1_2 }
}
