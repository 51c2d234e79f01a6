//! Tools of a listing page: upload, new directory, delete. They only decide which buttons to show; the access
//! rules are enforced when the request comes.

use weir_access::Action;
use weir_dav::path::DavPath;
use weir_storage::Entry;

use crate::call::Call;
use crate::crypto;
use crate::dav::Asker;
use crate::place::Place;

/// Script of the page. It loads nothing else.
const SCRIPT: &str = include_str!("page.js");

/// Tools that a client may use in a directory.
pub(super) struct Tools {
    asker: Asker,
    /// Path of the directory in URLs.
    directory: DavPath,
    upload: bool,
    make: bool,
    /// Random Content-Security-Policy nonce, in hexadecimal digits. It separates the page's own script and
    /// style from injected ones.
    nonce: String,
}

impl Tools {
    /// Returns the tools for this directory; `None` if the client may change nothing in it.
    pub(super) fn of(call: &Call, place: &Place) -> Option<Self> {
        if call.area.plan.read_only {
            return None;
        }
        let (asker, directory) = (Asker::of(call), place.full.clone());
        // An arbitrary name: access rules mostly treat all new names in a directory alike.
        let member = directory.join(b"new").ok()?;
        let upload = asker.may(&Action::Create, &member, false);
        let make = asker.may(&Action::MakeDirectory, &member, true);
        let delete = asker.may(&Action::Delete, &member, false);
        if !(upload || make || delete) {
            return None;
        }
        let random: [u8; 16] = crypto::random()?;
        let nonce = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { asker, directory, upload, make, nonce })
    }

    /// Returns the Content-Security-Policy: the page may load and run its own script, and send requests to
    /// its own origin.
    pub(super) fn policy(&self) -> String {
        let nonce = &self.nonce;
        format!(
            "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        )
    }

    /// Returns the `nonce` attribute value for the page's script and style elements.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Writes the toolbar above the table. The script makes it visible.
    pub(super) fn bar(&self, out: &mut String) {
        let mut may = Vec::new();
        may.extend(self.upload.then_some("upload"));
        may.extend(self.make.then_some("make"));
        out.push_str(&format!("<div id=\"tools\" data-may=\"{}\">", may.join(" ")));
        if self.upload {
            out.push_str("<span>Drop files or folders here</span>");
            out.push_str(
                "<label class=\"b\">Upload files<input type=\"file\" id=\"files\" multiple></label>",
            );
        }
        if self.upload && self.make {
            out.push_str("<label class=\"b\">Upload a folder<input type=\"file\" webkitdirectory></label>");
        }
        if self.make {
            out.push_str("<button id=\"make\">New folder</button>");
        }
        out.push_str("</div><ul id=\"jobs\"></ul>\n");
    }

    /// Returns true if the client may delete a member.
    pub(super) fn may_delete(&self, entry: &Entry) -> bool {
        let path = self.directory.join(&entry.name);
        path.is_ok_and(|path| self.asker.may(&Action::Delete, &path, entry.metadata.is_directory()))
    }

    /// Writes the script, below the table.
    pub(super) fn script(&self, out: &mut String) {
        out.push_str(&format!("<script nonce=\"{}\">\n{SCRIPT}</script>", self.nonce));
    }
}
