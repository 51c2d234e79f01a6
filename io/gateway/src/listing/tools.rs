//! What a page offers besides links: uploading, making directories, deleting. Whether it may be done is judged when it is
//! asked for; here it is only a matter of what is worth showing.

use weir_access::Action;
use weir_dav::path::DavPath;
use weir_storage::Entry;

use crate::call::Call;
use crate::crypto;
use crate::dav::Asker;
use crate::place::Place;

/// The script of a page; it needs nothing from elsewhere.
const SCRIPT: &str = include_str!("page.js");

/// The tools that a client may use in a directory.
pub(super) struct Tools {
    asker: Asker,
    /// As URLs have it.
    directory: DavPath,
    upload: bool,
    make: bool,
    /// What tells the page's own script and style from others that might get into it: random, in hexadecimal digits.
    nonce: String,
}

impl Tools {
    /// `None`: there is nothing that the client may change here.
    pub(super) fn of(call: &Call, place: &Place) -> Option<Self> {
        if call.area.plan.read_only {
            return None;
        }
        let (asker, directory) = (Asker::of(call), place.full.clone());
        // A name like others: what rules say of this one they say, most of the time, of all.
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

    /// What the page may load and run: its own script, and requests to its own origin.
    pub(super) fn policy(&self) -> String {
        let nonce = &self.nonce;
        format!(
            "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        )
    }

    /// The attribute that lets an element of the page be what it is.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Above the table. Without a script nothing of it is seen.
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

    /// Whether a member may be deleted.
    pub(super) fn may_delete(&self, entry: &Entry) -> bool {
        let path = self.directory.join(&entry.name);
        path.is_ok_and(|path| self.asker.may(&Action::Delete, &path, entry.metadata.is_directory()))
    }

    /// Below the table.
    pub(super) fn script(&self, out: &mut String) {
        out.push_str(&format!("<script nonce=\"{}\">\n{SCRIPT}</script>", self.nonce));
    }
}
